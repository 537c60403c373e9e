//! The only crate that knows R.
//!
//! C calls in through the functions marked `no_mangle` (declared in `src/drover_rust.h`); nothing here allocates in R
//! or lets R jump over a Rust frame. `session` is the server of an R session that runs the handlers, `service` that of
//! one that leaves them to processes, `zygote` and `process` are those processes' ends of their control channels,
//! `link` is a worker's half; `natives` hands C handlers of other packages over; `request` the fields of a request,
//! `reply` makes messages of R values, `strings` counts what goes into R's string cache, `commands` are what R wants
//! the server to do, `console` has the log of a session at a console, `units` reads sizes and times, `packed_files`
//! packs files, `events` writes Server-Sent Events, `json` reads and writes JSON, `yaml` YAML, `mcp` messages of
//! language models' clients, `shared_state` has the values that all workers see, `node` describes values that C is to
//! make, `r` reads R's objects.

mod commands;
mod console;
mod events;
mod exchange;
mod failed;
mod fork_safety;
mod jobs;
pub mod json;
mod lent;
mod link;
mod mcp;
mod natives;
pub mod node;
mod packed_files;
mod pattern;
mod process;
pub mod r;
mod reply;
mod request;
mod schema;
mod secrets;
mod service;
mod session;
mod shared_state;
mod shield;
mod streams;
mod strings;
mod tasks;
mod tls;
mod units;
mod uploads;
mod websocket_client;
mod websockets;
mod worker_settings;
mod yaml;
mod zygote;
