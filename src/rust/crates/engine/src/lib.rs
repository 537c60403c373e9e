//! The server without R: listener, HTTP, routing, static files, dispatch, responses.
//!
//! In the order of a request: `listener` -> `http` -> `pipeline` (router, `assets`, `natives` or `dispatch`) -> `respond`.
//! `server` starts and ends it all; `pool` is how its workers come and go; `observe` is what it tells of itself.
#![forbid(unsafe_code)]
// what fuzz targets see is documented for those who work on it
#![cfg_attr(fuzzing, allow(missing_docs))]

mod app;
pub mod assets;
mod budget;
mod config;
mod dispatch;
mod head;
mod http;
mod listener;
mod natives;
mod observe;
mod patience;
mod pipeline;
mod pool;
mod respond;
mod server;
mod uploads;
mod view;

pub use config::{AppConfig, ErrorFormat, MountConfig, OnClientGone, RouteConfig, Runs, Settings};

pub use head::Fields;
#[cfg(fuzzing)]
#[doc(hidden)]
pub use http::fuzzing;
pub use observe::{Level, Log};
pub use pipeline::NOT_FOUND_ROUTE;
pub use pool::{Pool, PoolEvent, Runner, Seat, WorkerStats};
pub use respond::phrase_or_class as status_phrase;
pub use server::{Server, StartError};
pub use uploads::Uploads;

/// Milliseconds on the server's clock, which only goes forward: the clock of [`WorkerStats`].
pub fn now_ms() -> u64 {
    http::now()
}
