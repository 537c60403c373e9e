//! The server of a session that runs no handlers itself: processes do, which the supervisor looks after. All functions
//! are for the main thread; the supervisor's thread calls `wake` only. Neighbours: `src/service.c`,
//! R/serve-processes.R.

use crate::console::console;
use crate::node::{Kind, Node, Str};
use crate::shield::{shield, Error};
use engine::{Gauge, StartError};
use serde::Deserialize;
use std::ffi::OsString;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;
use supervisor::{read_options, read_settings, Event, Failure, Service, Source, WorkerStatus};

/// A service, and what C reads of its last answer.
pub struct RunningService {
    service: Service,
    /// where it listens, a line each
    urls: String,
    answer: Answer,
}

impl RunningService {
    pub(crate) fn gauge(&self) -> &Gauge {
        self.service.gauge()
    }

    /// Has something done with its WebSockets.
    pub(crate) fn execute(&self, command: Vec<u8>) -> Option<Vec<u8>> {
        self.service.execute(command)
    }
}

/// `drv_source` in `drover_rust.h`: a zygote when `pid` is not 0, a program otherwise.
#[repr(C)]
pub struct CSource {
    fd: i32,
    pid: i32,
    program: Str,
}

/// A program, as R describes it.
#[derive(Deserialize)]
struct Program {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl CSource {
    /// # Safety
    /// The descriptor is open and has no other owner, the text is valid.
    unsafe fn take(&self) -> Result<Source, String> {
        if self.pid != 0 {
            // SAFETY: the caller's.
            return Ok(Source::Zygote { channel: unsafe { OwnedFd::from_raw_fd(self.fd) }, pid: self.pid });
        }
        // SAFETY: the caller's.
        let program: Program = sonic_rs::from_slice(unsafe { self.program.as_bytes() }).map_err(|e| e.to_string())?;
        Ok(Source::Command {
            program: program.program.into(),
            args: program.args.into_iter().map(OsString::from).collect(),
            env: program.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        })
    }
}

/// Starts a service as the JSON texts say. Null, and an error, when it cannot be started; nothing is then left running.
/// The error's status is 1 when the address cannot be bound, 2 when the configuration is wrong, 3 for the system.
///
/// # Safety
/// As `drover_rust.h` says; the source is taken.
#[no_mangle]
pub unsafe extern "C" fn drv_service_start(
    settings: Str,
    options: Str,
    source: *const CSource,
    wake: extern "C" fn(),
    error: *mut Error,
) -> *mut RunningService {
    // SAFETY: C lends the texts for the call.
    let (settings, options) = unsafe { (settings.as_bytes(), options.as_bytes()) };
    let started = shield(Err((3, "the engine failed".to_owned())), || {
        // SAFETY: the caller's.
        let source = unsafe { (*source).take() }.map_err(|e| (2, e))?;
        let mut settings = read_settings(settings).map_err(|e| (2, format!("configuration: {e}")))?;
        settings.console = console();
        let options = read_options(options).map_err(|e| (2, format!("configuration: {e}")))?;
        Service::start(settings, options, source, Arc::new(move || wake())).map_err(|e| match e {
            StartError::Listen(e) => (1, e),
            StartError::Config(e) => (2, e),
            StartError::System(e) => (3, e.to_string()),
        })
    });
    match started {
        Ok(service) => {
            let urls = places(service.urls(), service.apart());
            Box::into_raw(Box::new(RunningService { service, urls, answer: Answer::default() }))
        }
        Err((kind, message)) => {
            // SAFETY: C gives a valid place.
            unsafe { Error::put(error, kind, message) };
            ptr::null_mut()
        }
    }
}

/// Where a server listens, as R reads it: a line each, and those for others than clients behind the names of settings.
pub(crate) fn places(urls: &[String], apart: &[(&'static str, String)]) -> String {
    let apart = apart.iter().map(|(name, place)| format!("{name} {place}"));
    urls.iter().cloned().chain(apart).collect::<Vec<_>>().join("\n")
}

/// Ends everything at once, and waits for that.
///
/// # Safety
/// `running` is live, and not used after.
#[no_mangle]
pub unsafe extern "C" fn drv_service_free(running: *mut RunningService) {
    // SAFETY: the caller's.
    shield((), || drop(unsafe { Box::from_raw(running) }));
}

/// Where the server listens, as it is reached from this machine: a line each.
///
/// # Safety
/// `running` is live. The text lives as long.
#[no_mangle]
pub unsafe extern "C" fn drv_service_urls(running: *const RunningService) -> Str {
    // SAFETY: the caller's.
    Str::new(unsafe { (*running).urls.as_bytes() })
}

/// The next event, without waiting: a list of `what` (a string), `text` (a string or NA) and `numbers`. Null when there
/// is none.
///
/// # Safety
/// `running` is live. The node lives until the service is asked again.
#[no_mangle]
pub unsafe extern "C" fn drv_service_event(running: *mut RunningService) -> *const Node {
    // SAFETY: the caller's.
    let running = unsafe { &mut *running };
    shield(ptr::null(), || match running.service.next_event(Duration::ZERO) {
        Some(event) => running.answer.event(event),
        None => ptr::null(),
    })
}

/// The workers: a data frame.
///
/// # Safety
/// `running` is live. The node lives until the service is asked again.
#[no_mangle]
pub unsafe extern "C" fn drv_service_status(running: *mut RunningService) -> *const Node {
    // SAFETY: the caller's.
    let running = unsafe { &mut *running };
    shield(ptr::null(), || running.answer.status(&running.service.snapshot().workers))
}

/// The same data frame without rows, for when nothing runs.
///
/// # Safety
/// For the main thread only. The node lives until the next call.
#[no_mangle]
pub unsafe extern "C" fn drv_service_no_status() -> *const Node {
    thread_local! {
        static NONE: std::cell::RefCell<Answer> = std::cell::RefCell::default();
    }
    shield(ptr::null(), || NONE.with(|none| none.borrow_mut().status(&[])))
}

/// Loads the app anew (`again` 0), or gives the present generation another zygote (1). 0, and an error, when the source
/// is wrong.
///
/// # Safety
/// `running` is live; the source is taken; `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_service_source(
    running: *const RunningService,
    source: *const CSource,
    again: i32,
    error: *mut Error,
) -> i32 {
    // SAFETY: the caller's.
    let service = unsafe { &(*running).service };
    let done = shield(Err("the engine failed".to_owned()), || {
        // SAFETY: the caller's.
        let source = unsafe { (*source).take() }?;
        if again == 0 {
            service.reload(source);
        } else {
            service.adopt_zygote(source);
        }
        Ok(())
    });
    // SAFETY: the caller's.
    unsafe { told(done, error) }
}

/// 1, or 0 and an error.
///
/// # Safety
/// `error` is valid for writing.
unsafe fn told(done: Result<(), String>, error: *mut Error) -> i32 {
    let is_done = i32::from(done.is_ok());
    if let Err(e) = done {
        // SAFETY: the caller's.
        unsafe { Error::put(error, 0, e) };
    }
    is_done
}

/// Other bounds for the number of workers in a pool, or in that of routes without one, whose name is empty. 0, and an
/// error, when they are wrong.
///
/// # Safety
/// `running` is live; C lends the name for the call; `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_service_rescale(
    running: *const RunningService,
    n_min: i32,
    n_max: i32,
    pool: Str,
    error: *mut Error,
) -> i32 {
    let count = |n| usize::try_from(n).unwrap_or(0);
    // SAFETY: the caller's.
    let done = shield(Err("the engine failed".to_owned()), || unsafe {
        let pool = String::from_utf8_lossy(pool.as_bytes());
        (*running).service.rescale(&pool, count(n_min), count(n_max))
    });
    // SAFETY: the caller's.
    unsafe { told(done, error) }
}

/// Has the log file opened again, after it was moved.
///
/// # Safety
/// `running` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_service_reopens_log(running: *const RunningService) {
    // SAFETY: the caller's.
    shield((), || unsafe { (*running).service.reopen_log() });
}

