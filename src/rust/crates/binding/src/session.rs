//! The server of an R session that is its own worker: the session's main thread runs the handlers, at the `desk` that comes
//! with the server. All functions are for that thread.

use crate::desk::{Desk, Routes};
use crate::natives::CNatives;
use crate::shield::{lent, shield, Error};
use engine::{AppConfig, Seat, Server, Settings, StartError};
use exchange::Handlers;
use native::Natives;
use serde::Deserialize;
use shm::Ring;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;
use worker::Worker;

/// A server whose worker is this thread.
pub struct Session {
    server: Server,
    natives: Option<Arc<Natives>>,
}

/// How long C handlers that still run when the server has ended are waited for: those that ask whether they are cancelled are
/// through by then.
const PATIENCE: Duration = Duration::from_secs(1);

/// Wakes the session's main thread by a function of C's, which may decline.
struct RingByCall(extern "C" fn() -> i32);

impl Ring for RingByCall {
    fn ring(&self) -> bool {
        (self.0)() != 0
    }
}

/// Starts a server as the JSON text says, and makes its desk. Null, and an error, when it cannot be started; nothing is then left
/// running.
/// The error's status is 1 when the address cannot be bound, 2 when the configuration is wrong, 3 for the system.
///
/// # Safety
/// As `drover_rust.h` says.
#[no_mangle]
pub unsafe extern "C" fn drv_session_start(
    json: *const u8,
    len: usize,
    natives: CNatives,
    ring: extern "C" fn() -> i32,
    desk: *mut *mut Desk,
    error: *mut Error,
) -> *mut Session {
    // SAFETY: C lends the text for the call.
    let json = unsafe { lent(json, len) };
    // SAFETY: C lends the descriptions, and keeps what they point at until `drv_session_free` has answered 1.
    let started = shield(Err((3, "the engine failed".to_owned())), || unsafe { start(json, &natives, ring) });
    match started {
        Ok((session, its_desk)) => {
            // SAFETY: C gives a valid place.
            unsafe { desk.write(Box::into_raw(Box::new(its_desk))) };
            Box::into_raw(Box::new(session))
        }
        Err((kind, message)) => {
            // SAFETY: C gives a valid place.
            unsafe { Error::put(error, kind, message) };
            ptr::null_mut()
        }
    }
}

/// What R says of a server and its app.
#[derive(Deserialize)]
struct Start {
    settings: Settings,
    app: AppConfig,
}

/// The one generation and the one worker that a session has.
const ONLY: u32 = 1;

/// # Safety
/// As for [`CNatives::ready`].
unsafe fn start(
    json: &[u8],
    natives: &CNatives,
    ring: extern "C" fn() -> i32,
) -> Result<(Session, Desk), (u16, String)> {
    let Start { settings, app } = sonic_rs::from_slice(json).map_err(|e| (2, format!("configuration: {e}")))?;
    let routes = Routes::new(&app.routes, app.not_found).map_err(|e| (2, e))?;
    let threads = settings.cpp_workers;
    let (limits, upload_path) = (settings.limits.clone(), settings.upload_path.clone());
    let server = Server::bind(settings).map_err(|e| match e {
        StartError::Listen(e) => (1, e),
        StartError::Config(e) => (2, e),
        StartError::System(e) => (3, e.to_string()),
    })?;
    let system = |e: std::io::Error| (3, e.to_string());
    let pool = server.pool();
    let log = server.log().clone();
    // SAFETY: the caller's.
    let natives = unsafe { natives.ready(threads, move |level, text| log.line(level, text)) }.map_err(system)?;
    let handlers = natives.clone().map(|natives| natives as Arc<dyn Handlers>);
    pool.add_generation(ONLY, &app, handlers).map_err(|e| (2, e))?;
    let (end, worker) = shm::pair(Some(Arc::new(RingByCall(ring)))).map_err(system)?;
    pool.attach(Seat { worker: ONLY, generation: ONLY, end, c_end: None, process: None, stats: Arc::default() });
    pool.switch_to(ONLY);
    server.listen().map_err(|e| (1, format!("cannot listen on {}: {e}", server.address())))?;
    let log = server.log().clone();
    let log = Box::new(move |level, text: &str| log.line(level, text));
    Ok((
        Session { server, natives },
        Desk::new(Worker::new(worker).spooling(upload_path.clone()), routes, limits, upload_path, log),
    ))
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

/// Ends the server at once. 1 when no C handler runs any more, so that what belongs to them may go.
///
/// # Safety
/// `session` is live, and not used after.
#[no_mangle]
pub unsafe extern "C" fn drv_session_free(session: *mut Session) -> i32 {
    shield(0, || {
        // SAFETY: the caller's; the pointer came from `drv_session_start`.
        let Session { server, natives } = *unsafe { Box::from_raw(session) };
        drop(server);
        i32::from(natives.is_none_or(|natives| natives.stop(PATIENCE)))
    })
}
