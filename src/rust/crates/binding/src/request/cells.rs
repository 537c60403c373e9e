//! What C calls of a request: `src/request.c`.

use super::fault::Fault;
use super::{Cell, Field, Media, FIELDS};
use crate::link::Link;
use crate::node::{Node, Str};
use crate::shield::{shield, Error};
use std::ptr;
use wire::{Notice, Progress};

/// A cell for a `req` object.
#[no_mangle]
pub extern "C" fn drv_cell_new() -> *mut Cell {
    Box::into_raw(Box::default())
}

/// Ends a cell.
///
/// # Safety
/// `cell` came from `drv_cell_new` and is not used after.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_free(cell: *mut Cell) {
    // SAFETY: the caller's.
    shield((), || drop(unsafe { Box::from_raw(cell) }));
}

/// The worker has been idle for a while, and R code has kept no reference to the request in `cell`: frees what was kept
/// of the last request, and what C was shown last.
///
/// # Safety
/// `cell` is live, and C reads nothing that it was shown before.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_rest(cell: *mut Cell) {
    // SAFETY: the caller's.
    let cell = unsafe { &mut *cell };
    shield((), || {
        cell.rest();
        crate::events::forget();
        crate::commands::forget();
        crate::yaml::forget();
    });
}

/// The field of this number of the request in `cell`. Null, and an error, when the client's bytes do not give one.
///
/// # Safety
/// `link` and `cell` are live, `error` is valid for writing. The node lives until `drv_cell_built`, which must follow
/// unless R jumps, or until the cell gets a new request.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_field(
    link: *const Link,
    cell: *mut Cell,
    field: u32,
    error: *mut Error,
) -> *const Node {
    // SAFETY: the caller's; C uses both from one thread only.
    let (link, cell) = unsafe { (&*link, &mut *cell) };
    let asked = shield(Err(Fault::GONE), || match FIELDS.get(field as usize) {
        Some(&field) => cell.ask(field, &link.rules).map(ptr::from_ref),
        None => Err(Fault::GONE),
    });
    match asked {
        Ok(node) => node,
        Err(fault) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, fault.status, fault.message) };
            ptr::null()
        }
    }
}

/// The node that the cell gave last is not needed any more.
///
/// # Safety
/// `cell` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_built(cell: *mut Cell) {
    // SAFETY: the caller's.
    let cell = unsafe { &mut *cell };
    cell.reading = cell.reading.saturating_sub(1);
}

/// The bytes of the body of the request in `cell`. Null, and an error, when they cannot be read.
///
/// # Safety
/// As [`drv_cell_field`]; `len` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_body(cell: *mut Cell, len: *mut usize, error: *mut Error) -> *const u8 {
    // SAFETY: the caller's.
    let cell = unsafe { &mut *cell };
    match shield(Err(Fault::GONE), || cell.load_body().map(|()| ptr::from_ref(cell.body()))) {
        Ok(body) => {
            // SAFETY: the body is the cell's, which C holds.
            let body: &[u8] = unsafe { &*body };
            // SAFETY: the caller's.
            unsafe { len.write(body.len()) };
            body.as_ptr()
        }
        Err(fault) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, fault.status, fault.message) };
            ptr::null()
        }
    }
}

/// The bytes of the field of this number of the request in `cell`, which is JSON. Null when there is none.
///
/// # Safety
/// `cell` is live, and what is returned is used before it gets a new request; `len` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_json(cell: *const Cell, field: u32, len: *mut usize) -> *const u8 {
    // SAFETY: the caller's.
    let cell = unsafe { &*cell };
    let json = shield(ptr::slice_from_raw_parts(ptr::null(), 0), || {
        let head = cell.request().map(|request| request.head);
        let json = head.and_then(|head| match FIELDS.get(field as usize) {
            Some(Field::Auth) => Some(head.auth),
            Some(Field::Session) => Some(head.session),
            Some(Field::Job) => Some(head.job),
            _ => None,
        });
        json.filter(|json| !json.is_empty()).map_or(ptr::slice_from_raw_parts(ptr::null(), 0), ptr::from_ref)
    });
    // SAFETY: the caller's.
    unsafe { len.write(json.len()) };
    json.cast()
}

/// 1 when the request in `cell` has this method, this target and no body.
///
/// # Safety
/// `cell` is live; the texts are C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_asks_for(cell: *const Cell, method: Str, target: Str) -> i32 {
    // SAFETY: the caller's.
    let (cell, method, target) = unsafe { (&*cell, method.as_bytes(), target.as_bytes()) };
    shield(0, || i32::from(cell.asks_for(method, target)))
}

/// Whether the request in `cell` has a header field of this name, in lower case: 0 when not, 1 when `value` is what it
/// says, 2 when that is in several fields, or no UTF-8.
///
/// # Safety
/// `cell` is live, and `value` is used before it gets a new request; the name is C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_header(cell: *const Cell, name: Str, value: *mut Str) -> i32 {
    // SAFETY: the caller's.
    let (cell, name) = unsafe { (&*cell, name.as_bytes()) };
    let (times, found) = shield((0, Str::NA), || {
        let request = cell.request();
        let mut all = request.iter().flat_map(|request| request.headers()).filter(|(one, _)| *one == name);
        match (all.next(), all.next()) {
            (None, _) => (0, Str::NA),
            (Some((_, value)), None) if std::str::from_utf8(value).is_ok() => (1, Str::new(value)),
            _ => (2, Str::NA),
        }
    });
    // SAFETY: the caller's.
    unsafe { value.write(found) };
    times
}

/// 1 when the body of the request in `cell` is a form, whose fields are behind those of the query.
///
/// # Safety
/// `cell` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_has_form(cell: *const Cell) -> i32 {
    // SAFETY: the caller's.
    let cell = unsafe { &*cell };
    shield(0, || i32::from(cell.media() == Media::Form))
}

/// 1 while the request in `cell` has not been replied to.
///
/// # Safety
/// `cell` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_is_open(cell: *const Cell) -> i32 {
    // SAFETY: the caller's.
    unsafe { i32::from((*cell).job.is_some()) }
}

/// Tells the server how far the handler of the request in `cell`, an attempt at a job, is. `total` is NaN where that is
/// not known. 1 when the server is told so, 0 when the request has its reply, or the server has gone.
///
/// # Safety
/// `link` and `cell` are live; the text is C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_progress(
    link: *mut Link,
    cell: *const Cell,
    done: f64,
    total: f64,
    message: Str,
) -> i32 {
    // SAFETY: the caller's.
    let (link, cell, message) = unsafe { (&mut *link, &*cell, message.as_bytes()) };
    let progress = Progress { done, total, message };
    shield(0, || i32::from(cell.job().is_some_and(|job| link.worker.notice(job, Notice::Progress(progress)))))
}

/// Has the client of the request in `cell` told of links, a text with line feeds in between, ahead of its response. 1
/// when the server is told so, 0 when the request has its reply, or the server has gone.
///
/// # Safety
/// `link` and `cell` are live; the text is C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_hint(link: *mut Link, cell: *const Cell, links: Str) -> i32 {
    // SAFETY: the caller's.
    let (link, cell, links) = unsafe { (&mut *link, &*cell, links.as_bytes()) };
    shield(0, || i32::from(cell.job().is_some_and(|job| link.worker.notice(job, Notice::Links(links)))))
}
