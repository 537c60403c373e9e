//! Every bound of the server in one struct, with the defaults and their reasons.
//!
//! The names are those of the arguments of `dr_serve()` in R: one setting, one name.

use serde::{Deserialize, Serialize};

/// Sizes in bytes, times in seconds, rates in bytes per second.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// longest request line; more is 414. As long as the library for URIs takes; httpuv takes 80 kB, with all fields
    pub max_request_line: usize,
    /// longest single header field; more is 431
    pub max_header_field: usize,
    /// longest header section in all; more is 431. What is beyond 4 kB comes out of a budget for all of them
    pub max_header_size: usize,
    /// header fields in a request; more is 431
    pub max_headers: usize,
    /// longest body; more is 413
    pub max_body: u64,
    /// a longer body or uploaded file waits on disk, not in memory: a full queue of such bodies must fit in memory
    pub spool_above: u64,
    /// parts of a multipart body; more is 400
    pub max_parts: usize,
    /// fields of a form or a query; more is 400
    pub max_fields: usize,
    /// nesting of a JSON body; more is 400
    pub max_json_depth: usize,
    /// different strings of one request that fall into one bucket of R's string cache beyond chance; more is 400.
    /// Strings of every day pass, by the hundred thousand.
    pub max_collisions: usize,
    /// from the first byte of a request to the end of its header section
    pub header_timeout: f64,
    /// longest pause within a body
    pub body_timeout: f64,
    /// slowest body, over each span of `body_timeout`
    pub min_body_rate: u64,
    /// longest time without progress while a response is written
    pub write_timeout: f64,
    /// longest idle time between two requests of a connection
    pub keep_alive: f64,
    /// longest time from the arrival of a request to its answer, then 504; 0 for never
    pub timeout: f64,
    /// after a worker was interrupted at a deadline, how long it may go on; then it is killed
    pub kill_after: f64,
    /// longest wait for R, then 503; 0 for as long as `timeout`
    pub queue_timeout: f64,
    /// a visitor's session ends when the visitor has done nothing for so long; 0 for never
    pub session_idle_timeout: f64,
    /// how long the server goes on as before when it is told to end, but for `/readyz`
    pub drain_delay: f64,
    /// how long `dr_stop()` waits for requests in flight
    pub graceful_timeout: f64,
    /// connections at a time; further ones wait in the kernel's queue
    pub max_connections: usize,
    /// of these, from one address, or one network of IPv6 (/64); further ones are closed. 0 for no limit: behind a
    /// proxy that is not known to be one, all clients have the same
    pub max_connections_per_address: usize,
    /// requests that wait for a worker; more is 503
    pub max_queue: usize,
    /// promises under way in a worker; more wait like all that waits for a worker. Far more than R can look after each
    /// second, and fewer than a link has places (2048).
    pub max_async: usize,
    /// HTTP/2 streams of a connection at a time
    pub max_streams: u32,
    /// bytes of all values of `dr_state()`, which are in memory
    pub max_state: u64,
    /// of these, entries: each counts to its key in the time that it takes to look for expired ones
    pub max_state_entries: u64,
    /// bytes of one of them: no other worker goes on while it is copied
    pub max_state_value: u64,
}

/// Seconds of a setting, as the milliseconds that clocks count in.
pub fn ms(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

/// No end of time, in ms: later than any clock will be, and small enough for sums.
pub const NEVER: u64 = u64::MAX / 4;

/// The same of a setting that is 0 for never.
pub fn ms_or_never(seconds: f64) -> u64 {
    if seconds > 0.0 {
        ms(seconds)
    } else {
        NEVER
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_request_line: 65534,
            max_header_field: 64 << 10,
            max_header_size: 80 << 10,
            max_headers: 100,
            max_body: 1 << 20,
            spool_above: 128 << 10,
            max_parts: 100,
            max_fields: 1000,
            max_json_depth: 64,
            max_collisions: 2,
            header_timeout: 10.0,
            body_timeout: 15.0,
            min_body_rate: 500,
            write_timeout: 30.0,
            keep_alive: 75.0,
            timeout: 30.0,
            kill_after: 2.0,
            queue_timeout: 0.0,
            session_idle_timeout: 0.0,
            drain_delay: 0.0,
            graceful_timeout: 30.0,
            max_connections: 10_000,
            max_connections_per_address: 0,
            max_queue: 1024,
            max_async: 1000,
            max_streams: 100,
            max_state: 16 << 20,
            max_state_entries: 10_000,
            max_state_value: 64 << 10,
        }
    }
}
