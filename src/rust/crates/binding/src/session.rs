//! The server of an R session and its worker, which is the session's main thread. All functions are for that thread.

use crate::node::Str;
use crate::reply;
use crate::request::{Cell, RouteInfo};
use crate::shield::{shield, Error};
use engine::{Config, Level, Server, StartError, NOT_FOUND_ROUTE};
use fields::guard::CollisionGuard;
use shm::Ring;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::{ptr, slice};
use worker::Worker;

/// A server and its worker.
pub struct Session {
    server: Server,
    worker: Worker,
    pub(crate) routes: Vec<RouteInfo>,
    not_found: u32,
    pub(crate) limits: admission::Limits,
    pub(crate) upload_path: std::path::PathBuf,
    pub(crate) guard: CollisionGuard,
    message: Vec<u8>,
}

/// Wakes the session's main thread by a function of C's, which may decline.
struct RingByCall(extern "C" fn() -> i32);

impl Ring for RingByCall {
    fn ring(&self) -> bool {
        (self.0)() != 0
    }
}

/// Bytes that C lends for the call.
///
/// # Safety
/// `ptr` points at `len` bytes, or `len` is 0.
unsafe fn lent<'a>(ptr: *const u8, len: usize) -> &'a [u8] {
    if len == 0 {
        &[]
    } else {
        // SAFETY: the caller's.
        unsafe { slice::from_raw_parts(ptr, len) }
    }
}

/// Starts a server as the JSON text says. Null, and an error, when it cannot be started; nothing is then left running.
/// The error's status is 1 when the address cannot be bound, 2 when the configuration is wrong, 3 for the system.
///
/// # Safety
/// As `drover_rust.h` says.
#[no_mangle]
pub unsafe extern "C" fn drv_session_start(
    json: *const u8,
    len: usize,
    ring: extern "C" fn() -> i32,
    error: *mut Error,
) -> *mut Session {
    // SAFETY: C lends the text for the call.
    let json = unsafe { lent(json, len) };
    let started = shield(Err((3, "the engine failed".to_owned())), || start(json, ring));
    match started {
        Ok(session) => Box::into_raw(Box::new(session)),
        Err((kind, message)) => {
            // SAFETY: C gives a valid place.
            unsafe { Error::put(error, kind, message) };
            ptr::null_mut()
        }
    }
}

fn start(json: &[u8], ring: extern "C" fn() -> i32) -> Result<Session, (u16, String)> {
    let config: Config = sonic_rs::from_slice(json).map_err(|e| (2, format!("configuration: {e}")))?;
    let routes = config
        .routes
        .iter()
        .map(|r| RouteInfo::new(&r.pattern, r.handler))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| (2, e))?;
    let (not_found, limits, upload_path) = (config.not_found, config.limits.clone(), config.upload_path.clone());
    let (server, attachment) = Server::start(config, Some(Arc::new(RingByCall(ring)))).map_err(|e| match e {
        StartError::Listen(e) => (1, e),
        StartError::Config(e) => (2, e),
        StartError::System(e) => (3, e.to_string()),
    })?;
    let guard = CollisionGuard::new(limits.max_collisions);
    let worker = Worker::new(attachment);
    Ok(Session { server, worker, routes, not_found, limits, upload_path, guard, message: Vec::new() })
}

/// The port that the server listens on.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_port(session: *const Session) -> i32 {
    // SAFETY: the caller's.
    unsafe { i32::from((*session).server.address().port()) }
}

/// Stops accepting; connections end as their requests are answered.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_drain(session: *const Session) {
    // SAFETY: the caller's.
    shield((), || unsafe { (*session).server.drain() });
}

/// 1 when all connections have ended.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_drained(session: *const Session) -> i32 {
    // SAFETY: the caller's.
    unsafe { i32::from((*session).server.is_drained()) }
}

/// Ends the server at once.
///
/// # Safety
/// `session` is live, and not used after.
#[no_mangle]
pub unsafe extern "C" fn drv_session_free(session: *mut Session) {
    // SAFETY: the caller's; the pointer came from `drv_session_start`.
    shield((), || drop(unsafe { Box::from_raw(session) }));
}

