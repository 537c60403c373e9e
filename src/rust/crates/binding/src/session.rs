//! The server of an R session that is its own worker: the session's main thread runs the handlers, at the `link` that
//! comes with the server. All functions are for that thread.

use crate::console::console;
use crate::link::{Link, Routes};
use crate::natives::CNatives;
use crate::node::{Node, Str};
use crate::service::Answer;
use crate::shield::{borrowed, shield, Error};
use engine::{AppConfig, Gauge, PoolEvent, Runner, Seat, Server, Settings, StartError, WorkerStats};
use exchange::Handlers;
use native::Natives;
use shm::Ring;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};
use supervisor::{read_app, read_whole, WorkerState};
use worker::{Running, Worker};

/// A server whose worker is this thread.
pub struct Session {
    server: Server,
    /// where it listens, a line each
    urls: String,
    natives: Option<Arc<Natives>>,
    /// of the app; the worker, which each has one of, has the same number
    generation: u32,
    /// the app that takes over when the one before has nothing left to do
    next: Option<Next>,
    /// what the pool tells, without waiting for it
    news: Box<dyn FnMut() -> Option<PoolEvent>>,
    ring: extern "C" fn() -> i32,
    interrupt: extern "C" fn(),
    settings: Settings,
    work: Work,
    answer: Answer,
}

/// What the worker of a generation runs, and has run since it began.
struct Work {
    running: Arc<Running>,
    stats: Arc<WorkerStats>,
    since: Instant,
}

struct Next {
    routes: Routes,
    natives: Option<Arc<Natives>>,
}

/// A link for requests of this generation.
fn seat(
    server: &Server,
    generation: u32,
    routes: Routes,
    settings: &Settings,
    ring: extern "C" fn() -> i32,
    interrupt: extern "C" fn(),
) -> Result<(Link, Work), (u16, String)> {
    let stats = Arc::<WorkerStats>::default();
    let (end, worker) = shm::pair(Some(Arc::new(RingByCall(ring)))).map_err(|e| (3, e.to_string()))?;
    let upload_path = settings.upload_path.clone();
    let worker = Worker::new(worker).spooling(upload_path.clone());
    let running = worker.running();
    let (pool, log, metrics) = (server.pool(), server.log().clone(), server.metrics());
    let runner = Some(Runner::Thread(Box::new(move || interrupt())));
    if let Some(metrics) = metrics {
        let stats = stats.clone();
        let pid = i32::try_from(std::process::id()).unwrap_or(0);
        let since = Instant::now();
        let status = move || supervisor::quick_status(pid, generation, WorkerState::Idle, &stats, since);
        metrics.workers.watch(server.place(), move || vec![status()]);
    }
    pool.attach(Seat { worker: generation, generation, pool: 0, end, c_end: None, runner, stats: stats.clone() });
    let log = Box::new(move |level, text: &str| log.line(level, text));
    let work = Work { running, stats, since: Instant::now() };
    Ok((Link::new(worker, routes, settings.limits.clone(), upload_path, log), work))
}

impl Session {
    pub(crate) fn gauge(&self) -> Gauge {
        self.server.gauge()
    }

    /// Requests from now on are for another app, and wait until [`Session::take_over`].
    ///
    /// # Safety
    /// As for [`CNatives::ready`].
    unsafe fn renew(&mut self, json: &[u8], natives: &CNatives) -> Result<(), (u16, String)> {
        self.server.reload_tls();
        let app = in_one_process(read_app(json).map_err(|e| (2, format!("configuration: {e}")))?);
        let routes = Routes::new(&app).map_err(|e| (2, e))?;
        let log = self.server.log().clone();
        // SAFETY: the caller's.
        let natives = unsafe { natives.ready(self.settings.cpp_workers, move |level, text| log.line(level, text)) }
            .map_err(|e| (3, e.to_string()))?;
        let handlers = natives.clone().map(|natives| natives as Arc<dyn Handlers>);
        let pool = self.server.pool();
        pool.add_generation(self.generation + 1, &app, handlers).map_err(|e| (2, e))?;
        pool.switch_to(self.generation + 1);
        self.next = Some(Next { routes, natives });
        Ok(())
    }

    /// Whether the app before has nothing left to do.
    fn is_renewed(&mut self) -> bool {
        let old = self.generation;
        std::iter::from_fn(&mut self.news).any(|event| event == PoolEvent::Drained { generation: old, pool: 0 })
    }

