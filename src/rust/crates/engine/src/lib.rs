//! The server without R: listener, HTTP, routing, static files, dispatch, responses.
#![forbid(unsafe_code)]
