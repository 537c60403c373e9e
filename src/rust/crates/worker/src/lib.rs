//! The side of the worker, without R: attach, take a request, reply.
#![forbid(unsafe_code)]
