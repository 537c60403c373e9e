//! Handlers with the signature `drogonr_stream_handler_t`: they send pieces while they run, on a thread of the pool.

use crate::abi::{Code, StreamHandler, StreamSession};
use crate::body::Mapped;
use crate::check::{self, LONGEST_BODY};
use crate::guard;
use crate::registry::Entry;
use crate::shared::Shared;
use crate::strings::with_inputs;
use crate::unary::Malloced;
use bytes::Bytes;
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;

/// What a `drogonr_stream_session_t *` points at, until the handler returns.
pub struct Session<'a> {
    shared: &'a Shared,
    entry: &'a Entry,
    /// the handler's `out_content_type`
    content_type: *const *mut c_char,
    /// set by the first piece, or at the end
    begun: OnceLock<Result<(), &'static str>>,
}

/// Calls the `function` of a stream handler for a request that nothing else holds.
pub fn call(function: StreamHandler, entry: &Entry, shared: &Shared) {
    let mapped = Mapped::default();
    let body = match mapped.body(shared.request()) {
        Ok(body) => body,
        Err(why) => return shared.failed(why),
    };
    let mut content_type: *mut c_char = std::ptr::null_mut();
    let out = std::ptr::addr_of_mut!(content_type);
    let session = Session { shared, entry, content_type: out, begun: OnceLock::new() };
    let address = std::ptr::from_ref(&session).cast_mut().cast();
    let outcome = with_inputs(shared.request(), body, |inputs| {
        // SAFETY: the function is of a spec with this signature; inputs, session and `content_type` are good while it
        // runs.
        unsafe { guard::stream(function, inputs, address, (send, close, is_cancelled), out) }
    });
    let outcome = outcome.and_then(|()| session.begin().map_err(str::to_owned));
    // freed after a failure, too
    drop(Malloced::new(content_type));
    shared.returned(outcome);
}

impl Session<'_> {
    /// Sends the head of the response, once.
    fn begin(&self) -> Result<(), &'static str> {
        *self.begun.get_or_init(|| {
            // SAFETY: it is the variable of `call`, in which the handler has put NULL or a string before it sends.
            let text = unsafe { self.content_type.read() };
            let content_type = if text.is_null() {
                self.entry.content_type()
            } else {
                // SAFETY: as above; the string is only read.
                let text = unsafe { std::ffi::CStr::from_ptr(text) };
                check::content_type(text.to_bytes()).ok_or("its content type holds control characters")?
            };
            // if the client has left, the next send reports it
            self.shared.begin(200, Some(content_type));
            Ok(())
        })
    }
}

/// # Safety
/// `session` is that of a call that is under way.
unsafe fn session<'a>(session: *mut StreamSession) -> Option<&'a Session<'a>> {
    // SAFETY: it was given to the handler as this, and is good until the handler returns, by the header.
    unsafe { session.cast::<Session<'a>>().as_ref() }
}

/// `drogonr_send_chunk_fn`
unsafe extern "C" fn send(at: *mut StreamSession, data: *const c_char, len: usize) -> c_int {
    guard::entered(-1, || {
        // SAFETY: by the header.
        let Some(session) = (unsafe { session(at) }) else { return -1 };
        if len > LONGEST_BODY || (data.is_null() && len > 0) || session.begin().is_err() {
            return -1;
        }
        let piece = if len == 0 {
            Bytes::new()
        } else {
            // SAFETY: the handler says that `data` has `len` bytes.
            Bytes::copy_from_slice(unsafe { std::slice::from_raw_parts(data.cast(), len) })
        };
        match session.shared.send(piece, true) {
            Code::Ok => 0,
            _ => -1,
        }
    })
}

/// `drogonr_close_stream_fn`
unsafe extern "C" fn close(at: *mut StreamSession) {
    guard::entered((), || {
        // SAFETY: by the header.
        let Some(session) = (unsafe { session(at) }) else { return };
        if session.begin().is_ok() {
            session.shared.end();
        }
    });
}

/// `drogonr_is_cancelled_fn`
unsafe extern "C" fn is_cancelled(at: *mut StreamSession) -> c_int {
    guard::entered(1, || {
        // SAFETY: by the header.
        unsafe { session(at) }.map_or(1, |session| c_int::from(session.shared.is_cancelled()))
    })
}
