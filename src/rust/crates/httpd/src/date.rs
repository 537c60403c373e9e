//! The date of a response.

use rustix::time::{clock_gettime, ClockId};
use std::cell::Cell;
use std::time::{Duration, UNIX_EPOCH};

/// RFC 9110 section 5.6.7: the preferred form has a fixed length.
const LENGTH: usize = 29;

thread_local! {
    /// the second, and the text for it
    static NOW: Cell<(i64, [u8; LENGTH])> = const { Cell::new((-1, [0; LENGTH])) };
}

/// The date as text, which a thread makes once for a second.
pub fn text() -> [u8; LENGTH] {
    let second = clock_gettime(ClockId::RealtimeCoarse).tv_sec;
    let (of, mut text) = NOW.get();
    if of != second {
        let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(u64::try_from(second).unwrap_or(0)));
        // a clock beyond the year 9999 has no such date: then the last one stays
        if let Ok(made) = date.into_bytes().try_into() {
            text = made;
            NOW.set((second, text));
        }
    }
    text
}
