//! WebSockets to other servers, for R's main thread. `src/websocket_client.c` calls this. A fork has none of its
//! parent's: their thread is not there.

use crate::node::Str;
use crate::shield::shield;
use std::cell::RefCell;
use std::time::Duration;
use websocket_client::{headers, Clients, Close, Event, Message, Options, Target};

/// What R asks for: `drv_target` in `drover_rust.h`. Times are in seconds, 0 for none.
#[repr(C)]
pub struct CTarget {
    url: Str,
    /// names and values in turn
    headers: *const Str,
    n_headers: usize,
    protocols: *const Str,
    n_protocols: usize,
    /// a file, or empty
    ca: Str,
    timeout: f64,
    max_message: f64,
    ping_interval: f64,
    /// the first pause and the longest
    reconnect: [f64; 2],
    deflate: i32,
}

/// What has happened: `drv_happened` in `drover_rust.h`.
#[repr(C)]
pub struct CHappened {
    connection: f64,
    /// 0 open, 1 a message of text, 2 of bytes, 3 closed, 4 never was open
    kind: i32,
    code: i32,
    /// seconds after which it is tried again, or -1
    again: f64,
    /// a sub-protocol, a message, or a reason
    bytes: Str,
}

#[derive(Default)]
struct Of {
    /// of this process
    pid: u32,
    clients: Option<Clients>,
    last: u64,
    /// what C reads of the last event
    bytes: Vec<u8>,
    /// why there is no connection
    problem: String,
}

impl Of {
    /// Those of this process, if there are any.
    fn mine(&mut self) -> Option<&mut Clients> {
        let pid = std::process::id();
        if self.pid != pid {
            self.pid = pid;
            // the thread is its parent's, and so are the locks that it may hold
            std::mem::forget(self.clients.take());
        }
        self.clients.as_mut()
    }
}

thread_local! {
    static OF_THIS_PROCESS: RefCell<Of> = RefCell::default();
}

/// # Safety
/// `all` is valid for `n`, and the texts are there.
unsafe fn texts<'a>(all: *const Str, n: usize) -> Vec<&'a str> {
    // SAFETY: the caller's.
    let all = if n == 0 { &[] } else { unsafe { std::slice::from_raw_parts(all, n) } };
    // SAFETY: the caller's.
    all.iter().map(|text| std::str::from_utf8(unsafe { text.as_bytes() }).unwrap_or_default()).collect()
}

fn seconds(value: f64) -> Option<Duration> {
    (value > 0.0).then(|| Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX))
}

impl CTarget {
    /// # Safety
    /// As for [`texts`].
    unsafe fn read(&self) -> Result<Options, (i32, String)> {
        // SAFETY: the caller's.
        let [single, fields, protocols] = unsafe {
            [
                [texts(&self.url, 1), texts(&self.ca, 1)].concat(),
                texts(self.headers, self.n_headers),
                texts(self.protocols, self.n_protocols),
            ]
        };
        let (url, ca) = (single[0], single[1]);
        let fields = fields.chunks_exact(2).map(|two| (two[0], two[1]));
        Ok(Options {
            target: Target::read(url).map_err(|why| (1, why))?,
            headers: headers(fields).map_err(|why| (2, why))?,
            protocols: protocols.into_iter().map(str::to_owned).collect(),
            deflate: self.deflate != 0,
            timeout: seconds(self.timeout).unwrap_or(Duration::MAX),
            max_message: self.max_message as usize,
            ping_interval: seconds(self.ping_interval),
            reconnect: seconds(self.reconnect[0]).zip(seconds(self.reconnect[1])).map(|(first, most)| [first, most]),
            ca: (!ca.is_empty()).then(|| ca.into()),
        })
    }
}

