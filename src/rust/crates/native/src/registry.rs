//! The handlers that there are, and what all of them share.

use crate::abi::{Handler, SocketHandler, Span, StreamHandler, UnaryHandler, WsHandler};
use crate::check;
use crate::pool::pace::Pace;
use exchange::Answer;
use std::borrow::Cow;
use std::ffi::c_void;
use std::io;
use std::sync::Arc;

/// Takes lines for the log: levels are 0 for news, 1 for a client's fault, 2 for a handler's.
pub type Log = Arc<dyn Fn(u8, &str) + Send + Sync>;

/// The type of a handler's function; names as in `drover.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// `drogonr_unary_handler_t`
    Unary,
    /// `drogonr_stream_handler_t`
    Stream,
    /// `drover_handler_t`
    Drover,
    /// `drogonr_ws_handler_t`
    Ws,
    /// `drover_socket_handler_t`
    Socket,
}

/// What a handler of drover's interface is given as `data`.
#[derive(Debug, Clone, Copy)]
pub enum UserData {
    /// NULL
    None,
    /// this address
    Pointer(*mut c_void),
    /// the address of a `drover_bytes` with this address and length
    Bytes(*const u8, usize),
}

/// One handler.
#[derive(Debug, Clone)]
pub struct Spec {
    /// its function
    pub function: *const c_void,
    /// for people: the method and pattern of its route
    pub route: String,
    /// the type of the function
    pub interface: Interface,
    /// for drover's interface
    pub data: UserData,
    /// of responses for which the handler does not say it; empty for none
    pub content_type: String,
    /// names of the placeholders, in the order of the pattern
    pub params: Vec<String>,
}

/// A function of one of the types.
#[derive(Clone, Copy)]
pub enum Callee {
    Unary(UnaryHandler),
    Stream(StreamHandler),
    Drover(Handler),
    Ws(WsHandler),
    Socket(SocketHandler),
}

/// A handler that can be called.
pub struct Entry {
    pub callee: Callee,
    data: *mut c_void,
    /// what `data` points at, if that is ours
    _bytes: Option<Box<Span>>,
    content_type: Option<Cow<'static, [u8]>>,
    pub params: Vec<String>,
    route: String,
    pub pace: Pace,
}

// SAFETY: the addresses are only handed to handlers, which promise to be callable from any thread, several at once.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

impl Entry {
    /// # Safety
    /// As for [`crate::Natives::new`].
    unsafe fn new(spec: Spec) -> Result<Self, &'static str> {
        if spec.function.is_null() {
            return Err("it has no function");
        }
        // SAFETY: the caller promises that the function, which is there, has the type of its interface.
        let callee = unsafe {
            match spec.interface {
                Interface::Unary => Callee::Unary(std::mem::transmute::<*const c_void, UnaryHandler>(spec.function)),
                Interface::Stream => Callee::Stream(std::mem::transmute::<*const c_void, StreamHandler>(spec.function)),
                Interface::Drover => Callee::Drover(std::mem::transmute::<*const c_void, Handler>(spec.function)),
                Interface::Ws => Callee::Ws(std::mem::transmute::<*const c_void, WsHandler>(spec.function)),
                Interface::Socket => Callee::Socket(std::mem::transmute::<*const c_void, SocketHandler>(spec.function)),
            }
        };
        let content_type = match spec.content_type.as_bytes() {
            b"" => None,
            text => Some(check::content_type(text).ok_or("its content type holds control characters")?),
        };
        let mut bytes = match spec.data {
            UserData::Bytes(ptr, len) => Some(Box::new(Span { ptr: ptr.cast(), len })),
            _ => None,
        };
        let data = match (&mut bytes, spec.data) {
            (Some(bytes), _) => std::ptr::from_mut(&mut **bytes).cast(),
            (None, UserData::Pointer(at)) => at,
            (None, _) => std::ptr::null_mut(),
        };
        Ok(Entry {
            callee,
            data,
            _bytes: bytes,
            content_type,
            params: spec.params,
            route: spec.route,
            pace: Pace::default(),
        })
    }

    /// What it is given as `data`.
    pub fn data(&self) -> *mut c_void {
        self.data
    }

    /// The content type of a response for which the handler has not said it.
    pub fn content_type(&self) -> Cow<'static, [u8]> {
        self.content_type.clone().unwrap_or(check::OCTETS)
    }
}

/// All handlers of an app.
pub struct Registry {
    entries: Vec<Entry>,
    log: Log,
}

impl Registry {
    /// # Safety
    /// As for [`crate::Natives::new`].
    pub unsafe fn new(specs: Vec<Spec>, log: Log) -> io::Result<Self> {
        let mut entries = Vec::with_capacity(specs.len());
        for spec in specs {
            let route = spec.route.clone();
            // SAFETY: the caller's promise.
            let entry = unsafe { Entry::new(spec) };
            entries.push(entry.map_err(|why| {
                io::Error::new(io::ErrorKind::InvalidInput, format!("the C handler of {route} cannot be used: {why}"))
            })?);
        }
        Ok(Registry { entries, log })
    }

    /// Handlers are numbered from 1.
    pub fn entry(&self, handler: u32) -> Option<&Entry> {
        self.entries.get((handler as usize).checked_sub(1)?)
    }

    /// A line about one request.
    pub fn log(&self, level: u8, id: u64, handler: u32, text: &str) {
        let route = self.entry(handler).map_or("no route", |entry| &entry.route);
        (self.log)(level, &format!("id={id:016x} C handler of {route}: {text}"));
    }

    /// A line about none.
    pub fn log_general(&self, level: u8, text: &str) {
        (self.log)(level, text);
    }
}

/// The answer of a handler that has failed, or whose answer cannot be sent. Why is for the log, where it stands behind
/// the request's method and path; clients are told no more than 500.
pub fn failed(why: &str) -> Answer {
    Answer::Failure { status: 500, detail: Cow::Borrowed(""), why: Cow::Owned(format!("C handler: {why}")) }
}

/// The answer of a handler of WebSockets that is asked for one.
pub fn no_requests() -> Answer {
    failed("it handles WebSockets, and no requests")
}

/// The answer of a handler that is not there.
pub fn unknown() -> Answer {
    failed("there is none of this number")
}