    /// The link of the app that takes over, and whether the C handlers of the one before have ended.
    fn take_over(&mut self) -> Result<(Link, bool), (u16, String)> {
        let Next { routes, natives } = self.next.take().ok_or((3, "no app is to take over".to_owned()))?;
        self.generation += 1;
        let (link, work) = seat(&self.server, self.generation, routes, &self.settings, self.ring, self.interrupt)?;
        // a signal may come at any time, and looks at the one or the other
        drop(std::mem::replace(&mut self.work, work));
        let old = std::mem::replace(&mut self.natives, natives);
        Ok((link, old.is_none_or(|old| old.stop(PATIENCE))))
    }
}

/// How long C handlers that still run when the server has ended are waited for: those that ask whether they are
/// cancelled are through by then.
const PATIENCE: Duration = Duration::from_secs(1);

/// Wakes the session's main thread by a function of C's, which may decline.
struct RingByCall(extern "C" fn() -> i32);

impl Ring for RingByCall {
    fn ring(&self) -> bool {
        (self.0)() != 0
    }
}

/// Starts a server as the JSON text says, and makes its link. Null, and an error, when it cannot be started; nothing is
/// then left running. The error's status is 1 when the address cannot be bound, 2 when the configuration is wrong, 3
/// for the system.
///
/// # Safety
/// As `drover_rust.h` says.
#[no_mangle]
pub unsafe extern "C" fn drv_session_start(
    json: *const u8,
    len: usize,
    natives: CNatives,
    ring: extern "C" fn() -> i32,
    interrupt: extern "C" fn(),
    link: *mut *mut Link,
    error: *mut Error,
) -> *mut Session {
    // SAFETY: C lends the text for the call.
    let json = unsafe { borrowed(json, len) };
    // SAFETY: C lends the descriptions, and keeps what they point at until `drv_session_free` has answered 1.
    let started =
        shield(Err((3, "the engine failed".to_owned())), || unsafe { start(json, &natives, ring, interrupt) });
    match started {
        Ok((session, its_desk)) => {
            // SAFETY: C gives a valid place.
            unsafe { link.write(Box::into_raw(Box::new(its_desk))) };
            Box::into_raw(Box::new(session))
        }
        Err((kind, message)) => {
            // SAFETY: C gives a valid place.
            unsafe { Error::put(error, kind, message) };
            ptr::null_mut()
        }
    }
}

const FIRST: u32 = 1;

/// The app as a session serves it, which has no pools of workers.
fn in_one_process(app: AppConfig) -> AppConfig {
    AppConfig { pools: Vec::new(), ..app }
}

/// # Safety
/// As for [`CNatives::ready`].
unsafe fn start(
    json: &[u8],
    natives: &CNatives,
    ring: extern "C" fn() -> i32,
    interrupt: extern "C" fn(),
) -> Result<(Session, Link), (u16, String)> {
    let (mut settings, app) = read_whole(json).map_err(|e| (2, format!("configuration: {e}")))?;
    let app = in_one_process(app);
    settings.console = console();
    let routes = Routes::new(&app).map_err(|e| (2, e))?;
    let threads = settings.cpp_workers;
    let kept = settings.clone();
    let server = Server::bind(settings).map_err(|e| match e {
        StartError::Listen(e) => (1, e),
        StartError::Config(e) => (2, e),
        StartError::System(e) => (3, e.to_string()),
    })?;
    let pool = server.pool();
    let log = server.log().clone();
    // SAFETY: the caller's.
    let natives =
        unsafe { natives.ready(threads, move |level, text| log.line(level, text)) }.map_err(|e| (3, e.to_string()))?;
    let handlers = natives.clone().map(|natives| natives as Arc<dyn Handlers>);
    pool.add_generation(FIRST, &app, handlers).map_err(|e| (2, e))?;
    let mut events = pool.events();
    let news = Box::new(move || events.as_mut().and_then(|events| events.try_recv().ok()));
    let (link, work) = seat(&server, FIRST, routes, &kept, ring, interrupt)?;
    pool.switch_to(FIRST);
    server.listen().map_err(|e| (1, e))?;
    let session = Session {
        urls: crate::service::places(&server.urls(), &server.apart()),
        server,
        natives,
        generation: FIRST,
        next: None,
        news,
        ring,
        interrupt,
        settings: kept,
        work,
        answer: Answer::default(),
    };
    Ok((session, link))
}

