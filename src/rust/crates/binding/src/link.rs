//! R's end of the link to the server, where it takes requests from and leaves replies: the same for the session that is
//! its own worker (`session`) and for a worker process (`process`). All functions are for the main thread.

use crate::node::Str;
use crate::reply;
use crate::request::{Cell, RouteInfo, Rules};
use crate::shield::shield;
use crate::strings::with_guard;
use engine::{AppConfig, Level, RouteConfig, NOT_FOUND_ROUTE};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::path::PathBuf;
use wire::command::Command;
use worker::Worker;

/// Where lines for the log go.
pub(crate) type LogLine = Box<dyn Fn(Level, &str)>;

/// A worker, what it must know of the app, and where its log lines go.
pub struct Link {
    pub(crate) worker: Worker,
    /// of each stream, by its number, how lines of the log about it begin
    pub(crate) streams: Vec<Box<str>>,
    pub(crate) rules: Rules,
    not_found: u32,
    /// tasks that were asked for
    pub(crate) tasks: u64,
    pub(crate) log: LogLine,
    ends_when_broken: bool,
}

/// What R's end of a link must know of an app.
pub(crate) struct Routes {
    routes: Vec<RouteInfo>,
    not_found: u32,
}

impl Routes {
    /// Of an app's configuration.
    ///
    /// # Errors
    /// Names the pattern that is wrong.
    pub(crate) fn new(app: &AppConfig) -> Result<Self, String> {
        let events = |r: &RouteConfig| r.websocket.as_ref().map_or(0, |websocket| websocket.events);
        let of_app = app.routes.iter().map(|r| RouteInfo::new(&r.pattern, r.handler, events(r)));
        let of_tasks = [app.tasks, app.tasks + 1].map(|handler| RouteInfo::new("/", handler, 0));
        let routes = of_app.chain(of_tasks).collect::<Result<_, _>>()?;
        Ok(Routes { routes, not_found: app.not_found })
    }
}

impl Link {
    pub(crate) fn new(
        worker: Worker,
        app: Routes,
        limits: admission::Limits,
        upload_path: PathBuf,
        log: LogLine,
    ) -> Self {
        let Routes { routes, not_found } = app;
        let rules = Rules { routes, limits, upload_path };
        Link { worker, streams: Vec::new(), rules, not_found, tasks: 0, log, ends_when_broken: false }
    }

    /// The same, in a process of its own.
    pub(crate) fn in_process(self) -> Self {
        Link { ends_when_broken: true, ..self }
    }

    /// A worker process whose memory has been written over ends; another takes its place.
    fn end_if_broken(&self) {
        if self.ends_when_broken && self.worker.is_broken() {
            (self.log)(Level::Error, "the worker's shared memory was written over: it ends");
            std::process::abort();
        }
    }

    fn send(&mut self, cell: &mut Cell, message: &mut [u8], file: Option<BorrowedFd<'_>>) {
        if let Some(job) = cell.take_job() {
            self.worker.reply_with(job, message, file, cell.terms());
            cell.close();
        }
    }
}

thread_local! {
    /// The message of a reply, between its making and its sending; then the memory of the next one.
    static MESSAGE: std::cell::Cell<Vec<u8>> = const { std::cell::Cell::new(Vec::new()) };
    /// The descriptor that goes with it.
    static FILE: std::cell::Cell<Option<RawFd>> = const { std::cell::Cell::new(None) };
}

/// Uses the message that was made last, up.
pub(crate) fn made_message<T>(use_it: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut message = MESSAGE.take();
    let used = use_it(&mut message);
    kept::empty(&mut message);
    MESSAGE.set(message);
    used
}

/// Makes the message of a reply. R objects may run R code while they are read (ALTREP), which may come back here, reply
/// to other requests, or end the server: so no link and no cell is borrowed meanwhile, and each message has its own
/// memory.
fn make_message<T>(make: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut message = MESSAGE.take();
    message.clear();
    let made = make(&mut message);
    MESSAGE.set(message);
    made
}

