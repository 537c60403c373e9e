//! Streams that R handlers have returned, for `src/streams.c`: which generator to call next, and what it returned.
//! Streams are numbered from 1. All functions are for the main thread. Neighbours: `link` (whose worker they belong
//! to), `worker::streams` (when they are due).

use crate::link::{made_message, Link};
use crate::node::Str;
use crate::request::Cell;
use crate::shield::{borrowed, shield};
use engine::Level;
use grammar::trailers;
use std::time::{Duration, Instant};
use worker::{Call, Rhythm, Written};

/// Begins the stream whose head was made last, for the request of `cell`: its number, or 0 when the request no longer
/// waits for a reply.
///
/// # Safety
/// `link` and `cell` are live; no R code ran since the head was made.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_open(
    link: *mut Link,
    cell: *mut Cell,
    min_interval: f64,
    ends_on_drain: i32,
) -> u32 {
    // SAFETY: the caller's; C uses both from one thread only.
    let (link, cell) = unsafe { (&mut *link, &mut *cell) };
    shield(0, || {
        let Some(job) = cell.take_job() else { return 0 };
        let min_interval = Duration::try_from_secs_f64(min_interval).unwrap_or(Duration::MAX);
        let rhythm = Rhythm { min_interval, ends_on_drain: ends_on_drain != 0 };
        let Some(slot) = made_message(|head| link.worker.open(job, head, rhythm, cell.terms())) else { return 0 };
        if link.streams.len() <= slot as usize {
            link.streams.resize_with(slot as usize + 1, Box::default);
        }
        link.streams[slot as usize] = cell.describe().into();
        cell.close();
        slot + 1
    })
}

/// The stream whose generator is to be called now, or 0; and whether that is the last time. Then `drv_stream_called`
/// is.
///
/// # Safety
/// `link` is live, `last` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_next(link: *mut Link, last: *mut i32) -> u32 {
    // SAFETY: the caller's.
    let link = unsafe { &mut *link };
    shield(0, || {
        let Some((slot, call)) = link.worker.call(Instant::now()) else { return 0 };
        // SAFETY: the caller's.
        unsafe { last.write(i32::from(call == Call::Last)) };
        slot + 1
    })
}

/// The generator of a stream gave these bytes. `done`: 0 when it is to be called again, 1 when the body is whole, -1
/// when it never will be.
///
/// # Safety
/// `link` is live; C lends the bytes for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_called(link: *mut Link, number: u32, bytes: *const u8, len: usize, done: i32) {
    // SAFETY: the caller's.
    let (link, bytes) = unsafe { (&mut *link, borrowed(bytes, len)) };
    let done = (done != 0).then_some(done > 0);
    shield((), || link.worker.called(number - 1, bytes, done));
}

/// The generator of a stream, which runs, gives the text of the fields behind the body: `name: value CRLF` for each.
/// The name of the first that cannot be there, in that text, or NA.
///
/// # Safety
/// `link` is live; the text is C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_trailers(link: *mut Link, number: u32, text: Str) -> Str {
    // SAFETY: the caller's.
    let (link, text) = unsafe { (&mut *link, text.as_bytes()) };
    shield(Str::NA, || match trailers::fields(text).find_map(Result::err) {
        Some(name) => Str::new(name),
        None => {
            link.worker.set_trailers(number - 1, text);
            Str::NA
        }
    })
}

/// The running generator of a stream writes these bytes, or none, to continue with earlier ones: 0 when they are on
/// their way, 1 when some wait for the client, 2 when the stream takes no more.
///
/// # Safety
/// `link` is live; C lends the bytes for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_write(link: *mut Link, number: u32, bytes: *const u8, len: usize) -> i32 {
    // SAFETY: the caller's.
    let (link, bytes) = unsafe { (&mut *link, borrowed(bytes, len)) };
    shield(2, || match link.worker.write(number - 1, bytes) {
        Written::Sent => 0,
        Written::Waits => 1,
        Written::Unwanted => 2,
    })
}

/// Says that the main thread will sleep on the bell until a client has taken more. 0 when there is news: do not sleep.
///
/// # Safety
/// `link` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_doze(link: *mut Link) -> i32 {
    // SAFETY: the caller's.
    unsafe { i32::from((*link).worker.doze_in_stream()) }
}

/// In how many milliseconds a generator is to be called, at most `longest`; rounded up, so that it is due then.
///
/// # Safety
/// `link` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_due_in(link: *mut Link, longest: i32) -> i32 {
    // SAFETY: the caller's.
    let link = unsafe { &mut *link };
    let Some(due) = link.worker.next_call() else { return longest };
    let left = due.saturating_duration_since(Instant::now()).as_nanos().div_ceil(1_000_000);
    i32::try_from(left).unwrap_or(i32::MAX).min(longest)
}

/// How many streams are open.
///
/// # Safety
/// `link` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_count(link: *const Link) -> u32 {
    // SAFETY: the caller's.
    u32::try_from(unsafe { (*link).worker.open_streams() }).unwrap_or(u32::MAX)
}

/// Has streams end: those without an end of their own; with `all`, each, broken off. Generators are called a last time.
///
/// # Safety
/// `link` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_end_early(link: *mut Link, all: i32) {
    // SAFETY: the caller's.
    let link = unsafe { &mut *link };
    shield((), || link.worker.end_streams(all != 0));
}

/// Logs that a stream has failed.
///
/// # Safety
/// `link` is live; the text is C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_log(link: *const Link, number: u32, text: Str) {
    // SAFETY: the caller's.
    let (link, text) = unsafe { (&*link, text.as_bytes()) };
    shield((), || {
        let about = link.streams.get(number as usize - 1).map_or("", |about| about);
        (link.log)(Level::Error, &format!("{about}{}", String::from_utf8_lossy(text)));
    });
}
