//! Dates as HTTP writes them.

use rustix::time::{clock_gettime, ClockId};
use std::cell::Cell;
use std::time::{Duration, UNIX_EPOCH};

/// RFC 9110 section 5.6.7: the preferred form has a fixed length.
const LENGTH: usize = 29;

thread_local! {
    /// the second that was asked for last, and the text for it
    static LAST: Cell<(u64, [u8; LENGTH])> = const { Cell::new((u64::MAX, [0; LENGTH])) };
}

/// The date of now.
pub(crate) fn now() -> [u8; LENGTH] {
    date(u64::try_from(clock_gettime(ClockId::RealtimeCoarse).tv_sec).unwrap_or(0))
}

/// The date of a second since 1970: `Sun, 22 Nov 2026 14:30:06 GMT`. A thread makes the text once for requests of the
/// same second.
pub fn date(second: u64) -> [u8; LENGTH] {
    let (of, mut text) = LAST.get();
    if of != second {
        let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
        // a clock beyond the year 9999 has no such date: then the last one stays
        if let Ok(made) = date.into_bytes().try_into() {
            text = made;
            LAST.set((second, text));
        }
    }
    text
}
