//! From an answer to a response: errors, files, replies of handlers.

mod answer;
mod asset;
mod error;
mod own_errors;
mod reply;

pub use answer::{from_answer, from_stream};
pub use asset::from_asset;
pub use error::{failure, ErrorBodies};
pub use own_errors::OwnErrors;
pub use reply::{from_head, from_reply, Replied};
