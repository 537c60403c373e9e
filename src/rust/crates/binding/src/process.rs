//! A worker process's side of its control channel: it says that it is ready, is told to stop, and its log lines go that
//! way; and the start of its C handlers, on threads that no fork has to live with: they are the last thing before it is
//! ready. Neighbours: `link` (requests and replies), `zygote` (which makes it), `natives` (the C handlers),
//! `src/process.c`.

use crate::link::{Link, Routes};
use crate::natives::CNatives;
use crate::node::Str;
use crate::shield::{shield, Error};
use crate::worker_settings::WorkerSettings;
use engine::{AppConfig, Format, Level, Runs};
use exchange::Handlers;
use shm::{Channel, Received, WorkerEnd, FDS};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::control::{Inspection, WorkerNews, WorkerOrder};
use worker::{CLink, CRest, CRoute, Running, Worker};

/// The end of the channel, and which request runs.
pub struct Process {
    channel: Arc<Channel>,
    running: Arc<Running>,
    message: Vec<u8>,
    log: Log,
    c: Option<CLinkParts>,
    /// of the link of its C handlers, once that is served, and when they were first asked to come to an end
    rest: Option<(CRest, Option<Instant>)>,
    /// how long that is waited for
    graceful: Duration,
    /// what R prints is for the log
    logs_what_is_printed: bool,
    /// collections of R's garbage are counted
    counts: bool,
}

/// Where lines go, from any thread.
type Log = Arc<dyn Fn(Level, &str) + Send + Sync>;

/// What the link of its C handlers is made of when they are ready.
struct CLinkParts {
    end: WorkerEnd,
    routes: Vec<Option<CRoute>>,
    folder: PathBuf,
    threads: usize,
    debug: bool,
}

impl CLinkParts {
    fn new(link: [OwnedFd; FDS], app: &AppConfig, settings: &WorkerSettings) -> io::Result<Self> {
        let route = |r: &engine::RouteConfig| {
            let seconds = r.timeout.unwrap_or(settings.limits.timeout);
            let timeout = (seconds > 0.0).then(|| Duration::from_secs_f64(seconds));
            (r.runs != Runs::R).then_some(CRoute { handler: r.handler, inline: r.runs == Runs::Inline, timeout })
        };
        Ok(CLinkParts {
            end: WorkerEnd::attach(link)?,
            routes: app.routes.iter().map(route).collect(),
            folder: settings.upload_path.clone(),
            threads: settings.cpp_workers,
            debug: settings.debug,
        })
    }
}

impl Process {
    /// A worker with this end of its control channel and the descriptors of these links, and R's end of the first. The
    /// second link is that of C handlers: it is served from [`drv_process_serve_c`] on.
    ///
    /// # Errors
    /// When the descriptors are not those of a link, or the app's patterns are wrong.
    pub(crate) fn new(
        control: OwnedFd,
        link: [OwnedFd; FDS],
        c_link: Option<[OwnedFd; FDS]>,
        app: &AppConfig,
        settings: &WorkerSettings,
    ) -> io::Result<(Process, Link)> {
        let channel = Arc::new(Channel::from(control));
        let routes = Routes::new(app).map_err(io::Error::other)?;
        let worker = Worker::new(WorkerEnd::attach(link)?).spooling(settings.upload_path.clone());
        let running = worker.running();
        let log = log_through(channel.clone());
        let graceful = Duration::from_secs_f64(settings.limits.graceful_timeout);
        let c = c_link.map(|link| CLinkParts::new(link, app, settings)).transpose()?;
        let lines = log.clone();
        let lines = Box::new(move |level, text: &str| lines(level, text));
        let link = Link::new(worker, routes, settings.limits.clone(), settings.upload_path.clone(), lines).in_process();
        let logs_what_is_printed = settings.log_format == Format::Json;
        let counts = settings.metrics;
        let process = Process {
            channel,
            running,
            message: Vec::new(),
            log,
            c,
            rest: None,
            graceful,
            logs_what_is_printed,
            counts,
        };
        Ok((process, link))
    }

