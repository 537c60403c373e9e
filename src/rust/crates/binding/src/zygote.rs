//! A zygote's side of its control channel: it says what the app is like, is told which workers to fork, and tells what
//! became of them. The loop around it, and the forks, are in `src/zygote.c`. Neighbours: `process` (what a worker
//! gets), `supervisor` (the other end).

use crate::link::Link;
use crate::node::Str;
use crate::process::Process;
use crate::shield::{borrowed, shield, Error};
use crate::worker_settings::WorkerSettings;
use engine::AppConfig;
use shm::{Channel, LinkFds, Received};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::time::Duration;
use std::{io, ptr};
use supervisor::read_app;
use wire::control::{ZygoteNews, ZygoteOrder};

/// The end of the channel, the app, and the order that is being carried out.
pub struct Zygote {
    channel: Channel,
    settings: WorkerSettings,
    app: Option<AppConfig>,
    order: Option<ForkOrder>,
    /// it is to end, and the server ends with it
    last: bool,
    message: Vec<u8>,
}

/// A worker that is wanted, and what it gets: its end of its control channel, then the descriptors of its link, and
/// those of the link of its C handlers, if it has some.
struct ForkOrder {
    worker: u32,
    timers: bool,
    pool: u32,
    fds: Vec<OwnedFd>,
}

/// What there is to do, as `src/zygote.c` knows it.
#[repr(i32)]
enum Todo {
    Nothing = 0,
    Fork = 1,
    Become = 2,
    Quit = 3,
    /// the server has ended
    End = 4,
}

impl Zygote {
    /// Sends news, waiting while the server reads slowly. The server reads until it ends, and then needs no news.
    fn send(&self, news: ZygoteNews<'_>) {
        let mut message = Vec::new();
        news.encode(&mut message);
        while self.channel.send(&message, &[]).is_err_and(|e| e.kind() == io::ErrorKind::WouldBlock) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn receive(&mut self) -> Todo {
        let (order, fds) = match self.channel.receive(&mut self.message) {
            Ok(Received::Message(_, fds)) => (ZygoteOrder::decode(&self.message), fds),
            Ok(Received::Nothing) => return Todo::Nothing,
            Ok(Received::End) | Err(_) => return Todo::End,
        };
        match order {
            Ok(ZygoteOrder::Fork { worker, timers, pool, .. }) => {
                self.order = Some(ForkOrder { worker, timers, pool, fds });
                Todo::Fork
            }
            Ok(ZygoteOrder::Become { worker, timers, pool, .. }) => {
                self.order = Some(ForkOrder { worker, timers, pool, fds });
                Todo::Become
            }
            Ok(ZygoteOrder::Quit { last }) => {
                self.last = last;
                Todo::Quit
            }
            // the first order only
            Ok(ZygoteOrder::State) | Err(_) => Todo::End,
        }
    }

    /// What the worker of the present order is made of.
    fn worker(&mut self) -> Result<(Process, Link), String> {
        let order = self.order.take().ok_or("no worker was asked for")?;
        let app = self.app.as_ref().ok_or("no app is loaded")?;
        let mut fds = order.fds.into_iter();
        let wrong = "a worker was given descriptors that are none of its";
        let control = fds.next().ok_or(wrong)?;
        let (link, c_link) = (LinkFds::take(&mut fds).ok_or(wrong)?, LinkFds::take(&mut fds));
        Process::new(control, link, c_link, app, &self.settings).map_err(|e| e.to_string())
    }
}

/// Waits for the memory of `dr_state()`, which the server sends as soon as it has started this process.
fn take_state(channel: &Channel) -> io::Result<()> {
    let mut message = Vec::new();
    loop {
        match channel.receive(&mut message)? {
            Received::Message(_, fds) if ZygoteOrder::decode(&message) == Ok(ZygoteOrder::State) => {
                let fd = fds.into_iter().next().ok_or_else(|| io::Error::other("the server sent none"))?;
                return shared_state::adopt(fd);
            }
            Received::Nothing => std::thread::sleep(Duration::from_millis(1)),
            Received::Message(..) | Received::End => return Err(io::Error::other("the server sent none")),
        }
    }
}

/// Both ends of a control channel for a zygote that the session forks: the server's, then the zygote's. 0 when the
/// system has none. The memory of `dr_state()` is there, too, from now on: forks share it.
///
/// # Safety
/// `fds` has room for two.
#[no_mangle]
pub unsafe extern "C" fn drv_zygote_channel(fds: *mut i32) -> i32 {
    shield(0, || {
        let (Ok((server, zygote)), Ok(_)) = (Channel::pair(), shared_state::table()) else { return 0 };
        for (i, end) in [server, zygote].into_iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { fds.add(i).write(OwnedFd::from(end).into_raw_fd()) };
        }
        1
    })
}

/// The zygote's end, of its descriptor, which it takes. `settings` is the JSON of the server's settings; `is_fresh` is
/// not 0 when the process was not forked from one that has the memory of `dr_state()`. Null, and an error, when one of
/// them cannot be had.
///
/// # Safety
/// `fd` is open and has no other owner; C lends the text for the call; `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_zygote_new(fd: i32, settings: Str, is_fresh: i32, error: *mut Error) -> *mut Zygote {
    // SAFETY: the caller's.
    let (fd, settings) = unsafe { (OwnedFd::from_raw_fd(fd), settings.as_bytes()) };
    let channel = Channel::from(fd);
    let known = shield(Err("the engine failed".to_owned()), || {
        if is_fresh != 0 {
            take_state(&channel).map_err(|e| format!("state: {e}"))?;
        }
        sonic_rs::from_slice(settings).map_err(|e| format!("settings: {e}"))
    });
    match known {
        Ok(settings) => {
            let settings: WorkerSettings = settings;
            // the server has told what is wrong with them
            let _ = exchange::Sampler::install(&settings.otel);
            Box::into_raw(Box::new(Zygote {
                channel,
                settings,
                app: None,
                order: None,
                last: false,
                message: Vec::new(),
            }))
        }
        Err(e) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, 0, e) };
            ptr::null_mut()
        }
    }
}

