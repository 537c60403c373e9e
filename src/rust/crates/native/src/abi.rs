//! `inst/include/drover.h` in Rust: its types, one for one. The header says what they mean; a test below has a C
//! compiler compare both.

use std::ffi::{c_char, c_int, c_void};

/// `drover_bytes`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Span {
    pub ptr: *const c_char,
    pub len: usize,
}

impl Span {
    /// what is not there
    pub const NONE: Span = Span { ptr: std::ptr::null(), len: 0 };
}

impl From<&[u8]> for Span {
    fn from(bytes: &[u8]) -> Self {
        Span { ptr: bytes.as_ptr().cast(), len: bytes.len() }
    }
}

impl From<Option<&[u8]>> for Span {
    fn from(bytes: Option<&[u8]>) -> Self {
        bytes.map_or(Span::NONE, Span::from)
    }
}

/// `drover_request`, of which C knows the address only: it is that of a [`crate::handle::Handle`].
#[repr(C)]
pub struct Request {
    _opaque: [u8; 0],
}

/// `drogonr_stream_session_t`, likewise: it is a [`crate::stream::Session`].
#[repr(C)]
pub struct StreamSession {
    _opaque: [u8; 0],
}

/// `drover_socket` and `drogonr_ws_session_t`: no address, but the number of a connection.
#[repr(C)]
pub struct Socket {
    _opaque: [u8; 0],
}

/// `drover_socket_event`
#[repr(C)]
pub struct SocketEvent {
    pub size: usize,
    pub kind: c_int,
    pub is_binary: c_int,
    pub code: c_int,
    pub bytes: Span,
    pub req: *mut Request,
}

/// `drover_code`
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    Ok = 0,
    Gone = 1,
    Full = 2,
    Done = 3,
    Invalid = 4,
}

/// `drover_times`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Times {
    pub size: usize,
    pub received_ns: u64,
    pub started_ns: u64,
    pub deadline_ns: u64,
}

/// `void (*)(void *arg)`
pub type Callback = unsafe extern "C" fn(*mut c_void);
/// `drover_handler_t`
pub type Handler = unsafe extern "C" fn(*mut Request, *const Api, *mut c_void) -> c_int;
/// `drogonr_unary_handler_t`
pub type UnaryHandler = unsafe extern "C" fn(
    *const c_char,
    usize,
    *const c_char,
    *const *const c_char,
    usize,
    *const *const c_char,
    usize,
    *mut *mut c_char,
    *mut usize,
    *mut c_int,
    *mut *mut c_char,
) -> c_int;
/// `drogonr_send_chunk_fn`
pub type SendChunk = unsafe extern "C" fn(*mut StreamSession, *const c_char, usize) -> c_int;
/// `drogonr_close_stream_fn`
pub type CloseStream = unsafe extern "C" fn(*mut StreamSession);
/// `drogonr_is_cancelled_fn`
pub type IsCancelled = unsafe extern "C" fn(*mut StreamSession) -> c_int;
/// `drogonr_stream_handler_t`
pub type StreamHandler = unsafe extern "C" fn(
    *const c_char,
    usize,
    *const c_char,
    *const *const c_char,
    usize,
    *const *const c_char,
    usize,
    *mut StreamSession,
    SendChunk,
    CloseStream,
    IsCancelled,
    *mut *mut c_char,
) -> c_int;

/// `drover_socket_handler_t`
pub type SocketHandler = unsafe extern "C" fn(*mut Socket, *const SocketEvent, *const Api, *mut c_void) -> c_int;
/// `drogonr_ws_send_fn`
pub type WsSend = unsafe extern "C" fn(*mut Socket, *const c_char, usize, c_int) -> c_int;
/// `drogonr_ws_close_fn`
pub type WsClose = unsafe extern "C" fn(*mut Socket);
/// `drogonr_ws_is_connected_fn`
pub type WsIsConnected = unsafe extern "C" fn(*mut Socket) -> c_int;
/// `drogonr_ws_handler_t`
pub type WsHandler =
    unsafe extern "C" fn(*mut Socket, c_int, *const c_char, usize, c_int, WsSend, WsClose, WsIsConnected) -> c_int;

type Read = unsafe extern "C" fn(*mut Request) -> Span;
type ReadByName = unsafe extern "C" fn(*mut Request, *const c_char) -> Span;