    /// Starts the thread of the second link, if there is one. It has the signal mask of the caller.
    ///
    /// # Safety
    /// As for [`CNatives::ready`].
    unsafe fn serve_c(&mut self, natives: &CNatives) -> io::Result<()> {
        let Some(CLinkParts { end, routes, folder, threads, debug }) = self.c.take() else { return Ok(()) };
        let log = self.log.clone();
        // SAFETY: the caller's.
        let natives = unsafe { natives.ready(threads, move |level, text| log(level, text)) }?;
        let handlers: Arc<dyn Handlers> = natives.ok_or_else(|| io::Error::other("the app has no C handlers"))?;
        let log = self.log.clone();
        let link =
            CLink::new(end, routes, handlers, Arc::new(move |level, line: &str| log(Level::from_number(level), line)))
                .spooling(folder)
                .debugging(debug);
        self.rest = Some((link.rest(), None));
        let log = self.log.clone();
        std::thread::Builder::new().name("drover-c-link".into()).spawn(move || {
            link.run();
            log(Level::Error, "the worker's shared memory was written over: it ends");
            std::process::abort();
        })?;
        Ok(())
    }

    fn send(&self, news: WorkerNews<'_>) {
        let mut message = Vec::new();
        news.encode(&mut message);
        // whoever does not listen has gone, and then so will this process
        let _ = self.channel.send(&message, &[]);
    }

    /// The same for news of which none may be missing: waits until there is room. `false` when there is none.
    fn send_all(&self, news: WorkerNews<'_>) -> bool {
        let mut message = Vec::new();
        news.encode(&mut message);
        let began = Instant::now();
        loop {
            match self.channel.send(&message, &[]) {
                Ok(()) => return true,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && began.elapsed() < GIVE_UP => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(_) => return false,
            }
        }
    }
}

/// How long a part of a report waits for the server to read, which it does at once unless something is wrong.
const GIVE_UP: Duration = Duration::from_secs(2);

/// Sends lines to the server's log. What it cannot take now is counted and told with the next line: a handler never
/// waits for the log.
fn log_through(channel: Arc<Channel>) -> Log {
    let dropped = AtomicU64::new(0);
    Arc::new(move |level, text| {
        let missing = dropped.swap(0, Ordering::Relaxed);
        let text = match missing {
            0 => text.to_owned(),
            n => engine::with_lost(text, n),
        };
        let mut message = Vec::new();
        WorkerNews::Log { level: level.number(), text: &text }.encode(&mut message);
        if channel.send(&message, &[]).is_err() {
            dropped.fetch_add(missing + 1, Ordering::Relaxed);
        }
    })
}

/// 1 when what R prints is for the log.
///
/// # Safety
/// `process` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_process_logs_what_is_printed(process: *const Process) -> i32 {
    // SAFETY: the caller's.
    i32::from(unsafe { (*process).logs_what_is_printed })
}

/// The control channel's descriptor.
///
/// # Safety
/// `process` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_process_fd(process: *const Process) -> i32 {
    // SAFETY: the caller's.
    unsafe { (*process).channel.as_raw_fd() }
}

/// Has its C handlers, if the app has some, served from now on, by threads that have the signal mask of the caller. 0,
/// and an error, when that cannot be.
///
/// # Safety
/// `process` is live; C lends the descriptions for the call, and keeps what they point at for the life of the process;
/// `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_process_serve_c(process: *mut Process, natives: CNatives, error: *mut Error) -> i32 {
    // SAFETY: the caller's.
    let process = unsafe { &mut *process };
    // SAFETY: the caller's.
    let done = shield(Err(io::Error::other("the engine failed")), || unsafe { process.serve_c(&natives) });
    if let Err(e) = &done {
        // SAFETY: the caller's.
        unsafe { Error::put(error, 0, format!("C handlers cannot be served: {e}")) };
    }
    i32::from(done.is_ok())
}

/// Handlers in C that run are to come to their end, and none is to begin: 1 when none runs any more, or they have been
/// waited for long enough.
///
/// # Safety
/// `process` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_process_c_has_ended(process: *mut Process) -> i32 {
    // SAFETY: the caller's.
    let process = unsafe { &mut *process };
    shield(1, || match &mut process.rest {
        None => 1,
        Some((rest, since)) => {
            i32::from(rest.stop() || since.get_or_insert_with(Instant::now).elapsed() >= process.graceful)
        }
    })
}

