//! All targets: `run` of each panics when something does not hold.

pub mod coding;
pub mod cookies;
pub mod dispatcher;
pub mod h1_request;
pub mod h1_response;
pub mod h2_connection;
pub mod identity;
pub mod json;
pub mod multipart;
pub mod proxies;
pub mod query;
pub mod ring;
pub mod router;
pub mod settings;
pub mod static_files;
pub mod websocket;
pub mod wire;
