//! Phase 4, for requests whose body did not come with their head.
//!
//! Runs: the body is received within its limits, unpacked if it is packed, in memory or in a file.

use super::state::State;
use httpd::{Failure, Incoming, Received};

/// The whole body, of at most `max_body` bytes, or why it is refused.
pub async fn receive(state: &State, body: &mut Incoming, max_body: u64) -> Result<Received, Failure> {
    httpd::receive(body, state.connection(), state.decoding(), max_body).await
}