/// Begins to connect. The connection's number, from 1; `-1` when the URL is wrong, `-2` when a header field is, `-3`
/// when the system has no thread left: then `problem` is what would be right, until the next call. `wake` is called
/// from another thread when there is something for [`drv_websocket_client_next`].
///
/// # Safety
/// What `target` points at is there for the call, `problem` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_websocket_client_connect(
    target: *const CTarget,
    wake: extern "C" fn(),
    problem: *mut Str,
) -> f64 {
    // SAFETY: the caller's.
    let options = unsafe { (*target).read() };
    shield(-3.0, || {
        OF_THIS_PROCESS.with_borrow_mut(|of| {
            let begun = options.and_then(|options| {
                if of.mine().is_none() {
                    of.clients = Some(Clients::start(move || wake()).map_err(|e| (3, e.to_string()))?);
                }
                of.last += 1;
                let number = of.last;
                if let Some(clients) = of.mine() {
                    clients.connect(number, options);
                }
                Ok(number as f64)
            });
            begun.unwrap_or_else(|(kind, why)| {
                of.problem = why;
                // SAFETY: the caller's; the text lives until the next one.
                unsafe { problem.write(Str::new(of.problem.as_bytes())) };
                -f64::from(kind)
            })
        })
    })
}

/// Sends a message. 1 when it is on its way, 0 when there is no such connection or too much waits, -1 when a text is
/// not UTF-8.
///
/// # Safety
/// The bytes are C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_websocket_client_send(connection: f64, is_text: i32, bytes: Str) -> i32 {
    // SAFETY: the caller's.
    let bytes = unsafe { bytes.as_bytes() };
    shield(0, || {
        if is_text != 0 && std::str::from_utf8(bytes).is_err() {
            return -1;
        }
        OF_THIS_PROCESS.with_borrow_mut(|of| {
            let message = bytes.to_vec().into();
            i32::from(of.mine().is_some_and(|clients| clients.send(connection as u64, is_text != 0, message)))
        })
    })
}

/// Ends a connection. 0 when there is no such one.
///
/// # Safety
/// The text is C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_websocket_client_close(connection: f64, code: i32, reason: Str) -> i32 {
    // SAFETY: the caller's.
    let reason = String::from_utf8_lossy(unsafe { reason.as_bytes() });
    shield(0, || {
        let close = Close::new(u16::try_from(code).unwrap_or(Close::NORMAL), &reason);
        OF_THIS_PROCESS.with_borrow_mut(|of| i32::from(of.mine().is_some_and(|c| c.close(connection as u64, close))))
    })
}

/// The next thing that has happened. 0 when nothing has. Its bytes live until the next call.
///
/// # Safety
/// `happened` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_websocket_client_next(happened: *mut CHappened) -> i32 {
    shield(0, || {
        OF_THIS_PROCESS.with_borrow_mut(|of| {
            let Some((number, event)) = of.mine().and_then(Clients::take) else { return 0 };
            let (kind, code, again, bytes) = match event {
                Event::Open(protocol) => (0, 0, None, protocol.unwrap_or_default().into_bytes()),
                Event::Message(Message { is_text, bytes }) => (if is_text { 1 } else { 2 }, 0, None, bytes.into()),
                Event::Closed { code, reason, failed, again } => {
                    (if failed { 4 } else { 3 }, i32::from(code), again, reason.into_bytes())
                }
            };
            of.bytes = bytes;
            let again = again.map_or(-1.0, |ms| ms as f64 / 1000.0);
            let event = CHappened { connection: number as f64, kind, code, again, bytes: Str::new(&of.bytes) };
            // SAFETY: the caller's.
            unsafe { happened.write(event) };
            1
        })
    })
}

/// Ends all connections.
#[no_mangle]
pub extern "C" fn drv_websocket_client_stop() {
    shield((), || {
        let clients = OF_THIS_PROCESS.with_borrow_mut(|of| {
            of.mine();
            of.clients.take()
        });
        if let Some(clients) = clients {
            clients.stop();
        }
    });
}