/// Gives requests from now on to another app: they wait until [`drv_session_take_over`]. 0, and an error, when it is
/// wrong.
///
/// # Safety
/// `session` is live; otherwise as for [`drv_session_start`].
#[no_mangle]
pub unsafe extern "C" fn drv_session_renew(
    session: *mut Session,
    json: *const u8,
    len: usize,
    natives: CNatives,
    error: *mut Error,
) -> i32 {
    // SAFETY: C lends the text for the call.
    let (session, json) = unsafe { (&mut *session, borrowed(json, len)) };
    // SAFETY: C lends the descriptions, and keeps what they point at until their handlers have ended.
    let renewed = shield(Err((3, "the engine failed".to_owned())), || unsafe { session.renew(json, &natives) });
    if let Err((kind, message)) = &renewed {
        // SAFETY: C gives a valid place.
        unsafe { Error::put(error, *kind, message.clone()) };
    }
    i32::from(renewed.is_ok())
}

/// 1 when the app before has nothing left to do. With `force` its requests are given up: they get an error.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_is_renewed(session: *mut Session, force: i32) -> i32 {
    // SAFETY: the caller's.
    let session = unsafe { &mut *session };
    shield(1, || {
        if force != 0 {
            session.server.pool().gone(session.generation);
        }
        i32::from(session.is_renewed())
    })
}

/// The link of the app that takes over, after that of the one before was freed. `ended`: whether the C handlers of that
/// one have. Null, and an error, when the system lacks something.
///
/// # Safety
/// `session` is live; `ended` and `error` are valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_session_take_over(session: *mut Session, ended: *mut i32, error: *mut Error) -> *mut Link {
    // SAFETY: the caller's.
    let session = unsafe { &mut *session };
    match shield(Err((3, "the engine failed".to_owned())), || session.take_over()) {
        Ok((link, has_ended)) => {
            // SAFETY: the caller's.
            unsafe { ended.write(i32::from(has_ended)) };
            Box::into_raw(Box::new(link))
        }
        Err((kind, message)) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, kind, message) };
            ptr::null_mut()
        }
    }
}

/// Where the server listens, as it is reached from this machine: a line each.
///
/// # Safety
/// `session` is live. The text lives as long.
#[no_mangle]
pub unsafe extern "C" fn drv_session_urls(session: *const Session) -> Str {
    // SAFETY: the caller's.
    Str::new(unsafe { (*session).urls.as_bytes() })
}

/// Whether the request whose handler runs is the one that the server wants interrupted. For a signal handler.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_is_interrupted(session: *const Session) -> i32 {
    // SAFETY: the caller's. Only atomics are read.
    i32::from(unsafe { (*session).work.running.is_to_be_interrupted() })
}

/// Has the log file opened again, after it was moved.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_reopens_log(session: *const Session) {
    // SAFETY: the caller's.
    shield((), || unsafe { (*session).server.logs().iter().for_each(engine::Log::reopen) });
}

/// The session as the worker that it is: a data frame of one row.
///
/// # Safety
/// `session` is live. The node lives until the next call.
#[no_mangle]
pub unsafe extern "C" fn drv_session_status(session: *mut Session) -> *const Node {
    // SAFETY: the caller's.
    let Session { server, generation, work, answer, .. } = unsafe { &mut *session };
    let pid = i32::try_from(std::process::id()).unwrap_or(0);
    shield(ptr::null(), || {
        let status = supervisor::worker_status(pid, *generation, WorkerState::Idle, &work.stats, work.since);
        answer.status(&server.gauge().snapshot(vec![status]).workers)
    })
}

/// 1 when it counts collections of R's garbage.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_wants_heap(session: *const Session) -> i32 {
    // SAFETY: the caller's.
    shield(0, || i32::from(unsafe { (*session).server.metrics() }.is_some()))
}

/// Counts collections of R's garbage, and how many microseconds they took; and how many bytes are allocated now.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_heap(session: *const Session, collections: u32, micros: u32, bytes: u64) {
    // SAFETY: the caller's.
    let Session { server, work, .. } = unsafe { &*session };
    shield((), || {
        work.stats.heap.store(bytes, Ordering::Relaxed);
        if let Some(metrics) = server.metrics() {
            metrics.workers.collected(collections, micros);
        }
    });
}

/// From now on `/readyz` says that no more requests should come.
///
/// # Safety
/// `session` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_session_leave(session: *const Session) {
    // SAFETY: the caller's.
    shield((), || unsafe { (*session).server.leave() });
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
        let Session { server, natives, .. } = *unsafe { Box::from_raw(session) };
        drop(server);
        i32::from(natives.is_none_or(|natives| natives.stop(PATIENCE)))
    })
}