/// Tells the server that this worker takes requests.
///
/// # Safety
/// `process` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_process_report_ready(process: *const Process) {
    // SAFETY: the caller's.
    shield((), || unsafe { (*process).send(WorkerNews::Ready) });
}

/// Tells the server that this worker cannot start, and why.
///
/// # Safety
/// `process` is live; C lends the text for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_process_report_failed(process: *const Process, why: Str) {
    // SAFETY: the caller's.
    let (process, why) = unsafe { (&*process, why.as_bytes()) };
    shield((), || process.send(WorkerNews::StartFailed(&String::from_utf8_lossy(why))));
}

/// 1 when the server counts collections of R's garbage.
///
/// # Safety
/// `process` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_process_wants_heap(process: *const Process) -> i32 {
    // SAFETY: the caller's.
    i32::from(unsafe { (*process).counts })
}

/// Tells of collections of R's garbage since this was told last, how many microseconds they took, and how many bytes
/// are allocated. 0 when the server cannot take it now.
///
/// # Safety
/// `process` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_process_report_heap(
    process: *const Process,
    collections: u32,
    micros: u32,
    bytes: u64,
) -> i32 {
    // SAFETY: the caller's.
    let process = unsafe { &*process };
    shield(0, || {
        let mut message = Vec::new();
        WorkerNews::Heap { collections, micros, bytes }.encode(&mut message);
        i32::from(process.channel.send(&message, &[]).is_ok())
    })
}

/// Reports on an inspection, or, if it has failed, why. 0 when the server does not take it.
///
/// # Safety
/// `process` is live; C lends the text for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_process_report(process: *const Process, number: u32, text: Str, failed: i32) -> i32 {
    // SAFETY: the caller's.
    let (process, text) = unsafe { (&*process, text.as_bytes()) };
    shield(0, || {
        if failed != 0 {
            return i32::from(process.send_all(WorkerNews::NoReport { number, why: &String::from_utf8_lossy(text) }));
        }
        // words before the piece take room as well
        let pieces = text.chunks(Channel::LONGEST - 64);
        let mut sent = pieces.map(|piece| process.send_all(WorkerNews::Report { number, piece, last: false }));
        i32::from(sent.all(|sent| sent) && process.send_all(WorkerNews::Report { number, piece: b"", last: true }))
    })
}

/// What the server wants: 0 nothing; 1 that this worker stops, and `asked` is whether the server ends with it; 2
/// nothing ever again, as it has ended; 3 that it looks at itself, and `asked` is which inspection, what it is about
/// (1 stacks, 2 objects), its milliseconds, and microseconds between samples.
///
/// # Safety
/// `process` is live, `asked` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_process_order(process: *mut Process, asked: *mut [u32; 4]) -> i32 {
    // SAFETY: the caller's.
    let (process, asked) = unsafe { (&mut *process, &mut *asked) };
    shield(2, || match process.channel.receive(&mut process.message) {
        Ok(Received::Nothing) => 0,
        Ok(Received::Message(..)) => match WorkerOrder::decode(&process.message) {
            Ok(WorkerOrder::Stop { last }) => {
                asked[0] = last.into();
                1
            }
            Ok(WorkerOrder::Inspect { number, what }) => {
                *asked = match what {
                    Inspection::Stacks { millis, interval_us } => [number, 1, millis, interval_us],
                    Inspection::Objects { millis } => [number, 2, millis, 0],
                };
                3
            }
            Err(_) => 0,
        },
        Ok(Received::End) | Err(_) => 2,
    })
}

/// Whether the request whose handler runs is the one that the server wants interrupted. For a signal handler.
///
/// # Safety
/// `process` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_process_is_interrupted(process: *const Process) -> i32 {
    // SAFETY: the caller's. Only atomics are read.
    i32::from(unsafe { (*process).running.is_to_be_interrupted() })
}