/// `drover_api`
#[repr(C)]
pub struct Api {
    pub size: usize,
    pub version: u32,
    pub method: Read,
    pub path: Read,
    pub target: Read,
    pub query: Read,
    pub header: ReadByName,
    pub header_count: unsafe extern "C" fn(*mut Request) -> usize,
    pub header_at: unsafe extern "C" fn(*mut Request, usize, *mut Span, *mut Span) -> c_int,
    pub param: ReadByName,
    pub param_count: unsafe extern "C" fn(*mut Request) -> usize,
    pub param_at: unsafe extern "C" fn(*mut Request, usize) -> Span,
    pub cookie: ReadByName,
    pub body: Read,
    pub remote_addr: Read,
    pub remote_port: unsafe extern "C" fn(*mut Request) -> u16,
    pub id: unsafe extern "C" fn(*mut Request) -> u64,
    pub is_http2: unsafe extern "C" fn(*mut Request) -> c_int,
    pub respond: unsafe extern "C" fn(*mut Request, c_int, *const c_char, *const c_void, usize) -> Code,
    pub respond_static: unsafe extern "C" fn(*mut Request, c_int, *const c_char, *const c_void, usize) -> Code,
    pub respond_owned: unsafe extern "C" fn(
        *mut Request,
        c_int,
        *const c_char,
        *const c_void,
        usize,
        Option<Callback>,
        *mut c_void,
    ) -> Code,
    pub add_header: unsafe extern "C" fn(*mut Request, *const c_char, *const c_char) -> Code,
    pub fail: unsafe extern "C" fn(*mut Request, c_int, *const c_char) -> Code,
    pub begin: unsafe extern "C" fn(*mut Request, c_int, *const c_char) -> Code,
    pub send: unsafe extern "C" fn(*mut Request, *const c_void, usize) -> Code,
    pub try_send: unsafe extern "C" fn(*mut Request, *const c_void, usize) -> Code,
    pub end: unsafe extern "C" fn(*mut Request) -> Code,
    pub defer: unsafe extern "C" fn(*mut Request) -> *mut Request,
    pub release: unsafe extern "C" fn(*mut Request),
    pub is_cancelled: unsafe extern "C" fn(*mut Request) -> c_int,
    pub on_cancel: unsafe extern "C" fn(*mut Request, Option<Callback>, *mut c_void) -> Code,
    pub now_ns: extern "C" fn() -> u64,
    pub times: unsafe extern "C" fn(*mut Request, *mut Times) -> Code,
    pub mark: unsafe extern "C" fn(*mut Request, *const c_char, u64) -> Code,
    pub log: unsafe extern "C" fn(*mut Request, c_int, *const c_char),
    pub socket_send: unsafe extern "C" fn(*mut Socket, c_int, *const c_void, usize) -> Code,
    pub socket_close: unsafe extern "C" fn(*mut Socket, c_int, *const c_char) -> Code,
    pub socket_is_open: unsafe extern "C" fn(*mut Socket) -> c_int,
    pub socket_id: unsafe extern "C" fn(*mut Socket) -> u64,
    pub socket_set_data: unsafe extern "C" fn(*mut Socket, *mut c_void) -> Code,
    pub socket_data: unsafe extern "C" fn(*mut Socket) -> *mut c_void,
    pub socket_join: unsafe extern "C" fn(*mut Socket, *const c_char, *const c_char) -> Code,
    pub socket_leave: unsafe extern "C" fn(*mut Socket, *const c_char) -> Code,
    pub broadcast: unsafe extern "C" fn(*const c_char, *mut Socket, c_int, *const c_void, usize) -> Code,
    pub is_https: unsafe extern "C" fn(*mut Request) -> c_int,
    pub tls: ReadByName,
    pub auth: Read,
    pub base_path: Read,
    pub session: Read,
    pub set_session: unsafe extern "C" fn(*mut Request, *const c_char) -> Code,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;
    use std::path::Path;
    use std::process::Command;

    /// Sizes, and the places of all members: `what` in C, and what it is in Rust.
    macro_rules! layout {
        ($($type:ty as $name:literal: $($member:ident)*;)*) => {
            vec![$(
                (concat!("sizeof(", $name, ")").to_owned(), size_of::<$type>()),
                $((concat!("offsetof(", $name, ", ", stringify!($member), ")").to_owned(), offset_of!($type, $member)),)*
            )*]
        };
    }

    #[test]
    fn the_header_says_the_same() {
        let mut layout = layout! {
            Span as "drover_bytes": ptr len;
            Times as "drover_times": size received_ns started_ns deadline_ns;
            SocketEvent as "drover_socket_event": size kind is_binary code bytes req;
            Code as "drover_code":;
            Api as "drover_api": size version method path target query header header_count header_at param param_count
                param_at cookie body remote_addr remote_port id is_http2
                respond respond_static respond_owned add_header fail begin send try_send end defer release is_cancelled on_cancel now_ns times mark log
                socket_send socket_close socket_is_open socket_id socket_set_data socket_data socket_join socket_leave
                broadcast is_https tls auth base_path session set_session;
        };
        for (code, value) in [("OK", Code::Ok), ("GONE", Code::Gone), ("FULL", Code::Full), ("DONE", Code::Done)] {
            layout.push((format!("DROVER_{code}"), value as usize));
        }
        layout.push(("DROVER_INVALID".to_owned(), Code::Invalid as usize));
        layout.push(("DROVER_API_VERSION".to_owned(), crate::api::TABLE.version as usize));
        let checks: String = layout
            .iter()
            .enumerate()
            .map(|(i, (what, value))| format!("typedef char check_{i}[{what} == {value} ? 1 : -1]; /* {what} */\n"))
            .collect();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = std::env::temp_dir().join(format!("drover-layout-{}.c", std::process::id()));
        std::fs::write(&source, format!("#include <drover.h>\n{checks}")).unwrap();
        let include = folder.join("../../../../inst/include");
        let compiled =
            Command::new("cc").args(["-std=c99", "-fsyntax-only", "-I"]).arg(include).arg(&source).output().unwrap();
        std::fs::remove_file(&source).unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    }
}
