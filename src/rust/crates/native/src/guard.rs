//! Calls of what users wrote, by way of `guard.cpp`, where exceptions stop. The other way round: panics of ours stop at
//! [`entered`].

use crate::abi::{
    Api, Callback, CloseStream, Handler, IsCancelled, Request, SendChunk, Socket, SocketEvent, SocketHandler,
    StreamHandler, StreamSession, UnaryHandler, WsClose, WsHandler, WsIsConnected, WsSend,
};
use std::ffi::{c_char, c_int, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// The text about an exception, for the log: enough for a message, not for a dump.
const LONGEST_TEXT: usize = 512;

/// Inputs of drogonR's signatures.
#[derive(Clone, Copy)]
pub struct Inputs {
    pub body: *const c_char,
    pub body_len: usize,
    pub query: *const c_char,
    pub params: *const *const c_char,
    pub params_n: usize,
    pub headers: *const *const c_char,
    pub headers_n: usize,
}

/// Outputs of `drogonr_unary_handler_t`.
pub struct Outputs {
    pub body: *mut c_char,
    pub len: usize,
    pub status: c_int,
    pub content_type: *mut c_char,
}

extern "C" {
    fn drover_guard_handler(
        handler: Handler,
        req: *mut Request,
        api: *const Api,
        data: *mut c_void,
        result: *mut c_int,
        what: *mut c_char,
        size: usize,
    ) -> c_int;
    fn drover_guard_unary(
        handler: UnaryHandler,
        body: *const c_char,
        body_len: usize,
        query: *const c_char,
        params: *const *const c_char,
        params_n: usize,
        headers: *const *const c_char,
        headers_n: usize,
        out_body: *mut *mut c_char,
        out_len: *mut usize,
        out_status: *mut c_int,
        out_content_type: *mut *mut c_char,
        result: *mut c_int,
        what: *mut c_char,
        size: usize,
    ) -> c_int;
    fn drover_guard_stream(
        handler: StreamHandler,
        body: *const c_char,
        body_len: usize,
        query: *const c_char,
        params: *const *const c_char,
        params_n: usize,
        headers: *const *const c_char,
        headers_n: usize,
        session: *mut StreamSession,
        send: SendChunk,
        close: CloseStream,
        is_cancelled: IsCancelled,
        out_content_type: *mut *mut c_char,
        result: *mut c_int,
        what: *mut c_char,
        size: usize,
    ) -> c_int;
    fn drover_guard_socket(
        handler: SocketHandler,
        socket: *mut Socket,
        event: *const SocketEvent,
        api: *const Api,
        data: *mut c_void,
        result: *mut c_int,
        what: *mut c_char,
        size: usize,
    ) -> c_int;
    fn drover_guard_ws(
        handler: WsHandler,
        session: *mut Socket,
        event: c_int,
        msg: *const c_char,
        len: usize,
        binary: c_int,
        send: WsSend,
        close: WsClose,
        is_connected: WsIsConnected,
        what: *mut c_char,
        size: usize,
    ) -> c_int;
    fn drover_guard_callback(callback: Callback, arg: *mut c_void, what: *mut c_char, size: usize) -> c_int;
}

/// Where a trampoline writes what was thrown. Not initialised before it does: this is on the way of every inline call.
struct What(std::mem::MaybeUninit<[c_char; LONGEST_TEXT]>);

impl What {
    fn new() -> Self {
        What(std::mem::MaybeUninit::uninit())
    }

    fn room(&mut self) -> (*mut c_char, usize) {
        (self.0.as_mut_ptr().cast(), LONGEST_TEXT)
    }

    /// What became of a call: 0 is well; else why not. `threw` is what the trampoline returned, `result` what the
    /// handler did.
    fn outcome(&self, threw: c_int, result: c_int) -> Result<(), String> {
        match (threw, result) {
            (0, 0) => Ok(()),
            (0, result) => Err(format!("it returned {result}")),
            _ => {
                // SAFETY: it threw, so the trampoline has written a text that is ended by a NUL.
                let text = unsafe { CStr::from_ptr(self.0.as_ptr().cast()) };
                Err(format!("it threw {}", text.to_string_lossy()))
            }
        }
    }
}

/// Calls a `drover_handler_t`.
///
/// # Safety
/// `handler` is one, `data` what it expects, and `req` good as the header says.
pub unsafe fn handler(handler: Handler, req: *mut Request, api: &Api, data: *mut c_void) -> Result<(), String> {
    let (mut result, mut what) = (0, What::new());
    let (text, size) = what.room();
    // SAFETY: the caller's promise; the results are ours.
    let threw = unsafe { drover_guard_handler(handler, req, api, data, &mut result, text, size) };
    what.outcome(threw, result)
}

/// Calls a `drogonr_unary_handler_t`.
///
/// # Safety
/// `handler` is one, and the inputs are good.
pub unsafe fn unary(handler: UnaryHandler, inputs: &Inputs, out: &mut Outputs) -> Result<(), String> {
    let (mut result, mut what) = (0, What::new());
    let (text, size) = what.room();
    // SAFETY: the caller's promise; the outputs and results are ours.
    let threw = unsafe {
        drover_guard_unary(
            handler,
            inputs.body,
            inputs.body_len,
            inputs.query,
            inputs.params,
            inputs.params_n,
            inputs.headers,
            inputs.headers_n,
            &mut out.body,
            &mut out.len,
            &mut out.status,
            &mut out.content_type,
            &mut result,
            text,
            size,
        )
    };
    what.outcome(threw, result)
}

/// Calls a `drogonr_stream_handler_t`.
///
/// # Safety
/// `handler` is one, the inputs are good, and so are `session` and `content_type` until it returns.
pub unsafe fn stream(
    handler: StreamHandler,
    inputs: &Inputs,
    session: *mut StreamSession,
    (send, close, is_cancelled): (SendChunk, CloseStream, IsCancelled),
    content_type: *mut *mut c_char,
) -> Result<(), String> {
    let (mut result, mut what) = (0, What::new());
    let (text, size) = what.room();
    // SAFETY: the caller's promise; the results are ours.
    let threw = unsafe {
        drover_guard_stream(
            handler,
            inputs.body,
            inputs.body_len,
            inputs.query,
            inputs.params,
            inputs.params_n,
            inputs.headers,
            inputs.headers_n,
            session,
            send,
            close,
            is_cancelled,
            content_type,
            &mut result,
            text,
            size,
        )
    };
    what.outcome(threw, result)
}

/// Calls a `drover_socket_handler_t`.
///
/// # Safety
/// `handler` is one, `event` and `data` are good for it.
pub unsafe fn socket(
    handler: SocketHandler,
    socket: *mut Socket,
    event: &SocketEvent,
    api: *const Api,
    data: *mut c_void,
) -> Result<(), String> {
    let (mut result, mut what) = (0, What::new());
    let (text, size) = what.room();
    // SAFETY: the caller's promise; the results are ours.
    let threw = unsafe { drover_guard_socket(handler, socket, event, api, data, &mut result, text, size) };
    what.outcome(threw, result)
}

/// Calls a `drogonr_ws_handler_t`.
///
/// # Safety
/// `handler` is one.
pub unsafe fn ws(
    handler: WsHandler,
    session: *mut Socket,
    event: c_int,
    message: Option<(&[u8], bool)>,
    (send, close, is_connected): (WsSend, WsClose, WsIsConnected),
) -> Result<(), String> {
    let mut what = What::new();
    let (text, size) = what.room();
    let (msg, len, binary) = message.map_or((std::ptr::null(), 0, 0), |(bytes, is_binary)| {
        (bytes.as_ptr().cast(), bytes.len(), c_int::from(is_binary))
    });
    // SAFETY: the caller's promise; the message is there while it is called.
    let threw =
        unsafe { drover_guard_ws(handler, session, event, msg, len, binary, send, close, is_connected, text, size) };
    what.outcome(threw, 0)
}

/// Calls back.
///
/// # Safety
/// `callback` may be called with `arg`, on this thread.
pub unsafe fn callback(callback: Callback, arg: *mut c_void) -> Result<(), String> {
    let mut what = What::new();
    let (text, size) = what.room();
    // SAFETY: the caller's promise.
    let threw = unsafe { drover_guard_callback(callback, arg, text, size) };
    what.outcome(threw, 0)
}

/// Runs what C has called. A panic, which is a bug of ours, must not get into C, and must not end R's process either.
pub fn entered<T>(after_panic: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(after_panic)
}
