//! From an answer to a response: errors, files, replies of handlers.

mod answer;
mod asset;
mod error;
mod own_errors;
mod reply;
mod unstored;

pub use answer::{from_answer, from_stream};
pub use asset::from_asset;
pub use error::{failure, is_json, ErrorBodies};
pub use own_errors::OwnErrors;
pub use reply::{fields_of, from_head, from_reply, Replied};
pub use unstored::{text, unstored, unstored_as};
