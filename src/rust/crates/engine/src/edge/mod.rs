//! What is done to requests and responses for the sake of all apps: the access log, pages of the server itself, and
//! the policies that an app has registered for its paths. One policy, one file; `policies` has which of them cover a
//! request, and `pipeline/policies.rs` when they are asked.
//!
//! A policy is decided on the thread of the connection, by what the head of the request says: R is not needed for it,
//! and does not have to be free.

pub mod access_log;
pub mod affinity;
pub mod auth;
pub mod base_path;
pub mod cache;
pub mod compress;
pub mod cookie;
pub mod cors;
pub mod counts;
mod credentials;
pub mod csrf;
pub mod dashboard;
pub mod decompress;
pub mod docs;
pub mod early_hints;
mod fetch;
pub mod health;
pub mod hosts;
pub mod limits;
pub mod metrics;
pub mod navigation;
pub mod origins;
pub mod policies;
pub mod response_fields;
pub mod session;
mod threads;
pub mod traces;
pub mod types;
pub mod web;
