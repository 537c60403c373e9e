//! A worker process's side of its control channel: it says that it is ready, is told to stop, and its log lines go that way.
//! No thread is started here. Neighbours: `desk` (requests and replies), `zygote` (which makes it), `src/process.c`.

use crate::desk::{Desk, LogLine, Routes};
use crate::node::Str;
use crate::shield::shield;
use crate::zygote::WorkerSettings;
use engine::Level;
use shm::{Channel, Received, WorkerEnd};
use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use wire::control::{WorkerNews, WorkerOrder};
use worker::{Running, Worker};

/// The end of the channel, and which request runs.
pub struct Process {
    channel: Rc<Channel>,
    running: Arc<Running>,
    message: Vec<u8>,
}

impl Process {
    /// A worker with this end of its control channel and the descriptors of this link, and its desk.
    ///
    /// # Errors
    /// When the descriptors are not those of a link.
    pub(crate) fn new(
        control: OwnedFd,
        link: [OwnedFd; 3],
        app: Routes,
        settings: &WorkerSettings,
    ) -> io::Result<(Process, Desk)> {
        let channel = Rc::new(Channel::from(control));
        let worker = Worker::new(WorkerEnd::attach(link)?).spooling(settings.upload_path.clone());
        let running = worker.running();
        let log = log_through(channel.clone());
        let desk = Desk::new(worker, app, settings.limits.clone(), settings.upload_path.clone(), log).in_process();
        Ok((Process { channel, running, message: Vec::new() }, desk))
    }

    fn send(&self, news: WorkerNews<'_>) {
        let mut message = Vec::new();
        news.encode(&mut message);
        // whoever does not listen has gone, and then so will this process
        let _ = self.channel.send(&message, &[]);
    }
}

/// Sends lines to the server's log. What it cannot take now is counted and told with the next line: a handler never waits
/// for the log.
fn log_through(channel: Rc<Channel>) -> LogLine {
    let dropped = Cell::new(0u64);
    Box::new(move |level, text| {
        let level = match level {
            Level::Info => 0,
            Level::Warn => 1,
            Level::Error => 2,
        };
        let text = match dropped.get() {
            0 => text.to_owned(),
            n => format!("({n} lines dropped before this one) {text}"),
        };
        let mut message = Vec::new();
        WorkerNews::Log { level, text: &text }.encode(&mut message);
        dropped.set(if channel.send(&message, &[]).is_ok() { 0 } else { dropped.get() + 1 });
    })
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

/// Tells the server that this worker takes requests.
///
/// # Safety
/// `process` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_process_tell_ready(process: *const Process) {
    // SAFETY: the caller's.
    shield((), || unsafe { (*process).send(WorkerNews::Ready) });
}

/// Tells the server that this worker cannot start, and why.
///
/// # Safety
/// `process` is live; C lends the text for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_process_tell_failed(process: *const Process, why: Str) {
    // SAFETY: the caller's.
    let (process, why) = unsafe { (&*process, why.as_bytes()) };
    shield((), || process.send(WorkerNews::StartFailed(&String::from_utf8_lossy(why))));
}

/// What the server wants: 0 nothing, 1 that this worker stops, 2 nothing ever again, as it has ended.
///
/// # Safety
/// `process` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_process_order(process: *mut Process) -> i32 {
    // SAFETY: the caller's.
    let process = unsafe { &mut *process };
    shield(2, || match process.channel.receive(&mut process.message) {
        Ok(Received::Nothing) => 0,
        Ok(Received::Message(..)) => match WorkerOrder::decode(&process.message) {
            Ok(WorkerOrder::Stop) => 1,
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
