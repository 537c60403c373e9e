//! From an answer to a response: errors, files, replies of handlers.

mod answer;
mod asset;
mod error;
mod reply;

pub use answer::{from_answer, from_stream};
pub use asset::from_asset;
pub use error::{failure, ErrorBodies};
pub use reply::{from_head, from_reply, Replied};
