//! The grammar that URIs and HTTP are written in: which bytes may stand where ([`bytes`]), percent-escapes
//! ([`percent`]), numbers ([`hex`]), and which fields may follow a body ([`trailers`]).
//!
//! Pure, and independent of requests: code that reads or writes a part of one calls it, and words its own errors.
#![forbid(unsafe_code)]

pub mod bytes;
pub mod hex;
pub mod percent;
pub mod trailers;
