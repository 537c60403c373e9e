//! The functions of `drover_api`, but for those of WebSockets: what C calls. They check addresses and lengths, and
//! leave the rest to `handle`.

use crate::abi::{Api, Callback, Code, Request, Span, Times};
use crate::cancel::Call;
use crate::clock::now_ns;
use crate::guard::{callback, entered};
use crate::handle::Handle;
use crate::lent::{run, text};
use crate::shared::Shared;
use crate::websocket_api;
use bytes::Bytes;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

/// `DROVER_API_VERSION`
const VERSION: u32 = 5;

/// What handlers are given.
pub static TABLE: Api = Api {
    size: size_of::<Api>(),
    version: VERSION,
    method,
    path,
    target,
    query,
    header,
    header_count,
    header_at,
    param,
    param_count,
    param_at,
    cookie,
    body,
    remote_addr,
    remote_port,
    id,
    is_http2,
    respond,
    respond_static,
    respond_owned,
    add_header,
    fail,
    begin,
    send,
    try_send,
    end,
    defer,
    release,
    is_cancelled,
    on_cancel,
    now_ns,
    times,
    mark,
    log,
    socket_send: websocket_api::send,
    socket_close: websocket_api::close,
    socket_is_open: websocket_api::is_open,
    socket_id: websocket_api::id,
    socket_set_data: websocket_api::set_data,
    socket_data: websocket_api::data,
    socket_join: websocket_api::join,
    socket_leave: websocket_api::leave,
    broadcast: websocket_api::broadcast,
    is_https,
    tls,
    auth,
    base_path,
    session,
    set_session,
};

/// Calls `f` with the handle behind `req`, or returns `otherwise` when there is none. The handle is kept meanwhile,
/// should another thread, or what `f` calls, release the last one.
///
/// # Safety
/// `req` is NULL or good, as the header defines it.
unsafe fn with<'a, T>(req: *mut Request, otherwise: T, f: impl FnOnce(Handle<'a>) -> T) -> T
where
    T: Copy,
{
    entered(otherwise, || {
        // SAFETY: the caller's promise.
        let Some(handle) = (unsafe { Handle::from_address(req) }) else { return otherwise };
        let _kept = handle.keep();
        f(handle)
    })
}

/// Calls `f` with the handle behind `req`, for what only reads.
///
/// # Safety
/// As for [`with`].
unsafe fn read<'a, T: Copy>(req: *mut Request, otherwise: T, f: impl FnOnce(Handle<'a>) -> T) -> T {
    // SAFETY: the caller's promise.
    entered(otherwise, || unsafe { Handle::from_address(req) }.map_or(otherwise, f))
}

unsafe extern "C" fn method(req: *mut Request) -> Span {
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| handle.request().method().into()) }
}

unsafe extern "C" fn path(req: *mut Request) -> Span {
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| handle.request().path().into()) }
}

unsafe extern "C" fn target(req: *mut Request) -> Span {
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| handle.request().target().into()) }
}

unsafe extern "C" fn query(req: *mut Request) -> Span {
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| handle.request().query().into()) }
}

unsafe extern "C" fn header(req: *mut Request, name: *const c_char) -> Span {
    // SAFETY: by the header.
    let Some(name) = (unsafe { text(name) }) else { return Span::NONE };
    let find = |handle: Handle<'_>| -> Span {
        // names are short, and most often in lower case already
        let mut lower = [0; 64];
        match lower.get_mut(..name.len()) {
            Some(lower) => {
                lower.copy_from_slice(name);
                lower.make_ascii_lowercase();
                handle.request().header(lower).into()
            }
            None => handle.request().header(&name.to_ascii_lowercase()).into(),
        }
    };
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, find) }
}

unsafe extern "C" fn header_count(req: *mut Request) -> usize {
    // SAFETY: by the header.
    unsafe { read(req, 0, |handle| handle.request().header_count()) }
}

unsafe extern "C" fn header_at(req: *mut Request, at: usize, name: *mut Span, value: *mut Span) -> c_int {
    // SAFETY: by the header.
    let (n, v) = match unsafe { read(req, None, |handle| handle.request().header_at(at)) } {
        Some((n, v)) => (Span::from(n), Span::from(v)),
        None => (Span::NONE, Span::NONE),
    };
    for (to, span) in [(name, n), (value, v)] {
        if !to.is_null() {
            // SAFETY: what is not NULL is a variable of C's for this.
            unsafe { to.write(span) };
        }
    }
    c_int::from(!n.ptr.is_null())
}

unsafe extern "C" fn param(req: *mut Request, name: *const c_char) -> Span {
    // SAFETY: by the header.
    let Some(name) = (unsafe { text(name) }) else { return Span::NONE };
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| handle.param(name).into()) }
}

