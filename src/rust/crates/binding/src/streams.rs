//! Streams that R handlers have returned, for `src/streams.c`: which generator is to be called, and what it gave.
//! Streams have numbers, from
//! 1. All functions are for the main thread. Neighbours: `desk` (whose worker they belong to), `worker::streams` (when
//!    they are due).

use crate::desk::{made_message, Desk};
use crate::node::Str;
use crate::request::Cell;
use crate::shield::{lent, shield};
use engine::Level;
use std::time::{Duration, Instant};
use worker::{Call, Rhythm};

/// Begins the stream whose head was made last, for the request of `cell`: its number, or 0 when nobody waits for it.
///
/// # Safety
/// `desk` and `cell` are live; no R code ran since the head was made.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_open(
    desk: *mut Desk,
    cell: *mut Cell,
    min_interval: f64,
    ends_on_drain: i32,
) -> u32 {
    // SAFETY: the caller's; C uses both from one thread only.
    let (desk, cell) = unsafe { (&mut *desk, &mut *cell) };
    shield(0, || {
        let Some(job) = cell.take_job() else { return 0 };
        let min_interval = Duration::try_from_secs_f64(min_interval).unwrap_or(Duration::MAX);
        let rhythm = Rhythm { min_interval, ends_on_drain: ends_on_drain != 0 };
        let Some(slot) = made_message(|head| desk.worker.open(job, head, rhythm)) else { return 0 };
        if desk.streams.len() <= slot as usize {
            desk.streams.resize_with(slot as usize + 1, Box::default);
        }
        desk.streams[slot as usize] = cell.describe().into();
        cell.close();
        slot + 1
    })
}

/// The stream whose generator is to be called now, or 0; and whether that is the last time. Then `drv_stream_called`
/// is.
///
/// # Safety
/// `desk` is live, `last` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_next(desk: *mut Desk, last: *mut i32) -> u32 {
    // SAFETY: the caller's.
    let desk = unsafe { &mut *desk };
    shield(0, || {
        let Some((slot, call)) = desk.worker.call(Instant::now()) else { return 0 };
        // SAFETY: the caller's.
        unsafe { last.write(i32::from(call == Call::Last)) };
        slot + 1
    })
}

/// The generator of a stream gave these bytes. `done`: 0 when it is to be called again, 1 when the body is whole, -1
/// when it never will be.
///
/// # Safety
/// `desk` is live; C lends the bytes for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_called(desk: *mut Desk, number: u32, bytes: *const u8, len: usize, done: i32) {
    // SAFETY: the caller's.
    let (desk, bytes) = unsafe { (&mut *desk, lent(bytes, len)) };
    let done = (done != 0).then_some(done > 0);
    shield((), || desk.worker.called(number - 1, bytes, done));
}

/// In how many milliseconds a generator is to be called, at most `longest`; rounded up, so that it is due then.
///
/// # Safety
/// `desk` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_due_in(desk: *mut Desk, longest: i32) -> i32 {
    // SAFETY: the caller's.
    let desk = unsafe { &mut *desk };
    let Some(due) = desk.worker.next_call() else { return longest };
    let left = due.saturating_duration_since(Instant::now()).as_nanos().div_ceil(1_000_000);
    i32::try_from(left).unwrap_or(i32::MAX).min(longest)
}

/// How many streams are open.
///
/// # Safety
/// `desk` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_count(desk: *const Desk) -> u32 {
    // SAFETY: the caller's.
    u32::try_from(unsafe { (*desk).worker.open_streams() }).unwrap_or(u32::MAX)
}

/// Has streams end: those without an end of their own; with `all`, each, broken off. Generators are called a last time.
///
/// # Safety
/// `desk` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_end_early(desk: *mut Desk, all: i32) {
    // SAFETY: the caller's.
    let desk = unsafe { &mut *desk };
    shield((), || desk.worker.end_streams(all != 0));
}

/// Logs that a stream has failed.
///
/// # Safety
/// `desk` is live; the text is C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_stream_log(desk: *const Desk, number: u32, text: Str) {
    // SAFETY: the caller's.
    let (desk, text) = unsafe { (&*desk, text.as_bytes()) };
    shield((), || {
        let about = desk.streams.get(number as usize - 1).map_or("", |about| about);
        (desk.log)(Level::Error, &format!("{about}{}", String::from_utf8_lossy(text)));
    });
}
