//! The message format between the server and a worker.
#![forbid(unsafe_code)]