unsafe extern "C" fn param_count(req: *mut Request) -> usize {
    // SAFETY: by the header.
    unsafe { read(req, 0, |handle| handle.request().param_count()) }
}

unsafe extern "C" fn param_at(req: *mut Request, at: usize) -> Span {
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| handle.request().param(at).into()) }
}

unsafe extern "C" fn cookie(req: *mut Request, name: *const c_char) -> Span {
    // SAFETY: by the header.
    let Some(name) = (unsafe { text(name) }) else { return Span::NONE };
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| handle.cookie(name).into()) }
}

unsafe extern "C" fn body(req: *mut Request) -> Span {
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| handle.body().into()) }
}

unsafe extern "C" fn remote_addr(req: *mut Request) -> Span {
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| handle.request().remote_addr().into()) }
}

unsafe extern "C" fn remote_port(req: *mut Request) -> u16 {
    // SAFETY: by the header.
    unsafe { read(req, 0, |handle| handle.request().remote_port()) }
}

unsafe extern "C" fn id(req: *mut Request) -> u64 {
    // SAFETY: by the header.
    unsafe { read(req, 0, |handle| handle.request().id()) }
}

unsafe extern "C" fn is_http2(req: *mut Request) -> c_int {
    // SAFETY: by the header.
    unsafe { read(req, 0, |handle| c_int::from(handle.request().is_http2())) }
}

unsafe extern "C" fn is_https(req: *mut Request) -> c_int {
    // SAFETY: by the header.
    unsafe { read(req, 0, |handle| c_int::from(handle.request().is_https())) }
}

unsafe extern "C" fn tls(req: *mut Request, name: *const c_char) -> Span {
    // SAFETY: by the header.
    let Some(name) = (unsafe { text(name) }) else { return Span::NONE };
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| handle.request().tls_fact(name).into()) }
}

unsafe extern "C" fn auth(req: *mut Request) -> Span {
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| unless_empty(handle.request().auth())) }
}

unsafe extern "C" fn session(req: *mut Request) -> Span {
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| unless_empty(handle.request().session())) }
}

/// What is there, if it is not empty.
fn unless_empty(bytes: &[u8]) -> Span {
    Some(bytes).filter(|bytes| !bytes.is_empty()).into()
}

unsafe extern "C" fn base_path(req: *mut Request) -> Span {
    // SAFETY: by the header.
    unsafe { read(req, Span::NONE, |handle| handle.request().base_path().into()) }
}

unsafe extern "C" fn respond(
    req: *mut Request,
    status: c_int,
    content_type: *const c_char,
    data: *const c_void,
    len: usize,
) -> Code {
    // SAFETY: by the header.
    let (content_type, data) = unsafe { (text(content_type), run(data, len)) };
    let Some(data) = data else { return Code::Invalid };
    // SAFETY: by the header.
    unsafe { with(req, Code::Invalid, |handle| handle.respond(status, content_type, || Bytes::copy_from_slice(data))) }
}

unsafe extern "C" fn respond_static(
    req: *mut Request,
    status: c_int,
    content_type: *const c_char,
    data: *const c_void,
    len: usize,
) -> Code {
    // SAFETY: by the header; the bytes live as long as the process.
    let (content_type, data) = unsafe { (text(content_type), run(data, len)) };
    let Some(data) = data else { return Code::Invalid };
    // SAFETY: by the header.
    unsafe { with(req, Code::Invalid, |handle| handle.respond(status, content_type, || Bytes::from_static(data))) }
}

/// Bytes that C lends until `release` is called.
struct Releasable {
    data: &'static [u8],
    release: Option<Callback>,
    arg: *mut c_void,
}

// SAFETY: the bytes do not change until they are released, and that may be done on any thread, by the header.
unsafe impl Send for Releasable {}
// SAFETY: as above.
unsafe impl Sync for Releasable {}

impl AsRef<[u8]> for Releasable {
    fn as_ref(&self) -> &[u8] {
        self.data
    }
}

impl Drop for Releasable {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // an error cannot be reported: the request that it belonged to may be long over
            // SAFETY: by the header, it is called once, after the last read of the bytes.
            let _ = unsafe { callback(release, self.arg) };
        }
    }
}

unsafe extern "C" fn respond_owned(
    req: *mut Request,
    status: c_int,
    content_type: *const c_char,
    data: *const c_void,
    len: usize,
    release: Option<Callback>,
    arg: *mut c_void,
) -> Code {
    // SAFETY: by the header; the bytes live until they are released, which is when `owned` is dropped.
    let (content_type, data) = unsafe { (text(content_type), run(data, len)) };
    let owned = Releasable { data: data.unwrap_or_default(), release, arg };
    if data.is_none() {
        return Code::Invalid;
    }
    // SAFETY: by the header.
    unsafe { with(req, Code::Invalid, |handle| handle.respond(status, content_type, || Bytes::from_owner(owned))) }
}

