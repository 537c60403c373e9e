//! The order of a request: what answers the requests that `httpd` has, without R.
//!
//! `server` starts and ends it all, for one app or several: `served` is one, `common` what they have in common, and
//! `answers` says for which a request is; `presence` has requests wait for an app that is not there yet. `pipeline` is
//! the way of a request: router, `assets`, `natives` or `dispatch`, then
//! `respond`; `pool` is how its workers come and go.
#![forbid(unsafe_code)]
// items that only fuzz targets see are documented for contributors
#![cfg_attr(feature = "fuzzing", allow(missing_docs))]

mod answers;
mod app;
pub mod assets;
mod commands;
mod common;
mod config;
mod context;
mod development;
mod edge;
mod failed;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod gauge;
mod jobs;
mod natives;
mod observed;
mod pipeline;
mod pool;
mod presence;
mod respond;
mod served;
mod server;
mod snapshot;
mod start_error;
mod view;
mod websockets;

pub use config::{
    AppConfig, ErrorFormat, MountConfig, OnClientGone, OwnErrorConfig, OwnErrorsConfig, Replay, RouteConfig, Settings,
    WebSocketConfig,
};
pub use development::Development;
pub use edge::access_log::AccessLogFormat;
pub use edge::affinity::AffinityWanted;
pub use edge::auth::config::{
    AuthConfig, BasicConfig, JwksConfig, JwtConfig, KeyConfig, NamedConfig, OidcConfig, SchemeConfig, Scopes,
    TokensConfig,
};
pub use edge::compress::CompressConfig;
pub use edge::cookie::SameSite;
pub use edge::cors::CorsConfig;
pub use edge::csrf::CsrfConfig;
pub use edge::dashboard::Action;
pub use edge::decompress::DecompressConfig;
pub use edge::limits::{Key, LimitConfig, Scope};
pub use edge::policies::{PolicyConfig, RuleConfig};
pub use edge::response_fields::HeaderConfig;
pub use edge::session::SessionConfig;

pub use ::jobs::{JobId, State as JobState};
pub use dispatch::{Commands, Express, PoolEvent, Runner, Runs, Seat, WorkerStats, SHARED_SESSIONS};
pub use exchange::now as now_ms;
pub use failed::{FailedLine, FailedRequest, MARK as REDACTED};
pub use gauge::Gauge;
pub use httpd::phrase_or_class as status_phrase;
pub use httpd::{make_room, Address, Fields, Uploads};
pub use httpd::{self_signed, ClientAuth, MinVersion, SelfSigned, TlsSettings};
pub use jobs::{check_cron, JobAct, JobCounts, JobLine, JobList, JobProgress, JobsOperator, JobsWanted};
pub use observe::metrics::{Figures, Metrics, Restart};
pub use observe::{about_no_request, json_line, printed, with_lost, with_names, Console, Format, Level, Log};
pub use observe::{RecentError, RunningRequest, SessionStatus, WorkerState, WorkerStatus};
pub use pipeline::NOT_FOUND_ROUTE;
pub use pool::Pool;
pub use server::Server;
pub use shm::take_inherited;
pub use snapshot::Snapshot;
pub use start_error::StartError;
