//! The order of a request: what answers the requests that `httpd` has, without R.
//!
//! `server` starts and ends it all; `pipeline` is the way of a request: router, `assets`, `natives` or `dispatch`, then
//! `respond`; `pool` is how its workers come and go.
#![forbid(unsafe_code)]
// what fuzz targets see is documented for those who work on it
#![cfg_attr(fuzzing, allow(missing_docs))]

mod app;
pub mod assets;
mod config;
mod context;
mod development;
mod edge;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod json;
mod natives;
mod pipeline;
mod pool;
mod respond;
mod server;
mod sockets;
mod view;

pub use config::{
    AppConfig, ErrorFormat, HeaderConfig, MountConfig, OnClientGone, OwnErrorConfig, OwnErrorsConfig, RouteConfig,
    Settings, SocketConfig,
};
pub use development::Development;
pub use edge::access_log::AccessLogFormat;

pub use dispatch::{Commands, PoolEvent, Runner, Runs, Seat, WorkerStats};
pub use exchange::now as now_ms;
pub use httpd::phrase_or_class as status_phrase;
pub use httpd::{make_room, Address, Fields, Uploads};
pub use observe::{Console, Level, Log};
pub use pipeline::NOT_FOUND_ROUTE;
pub use pool::Pool;
pub use server::{Gauge, Server, StartError};
pub use shm::take_inherited;