/// Ends it, and closes its descriptors.
///
/// # Safety
/// `zygote` is live, and not used after.
#[no_mangle]
pub unsafe extern "C" fn drv_zygote_free(zygote: *mut Zygote) {
    // SAFETY: the caller's.
    shield((), || drop(unsafe { Box::from_raw(zygote) }));
}

/// The descriptor to wait on.
///
/// # Safety
/// `zygote` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_zygote_fd(zygote: *const Zygote) -> i32 {
    // SAFETY: the caller's.
    unsafe { (*zygote).channel.as_raw_fd() }
}

/// Tells the server of the app, whose routes and mounts are the JSON text, and that it is loaded. 0, and an error, when
/// the text cannot be read.
///
/// # Safety
/// `zygote` is live; C lends the text for the call; `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_zygote_loaded(zygote: *mut Zygote, app: *const u8, len: usize, error: *mut Error) -> i32 {
    // SAFETY: the caller's.
    let (zygote, app) = unsafe { (&mut *zygote, borrowed(app, len)) };
    let done = shield(Err("the engine failed".to_owned()), || {
        zygote.app = Some(read_app(app)?);
        // words before the piece take room as well
        for piece in app.chunks(Channel::LONGEST - 64) {
            zygote.send(ZygoteNews::App(piece));
        }
        zygote.send(ZygoteNews::Loaded);
        Ok(())
    });
    if let Err(e) = &done {
        // SAFETY: the caller's.
        unsafe { Error::put(error, 0, format!("routes: {e}")) };
    }
    i32::from(done.is_ok())
}

/// Tells the server what this process holds that forks of it must not share, in words; nothing when that is empty.
///
/// # Safety
/// `zygote` is live; C lends the text for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_zygote_holds(zygote: *const Zygote, what: Str) {
    // SAFETY: the caller's.
    let (zygote, what) = unsafe { (&*zygote, what.as_bytes()) };
    if !what.is_empty() {
        shield((), || zygote.send(ZygoteNews::Holds(&String::from_utf8_lossy(what))));
    }
}

/// Tells the server that the app cannot be loaded, and why.
///
/// # Safety
/// `zygote` is live; C lends the text for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_zygote_load_failed(zygote: *const Zygote, why: Str) {
    // SAFETY: the caller's.
    let (zygote, why) = unsafe { (&*zygote, why.as_bytes()) };
    shield((), || zygote.send(ZygoteNews::LoadFailed(&String::from_utf8_lossy(why))));
}

/// The next order, as the numbers of `Todo`. `asked`: for a worker, its number, whether it has the app's timers, and
/// its pool; for the end, whether the server ends with this process.
///
/// # Safety
/// `zygote` is live, `asked` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_zygote_order(zygote: *mut Zygote, asked: *mut [u32; 3]) -> i32 {
    // SAFETY: the caller's.
    let (zygote, asked) = unsafe { (&mut *zygote, &mut *asked) };
    let todo = shield(Todo::End, || zygote.receive());
    match (&todo, &zygote.order) {
        (Todo::Fork | Todo::Become, Some(order)) => *asked = [order.worker, order.timers.into(), order.pool],
        (Todo::Quit, _) => *asked = [zygote.last.into(), 0, 0],
        _ => {}
    }
    todo as i32
}

/// In the worker that was ordered: what it serves with. Null, and an error, when that cannot be had.
///
/// # Safety
/// `zygote` is live; `link` and `error` are valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_zygote_worker(
    zygote: *mut Zygote,
    link: *mut *mut Link,
    error: *mut Error,
) -> *mut Process {
    // SAFETY: the caller's.
    let zygote = unsafe { &mut *zygote };
    match shield(Err("the engine failed".to_owned()), || zygote.worker()) {
        Ok((process, its_desk)) => {
            // SAFETY: the caller's.
            unsafe { link.write(Box::into_raw(Box::new(its_desk))) };
            Box::into_raw(Box::new(process))
        }
        Err(e) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, 0, e) };
            ptr::null_mut()
        }
    }
}

/// The worker that was ordered is the process `pid`; when that is 0, it could not be made, and `why` says why.
///
/// # Safety
/// `zygote` is live; C lends the text for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_zygote_made(zygote: *mut Zygote, pid: u32, why: Str) {
    // SAFETY: the caller's.
    let (zygote, why) = unsafe { (&mut *zygote, why.as_bytes()) };
    shield((), || {
        // the descriptors are the worker's now
        let Some(ForkOrder { worker, .. }) = zygote.order.take() else { return };
        let why = String::from_utf8_lossy(why);
        zygote.send(match pid {
            0 => ZygoteNews::ForkFailed { worker, why: &why },
            _ => ZygoteNews::Forked { worker, pid },
        });
    });
}

/// A worker has ended, with this status of wait(2).
///
/// # Safety
/// `zygote` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_zygote_exited(zygote: *const Zygote, worker: u32, pid: u32, status: u32) {
    // SAFETY: the caller's.
    let zygote = unsafe { &*zygote };
    shield((), || zygote.send(ZygoteNews::Exited { worker, pid, status }));
}
