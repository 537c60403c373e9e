//! C handlers as their callers see them: the handlers of `tests/handlers/` (the R package at the root of the
//! repository) are compiled and called through `exchange::Handlers`, inline and on the pool, with a client that only
//! pretends to be one.
//!
//! `tools/sanitize.sh` runs these under AddressSanitizer and ThreadSanitizer, with the handlers compiled for them, too.

mod answers;
mod app;
mod canary;
mod client;
mod gate;
mod header;
mod later;
mod library;
mod old;
mod pace;
mod pool;
mod races;
mod requests;
mod streams;
mod websockets;
mod wrong;