unsafe extern "C" fn add_header(req: *mut Request, name: *const c_char, value: *const c_char) -> Code {
    // SAFETY: by the header.
    let (Some(name), Some(value)) = (unsafe { (text(name), text(value)) }) else { return Code::Invalid };
    // SAFETY: by the header.
    unsafe { with(req, Code::Invalid, |handle| handle.add_header(name, value)) }
}

unsafe extern "C" fn set_session(req: *mut Request, json: *const c_char) -> Code {
    // SAFETY: by the header.
    let json = unsafe { text(json) };
    // SAFETY: by the header.
    unsafe { with(req, Code::Invalid, |handle| handle.set_session(json)) }
}

unsafe extern "C" fn fail(req: *mut Request, status: c_int, detail: *const c_char) -> Code {
    // SAFETY: by the header.
    let detail = String::from_utf8_lossy(unsafe { text(detail) }.unwrap_or_default());
    // SAFETY: by the header.
    unsafe { with(req, Code::Invalid, |handle| handle.fail(status, &detail)) }
}

unsafe extern "C" fn begin(req: *mut Request, status: c_int, content_type: *const c_char) -> Code {
    // SAFETY: by the header.
    let content_type = unsafe { text(content_type) };
    // SAFETY: by the header.
    unsafe { with(req, Code::Invalid, |handle| handle.begin(status, content_type)) }
}

/// # Safety
/// By the header.
unsafe fn piece(req: *mut Request, data: *const c_void, len: usize, wait: bool) -> Code {
    // SAFETY: the caller's promise.
    let Some(data) = (unsafe { run(data, len) }) else { return Code::Invalid };
    // SAFETY: the caller's promise.
    unsafe { with(req, Code::Invalid, |handle| handle.send(Bytes::copy_from_slice(data), wait)) }
}

unsafe extern "C" fn send(req: *mut Request, data: *const c_void, len: usize) -> Code {
    // SAFETY: by the header.
    unsafe { piece(req, data, len, true) }
}

unsafe extern "C" fn try_send(req: *mut Request, data: *const c_void, len: usize) -> Code {
    // SAFETY: by the header.
    unsafe { piece(req, data, len, false) }
}

unsafe extern "C" fn end(req: *mut Request) -> Code {
    // SAFETY: by the header.
    unsafe { with(req, Code::Invalid, Handle::end) }
}

unsafe extern "C" fn defer(req: *mut Request) -> *mut Request {
    // SAFETY: by the header.
    unsafe { with(req, std::ptr::null_mut(), Handle::defer) }
}

unsafe extern "C" fn release(handle: *mut Request) {
    entered((), || {
        // SAFETY: by the header.
        if let Some(Handle::Shared(shared)) = unsafe { Handle::from_address(handle) } {
            if shared.give_back() {
                // SAFETY: `defer` has made the address of a hold; this is its last use, or that of another hold of the
                // same.
                drop(unsafe { Arc::from_raw(handle.cast::<Shared>()) });
            }
        }
    });
}

unsafe extern "C" fn is_cancelled(req: *mut Request) -> c_int {
    // SAFETY: by the header.
    unsafe { read(req, 1, |handle| c_int::from(handle.is_cancelled())) }
}

unsafe extern "C" fn on_cancel(req: *mut Request, function: Option<Callback>, arg: *mut c_void) -> Code {
    // SAFETY: by the header.
    unsafe { with(req, Code::Invalid, |handle| handle.on_cancel(function.map(|function| Call(function, arg)))) }
}

unsafe extern "C" fn times(req: *mut Request, times: *mut Times) -> Code {
    // SAFETY: by the header, it is NULL or has at least its first member, which says how much there is.
    if times.is_null() || unsafe { (*times).size } < size_of::<Times>() {
        return Code::Invalid;
    }
    // SAFETY: by the header.
    let Some(read) = (unsafe { read(req, None, |handle| Some(handle.times())) }) else { return Code::Invalid };
    // SAFETY: it is as large as that, or larger: of a later version, whose further members are not ours.
    unsafe { times.write(Times { size: (*times).size, ..read }) };
    Code::Ok
}

unsafe extern "C" fn mark(req: *mut Request, name: *const c_char, duration_ns: u64) -> Code {
    // SAFETY: by the header.
    let Some(name) = (unsafe { text(name) }) else { return Code::Invalid };
    // SAFETY: by the header.
    unsafe { with(req, Code::Invalid, |handle| handle.mark(name, duration_ns)) }
}

unsafe extern "C" fn log(req: *mut Request, level: c_int, line: *const c_char) {
    // SAFETY: by the header.
    let line = String::from_utf8_lossy(unsafe { text(line) }.unwrap_or_default());
    // SAFETY: by the header.
    unsafe { read(req, (), |handle| handle.log(level.clamp(0, 2) as u8, &line)) }
}
