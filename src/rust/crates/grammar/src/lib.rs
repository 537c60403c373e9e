//! The grammar that URIs and HTTP are written in: which bytes may stand where ([`bytes`]), percent-escapes
//! ([`percent`]), and which fields may follow a body ([`trailers`]).
//!
//! Pure, and of no request: who reads or writes a part of one asks here, and says what is wrong in its own words.
#![forbid(unsafe_code)]

pub mod bytes;
pub mod percent;
pub mod trailers;