/// Begins the shutdown: graceful within `graceful_timeout` seconds, or at once when called again.
///
/// # Safety
/// `running` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_service_stop(running: *const RunningService, graceful_timeout: f64) {
    // SAFETY: the caller's.
    shield((), || unsafe { (*running).service.stop(Some(graceful_timeout)) });
}

/// The storage of an answer.
#[derive(Default)]
pub(crate) struct Answer {
    text: String,
    numbers: Vec<f64>,
    ints: [Vec<i32>; 3],
    doubles: [Vec<f64>; 6],
    strings: Vec<Str>,
    nodes: Vec<Node>,
    names: Vec<Str>,
    root: Node,
    /// what each worker runs
    runs: Vec<Option<String>>,
}

impl Answer {
    fn list(&mut self, fields: &[(&'static str, Node)], data_frame: i64) -> *const Node {
        self.nodes = fields.iter().map(|(_, node)| *node).collect();
        self.names = fields.iter().map(|(name, _)| Str::new(name.as_bytes())).collect();
        self.root = Node { data_frame, ..Node::vector(Kind::List, &self.nodes).named(&self.names) };
        ptr::from_ref(&self.root)
    }

    fn event(&mut self, event: Event) -> *const Node {
        let (what, text, numbers) = match event {
            Event::Loaded { generation, seconds, parts } => {
                let counts = [parts.routes, parts.cpp_routes, parts.mounts, parts.ws_routes].map(|n| n as f64);
                ("loaded", None, [&[f64::from(generation), seconds], &counts[..]].concat())
            }
            Event::WorkerReady { ready, of } => ("worker_ready", None, vec![ready as f64, of as f64]),
            Event::Listening(_) => ("listening", None, vec![]),
            Event::Failed { kind, message } => (
                match kind {
                    Failure::Listen => "failed_listen",
                    Failure::Load => "failed_load",
                    Failure::WorkerStart => "failed_worker",
                    Failure::System => "failed_system",
                },
                Some(message),
                vec![],
            ),
            Event::Reloaded { generation } => ("reloaded", None, vec![f64::from(generation)]),
            Event::ReloadFailed { message } => ("reload_failed", Some(message), vec![]),
            Event::ReloadWanted => ("reload_wanted", None, vec![]),
            Event::ZygoteLost => ("zygote_lost", None, vec![]),
            Event::Stopped => ("stopped", None, vec![]),
        };
        self.numbers = numbers;
        self.strings.clear();
        self.strings.push(Str::new(what.as_bytes()));
        self.strings.push(match text {
            Some(text) => {
                self.text = text;
                Str::new(self.text.as_bytes())
            }
            None => Str::NA,
        });
        let fields = [
            ("what", Node::vector(Kind::Str, &self.strings[..1])),
            ("text", Node::vector(Kind::Str, &self.strings[1..])),
            ("numbers", Node::vector(Kind::Dbl, &self.numbers)),
        ];
        self.list(&fields, -1)
    }

    pub(crate) fn status(&mut self, workers: &[WorkerStatus]) -> *const Node {
        let ints: [fn(&WorkerStatus) -> i32; 3] =
            [|w| w.pid, |w| i32::from(w.alive), |w| i32::try_from(w.generation).unwrap_or(i32::MAX)];
        let doubles: [fn(&WorkerStatus) -> f64; 6] = [
            |w| w.requests as f64,
            |w| w.errors as f64,
            |w| w.promises as f64,
            |w| w.busy,
            |w| w.memory as f64,
            |w| w.age,
        ];
        self.ints = ints.map(|of| workers.iter().map(of).collect());
        self.doubles = doubles.map(|of| workers.iter().map(of).collect());
        self.runs = workers.iter().map(WorkerStatus::shown_runs).collect();
        let states = workers.iter().map(|w| Str::new(w.state.name().as_bytes()));
        let runs = self.runs.iter().map(|runs| runs.as_ref().map_or(Str::NA, |runs| Str::new(runs.as_bytes())));
        let pools = workers.iter().map(|w| Str::new(w.pool.as_bytes()));
        self.strings = states.chain(runs).chain(pools).collect();
        let strings = |of: usize| Node::vector(Kind::Str, &self.strings[of * workers.len()..(of + 1) * workers.len()]);
        let double = |i: usize| Node::vector(Kind::Dbl, &self.doubles[i]);
        let fields = [
            ("pid", Node::vector(Kind::Int, &self.ints[0])),
            ("alive", Node::vector(Kind::Lgl, &self.ints[1])),
            ("state", strings(0)),
            ("generation", Node::vector(Kind::Int, &self.ints[2])),
            ("requests", double(0)),
            ("errors", double(1)),
            ("promises", double(2)),
            ("busy", double(3)),
            ("memory", double(4)),
            ("age", double(5)),
            ("runs", strings(1)),
            ("pool", strings(2)),
        ];
        self.list(&fields, workers.len() as i64)
    }
}
