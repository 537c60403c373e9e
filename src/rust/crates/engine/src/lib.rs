//! The server without R: listener, HTTP, routing, static files, dispatch, responses.
//!
//! In the order of a request: `listener` -> `http` -> `pipeline` (router, `assets`, `dispatch`) -> `respond`.
//! `server` starts and ends it all; `observe` is what it tells of itself.
#![forbid(unsafe_code)]

pub mod assets;
mod config;
mod dispatch;
mod http;
mod listener;
mod observe;
mod pipeline;
mod respond;
mod server;

pub use config::{Config, MountConfig, RouteConfig};
pub use observe::{Level, Log};
pub use pipeline::NOT_FOUND_ROUTE;
pub use server::{Server, StartError};
