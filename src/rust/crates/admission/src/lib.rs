//! Whether a request may enter: limits and queue depth, to a verdict.
//!
//! Pure: no I/O, no clock. The engine measures and asks; this crate only knows the policy.
#![forbid(unsafe_code)]

mod limits;
pub mod units;

pub use limits::{ms, ms_or_never, Limits, NEVER};