/// Takes the next request into `cell`. The index of its handler, from 1, and whether its route has params; 0 when none waits.
///
/// # Safety
/// `session` and `cell` are live, `has_params` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_session_next(session: *mut Session, cell: *mut Cell, has_params: *mut i32) -> u32 {
    // SAFETY: the caller's; C uses both from one thread only.
    let (session, cell) = unsafe { (&mut *session, &mut *cell) };
    shield(0, || {
        let Some(job) = session.worker.next(cell.message_mut()) else { return 0 };
        let route = match cell.open(job) {
            Some(NOT_FOUND_ROUTE) => None,
            Some(route) => session.routes.get(route as usize),
            None => return 0,
        };
        // SAFETY: the caller's.
        unsafe { has_params.write(i32::from(route.is_some_and(RouteInfo::has_params))) };
        route.map_or(session.not_found, |r| r.handler)
    })
}

/// The handler of the request taken last has returned. How long it took, in nanoseconds.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_finished(session: *mut Session) -> u64 {
    // SAFETY: the caller's.
    let took = unsafe { (*session).worker.finished() };
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

/// Replies to the request of `cell` with what an R value says. 1 when done, 0 when the value has no reply of its own:
/// then nothing was sent.
///
/// # Safety
/// `session` and `cell` are live, `value` is protected.
#[no_mangle]
pub unsafe extern "C" fn drv_reply_value(session: *mut Session, cell: *mut Cell, value: crate::r::Sexp) -> i32 {
    // SAFETY: the caller's.
    let (session, cell) = unsafe { (&mut *session, &mut *cell) };
    shield(0, || {
        session.message.clear();
        if !reply::value(value, &mut session.message) {
            return 0;
        }
        session.send(cell);
        1
    })
}

/// Replies to the request of `cell` with an error of the server's making: `status`, and `detail` for the client. `headers` is a
/// named list of strings, as in a response, or NULL.
///
/// # Safety
/// `session` and `cell` are live, `headers` is protected.
#[no_mangle]
pub unsafe extern "C" fn drv_reply_failure(
    session: *mut Session,
    cell: *mut Cell,
    status: i32,
    detail: Str,
    headers: crate::r::Sexp,
) {
    // SAFETY: the caller's; the text is C's for the call.
    let (session, cell, detail) = unsafe { (&mut *session, &mut *cell, detail.as_bytes()) };
    shield((), || {
        session.message.clear();
        reply::failure(status, detail, headers, &mut session.message);
        session.send(cell);
    });
}

impl Session {
    fn send(&mut self, cell: &mut Cell) {
        if let Some(job) = cell.take_job() {
            self.worker.reply(job, &self.message);
            cell.close();
        }
    }
}

/// Sends what has been replied so far on its way, without waiting for the end of the batch.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_tell(session: *mut Session) {
    // SAFETY: the caller's.
    unsafe { (*session).worker.tell() };
}

/// Says that the main thread will sleep on the bell. 0 when there is work: do not sleep.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_doze(session: *mut Session) -> i32 {
    // SAFETY: the caller's.
    unsafe { i32::from((*session).worker.doze()) }
}

/// The main thread is awake again.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_awake(session: *const Session) {
    // SAFETY: the caller's.
    unsafe { (*session).worker.awake() };
}

/// The bell's descriptor.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_bell(session: *const Session) -> i32 {
    // SAFETY: the caller's.
    unsafe { (*session).worker.bell().as_raw_fd() }
}

/// Logs a line: level 0 news, 1 a client's fault, 2 a handler's or the server's. With a cell, the request is named first.
///
/// # Safety
/// `session` is live, `cell` is live or null; the text is C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_session_log(session: *const Session, cell: *const Cell, level: i32, text: Str) {
    // SAFETY: the caller's.
    let (session, cell, text) = unsafe { (&*session, cell.as_ref(), text.as_bytes()) };
    shield((), || {
        let level = match level {
            0 => Level::Info,
            1 => Level::Warn,
            _ => Level::Error,
        };
        let who = cell.map(Cell::describe).unwrap_or_default();
        session.server.log().line(level, &format!("{who}{}", String::from_utf8_lossy(text)));
    });
}