/// Ends a worker's half. Requests that it has not replied to stay so.
///
/// # Safety
/// `link` is live, and not used after.
#[no_mangle]
pub unsafe extern "C" fn drv_link_free(link: *mut Link) {
    // SAFETY: the caller's; all links are boxed.
    shield((), || drop(unsafe { Box::from_raw(link) }));
}

/// Set in what [`drv_link_next`] says of a request: its route has params.
const HAS_PARAMS: i32 = 1;
/// And: it is something that has happened on a WebSocket that is open.
const IS_EVENT: i32 = 2;

/// Takes the next request into `cell`. The index of its handler, from 1, and what is special about it; 0 when none
/// waits.
///
/// # Safety
/// `link` and `cell` are live, `traits` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_link_next(link: *mut Link, cell: *mut Cell, traits: *mut i32) -> u32 {
    // SAFETY: the caller's; C uses both from one thread only.
    let (link, cell) = unsafe { (&mut *link, &mut *cell) };
    shield(0, || {
        let Some(job) = link.worker.next(cell.message_mut()) else {
            link.end_if_broken();
            return 0;
        };
        with_guard(fields::guard::CollisionGuard::begin);
        let Some((number, is_event)) = cell.open(job) else { return 0 };
        let route = link.rules.routes.get(number as usize).filter(|_| number != NOT_FOUND_ROUTE);
        let has_params = if route.is_some_and(RouteInfo::has_params) { HAS_PARAMS } else { 0 };
        // SAFETY: the caller's.
        unsafe { traits.write(has_params | if is_event { IS_EVENT } else { 0 }) };
        route.map_or(link.not_found, |r| if is_event { r.events } else { r.handler })
    })
}

/// Takes a further request into `cell`, if the next one is of the same route as that of `first`, which has begun. 1
/// when there is one.
///
/// # Safety
/// `link`, `first` and `cell` are live, and the cells are two.
#[no_mangle]
pub unsafe extern "C" fn drv_link_next_of(link: *mut Link, first: *const Cell, cell: *mut Cell) -> i32 {
    // SAFETY: the caller's; C uses all of them from one thread only.
    let (link, first, cell) = unsafe { (&mut *link, &*first, &mut *cell) };
    shield(0, || {
        let Some(route) = first.route() else { return 0 };
        let Some(job) = link.worker.next_of(route, cell.message_mut()) else { return 0 };
        i32::from(cell.open(job).is_some())
    })
}

/// The handler of the request taken last has returned. How long it took, in nanoseconds.
///
/// # Safety
/// `link` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_link_finished(link: *mut Link) -> u64 {
    // SAFETY: the caller's.
    let took = unsafe { (*link).worker.finished() };
    u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)
}

/// Makes a reply of what an R value says, for `drv_reply_send`. 1 when done, 0 when the value has no reply of its own;
/// 2 when it is the head of a stream, for `drv_stream_open`. Reading `value` may run R code, but not jump.
///
/// # Safety
/// `value` is protected, and nothing changes it.
#[no_mangle]
pub unsafe extern "C" fn drv_reply_value(value: crate::r::Sexp) -> i32 {
    shield(0, || {
        let made = make_message(|message| reply::value(value, message));
        FILE.set(made.as_ref().and_then(|made| made.file));
        made.map_or(0, |made| if made.streams { 2 } else { 1 })
    })
}

/// Makes a reply of an error of the server's making, for `drv_reply_send`: `status`, and `detail` for the client.
/// `headers` is a named list of strings, as in a response, or NULL. Reading it may run R code, but not jump.
///
/// # Safety
/// `headers` is protected, and nothing changes it; `detail` stays for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_reply_failure(status: i32, detail: Str, headers: crate::r::Sexp) {
    // SAFETY: the caller's; the text is C's for the call.
    let detail = unsafe { detail.as_bytes() };
    shield((), || {
        make_message(|message| reply::failure(status, detail, headers, message));
        FILE.set(None);
    });
}

