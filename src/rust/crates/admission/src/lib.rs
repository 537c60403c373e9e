//! Limits, and what they come to for a request: the settings, and whether it has taken too long ([`Patience`]).
//!
//! Pure: no I/O, no clock. Others measure and ask; this crate only knows the policy.
#![forbid(unsafe_code)]

mod limits;
mod patience;
pub mod units;

pub use limits::{ms, ms_or_never, Limits, NEVER};
pub use patience::{Late, Over, Patience};
