//! One request and its answer, as handlers that are not R see them, wherever they run: in the server's own process,
//! where the engine has the request at hand, or in a worker process, where it is a message of `wire`. And the clock
//! that all go by, and the trace that a request belongs to.
//!
//! Callers (of [`Handlers`]) and callees meet only here: `engine` and `worker` call, `native` is called.
#![forbid(unsafe_code)]

mod answer;
mod clock;
mod handlers;
mod life;
mod pace;
mod packet;
mod pipe;
mod request;
mod sampler;
mod sink;
mod trace;
mod unread;
mod websocket_commands;

pub use answer::{Answer, Head, Response};
pub use clock::now;
#[cfg(debug_assertions)]
pub use clock::set_now;
pub use handlers::Handlers;
pub use life::{Life, OnCancel, Stage, Uncalled};
pub use pace::follow;
pub use packet::Packet;
pub use pipe::{pipe, streams, PipeReader, PipeWriter, Reading, Written};
pub use request::RequestView;
pub use sampler::Sampler;
pub use sink::{Sent, Sink};
pub use trace::{is_trace_state, Trace};
pub use unread::{Promised, Unread};
pub use websocket_commands::WebSocketCommands;