/// Replies to the request of `cell` with what was made last. 1 when an open file went with it.
///
/// # Safety
/// `link` and `cell` are live; no R code ran since the reply was made.
#[no_mangle]
pub unsafe extern "C" fn drv_reply_send(link: *mut Link, cell: *mut Cell) -> i32 {
    // SAFETY: the caller's.
    let (link, cell) = unsafe { (&mut *link, &mut *cell) };
    shield(0, || {
        // SAFETY: the response that it was made of has it open.
        let file = FILE.take().map(|fd| unsafe { BorrowedFd::borrow_raw(fd) });
        made_message(|message| link.send(cell, message, file));
        i32::from(file.is_some())
    })
}

/// Whether the reply that was made last is an error of the server's.
#[no_mangle]
pub extern "C" fn drv_reply_is_error() -> i32 {
    let message = MESSAGE.take();
    let is_error = wire::Reply::peek(&message).1 >= 500;
    MESSAGE.set(message);
    i32::from(is_error)
}

/// Says what the generator of random numbers was at when the handler of the request of `cell` began, for one that has
/// failed.
///
/// # Safety
/// `link` and `cell` are live; `seed` has `len` words.
#[no_mangle]
pub unsafe extern "C" fn drv_link_seed(link: *mut Link, cell: *const Cell, seed: *const i32, len: usize) {
    // SAFETY: the caller's.
    let (link, cell, seed) = unsafe { (&mut *link, &*cell, std::slice::from_raw_parts(seed, len)) };
    shield((), || {
        let Some(request) = cell.id() else { return };
        let words: Vec<u8> = seed.iter().flat_map(|word| word.to_ne_bytes()).collect();
        link.worker.command(&Command::Seed { request, seed: &words });
    });
}

/// Sends what has been replied so far on its way, without waiting for the end of the batch.
///
/// # Safety
/// `link` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_link_notify(link: *mut Link) {
    // SAFETY: the caller's.
    unsafe { (*link).worker.notify() };
}

/// Gives unused memory back to the system.
#[no_mangle]
pub extern "C" fn drv_give_back() {
    shm::give_back();
}

/// Says that the main thread will sleep on the bell. 0 when there is work: do not sleep.
///
/// # Safety
/// `link` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_link_doze(link: *mut Link) -> i32 {
    // SAFETY: the caller's.
    unsafe { i32::from((*link).worker.doze()) }
}

/// The main thread is awake again.
///
/// # Safety
/// `link` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_link_awake(link: *const Link) {
    // SAFETY: the caller's.
    unsafe { (*link).worker.awake() };
}

/// The bell's descriptor.
///
/// # Safety
/// `link` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_link_bell(link: *const Link) -> i32 {
    // SAFETY: the caller's.
    unsafe { (*link).worker.bell().as_raw_fd() }
}

/// Logs a line, at a level by its number: see [`Level::from_number`]. With a cell, the request is named first.
///
/// # Safety
/// `link` is live, `cell` is live or null; the text is C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_link_log(link: *const Link, cell: *const Cell, level: i32, text: Str) {
    // SAFETY: the caller's.
    let (link, cell, text) = unsafe { (&*link, cell.as_ref(), text.as_bytes()) };
    shield((), || {
        let text = String::from_utf8_lossy(text);
        let line = cell.and_then(|cell| cell.line(&text)).unwrap_or_else(|| engine::about_no_request(&text));
        (link.log)(Level::from_number(level.unsigned_abs()), &line);
    });
}

/// Logs a line that R has printed. With a cell, the request is named first.
///
/// # Safety
/// As for [`drv_link_log`].
#[no_mangle]
pub unsafe extern "C" fn drv_link_log_printed(link: *const Link, cell: *const Cell, to_stderr: i32, text: Str) {
    // SAFETY: the caller's.
    let (link, cell, text) = unsafe { (&*link, cell.as_ref(), text.as_bytes()) };
    shield((), || {
        let text = engine::printed(&String::from_utf8_lossy(text), if to_stderr == 0 { "stdout" } else { "stderr" });
        let line = cell.and_then(|cell| cell.line(&text)).unwrap_or_else(|| engine::about_no_request(&text));
        (link.log)(Level::Info, &line);
    });
}

/// What a status is called.
#[no_mangle]
pub extern "C" fn drv_status_phrase(status: i32) -> Str {
    Str::new(engine::status_phrase(u16::try_from(status).unwrap_or_default()).as_bytes())
}
