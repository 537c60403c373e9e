//! Limits, and what they come to for a request: the settings, whether it has taken too long ([`Patience`]), whether too
//! many have come ([`rate`]), and how many of something each client has ([`Crowd`]).
//!
//! Pure: no I/O, no clock. Others measure and ask; this crate only knows the policy.
#![forbid(unsafe_code)]

mod crowd;
mod limits;
mod patience;
pub mod rate;
pub mod units;

pub use crowd::Crowd;
pub use limits::{ms, ms_or_never, Limits, NEVER};
pub use patience::{Late, Over, Patience};
