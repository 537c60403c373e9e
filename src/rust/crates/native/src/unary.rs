//! Handlers with the signature `drogonr_unary_handler_t`: a response at once, in memory of `malloc()`.

use crate::abi::UnaryHandler;
use crate::body::Mapped;
use crate::check::{self, LONGEST_BODY};
use crate::guard::{self, Outputs};
use crate::registry::{self, Entry};
use crate::strings::with_inputs;
use bytes::Bytes;
use exchange::{Answer, Head, RequestView, Response};
use std::ffi::{c_char, CStr};
use std::ptr::NonNull;

/// Calls the handler `number`, whose function this is.
pub fn call(function: UnaryHandler, entry: &Entry, request: &dyn RequestView) -> Answer {
    let mapped = Mapped::default();
    let body = match mapped.body(request) {
        Ok(body) => body,
        Err(why) => return registry::failed(why),
    };
    let mut out = Outputs { body: std::ptr::null_mut(), len: 0, status: 200, content_type: std::ptr::null_mut() };
    // SAFETY: the function is of a spec with this signature; the inputs are good while it runs.
    let outcome = with_inputs(request, body, |inputs| unsafe { guard::unary(function, inputs, &mut out) });
    // from here on both are freed on every path
    let content_type = Malloced::new(out.content_type);
    let body = Malloced::new(out.body);
    if let Err(why) = outcome {
        return registry::failed(&why);
    }
    match response(entry, out.status, content_type.as_ref(), body, out.len) {
        Ok(response) => Answer::Response(response),
        Err(why) => registry::failed(&why),
    }
}

fn response(
    entry: &Entry,
    status: i32,
    content_type: Option<&Malloced>,
    body: Option<Malloced>,
    len: usize,
) -> Result<Response, String> {
    let status = check::status(status).ok_or_else(|| format!("its status {status} is not one from 200 to 599"))?;
    let content_type = match content_type {
        None => entry.content_type(),
        Some(text) => check::content_type(text.text()).ok_or("its content type holds control characters")?,
    };
    let body = match body {
        _ if len > LONGEST_BODY => return Err(format!("the length {len} of its body is too large")),
        None if len > 0 => return Err(format!("its body is NULL, and {len} bytes long")),
        None => Bytes::new(),
        Some(_) if len == 0 => Bytes::new(),
        Some(memory) => {
            let size = memory.size();
            if len > size {
                return Err(format!("the length {len} of its body is beyond the {size} bytes that it allocated"));
            }
            Bytes::from_owner(Allocated { memory, len })
        }
    };
    let head = Head { status, content_type: Some(content_type), headers: Vec::new() };
    Ok(Response { head, body })
}

/// Memory that a handler got from `malloc()`, and gave to us.
pub struct Malloced(NonNull<c_char>);

// SAFETY: it is ours alone.
unsafe impl Send for Malloced {}
// SAFETY: it is only read.
unsafe impl Sync for Malloced {}

impl Malloced {
    pub fn new(at: *mut c_char) -> Option<Self> {
        NonNull::new(at).map(Malloced)
    }

    /// How many bytes there are; as many as anybody asks for where the system does not say.
    fn size(&self) -> usize {
        #[cfg(target_os = "linux")]
        // SAFETY: it came from malloc(), by the header.
        return unsafe { libc::malloc_usable_size(self.0.as_ptr().cast()) };
        #[cfg(not(target_os = "linux"))]
        return usize::MAX;
    }

    /// What is there, up to the NUL that a handler ends a content type with.
    pub fn text(&self) -> &[u8] {
        // SAFETY: a handler gives a string that is ended by a NUL, by the header; it is ours, and does not change.
        unsafe { CStr::from_ptr(self.0.as_ptr()) }.to_bytes()
    }
}

impl Drop for Malloced {
    fn drop(&mut self) {
        // SAFETY: it came from malloc(), by the header, and nothing else frees it.
        unsafe { libc::free(self.0.as_ptr().cast()) };
    }
}

/// A body in such memory, which has at least `len` bytes.
struct Allocated {
    memory: Malloced,
    len: usize,
}

impl AsRef<[u8]> for Allocated {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: there are `len` bytes, as `response` checked (or, on other systems than Linux, as the handler says);
        // `len` is below `isize::MAX`.
        unsafe { std::slice::from_raw_parts(self.memory.0.as_ptr().cast(), self.len) }
    }
}
