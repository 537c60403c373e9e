//! Header fields that a handler has added to a response that is still to come.

use exchange::Head;
use std::borrow::Cow;
use std::fmt::Write as _;

/// See the module.
#[derive(Default)]
pub struct Draft {
    headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// entries of `Server-Timing`
    timing: String,
}

impl Draft {
    /// Adds a field, which was checked.
    pub fn add(&mut self, name: &[u8], value: &[u8]) {
        self.headers.push((name.to_vec(), value.to_vec()));
    }

    /// Adds a duration, under a name that is a token.
    pub fn mark(&mut self, name: &str, duration_ns: u64) {
        if !self.timing.is_empty() {
            self.timing.push_str(", ");
        }
        // in milliseconds: https://www.w3.org/TR/server-timing/
        let (millis, rest) = (duration_ns / 1_000_000, duration_ns / 1_000 % 1_000);
        // a String takes everything
        let _ = write!(self.timing, "{name};dur={millis}.{rest:03}");
    }

    /// The head of the response.
    pub fn into_head(mut self, status: u16, content_type: Option<Cow<'static, [u8]>>) -> Head {
        if !self.timing.is_empty() {
            self.headers.push((b"server-timing".to_vec(), self.timing.into_bytes()));
        }
        Head { status, content_type, headers: self.headers }
    }
}
