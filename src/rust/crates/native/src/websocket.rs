//! Calls of handlers of WebSockets, of both interfaces.

use crate::abi::{Code, Socket, SocketEvent, SocketHandler, WsHandler};
use crate::direct::Direct;
use crate::open_websockets::{self, address};
use crate::registry::{self, Callee, Registry};
use crate::{api, guard, turn, websocket_api};
use exchange::{Answer, RequestView};
use std::ffi::{c_char, c_int};
use std::sync::Arc;
use wire::websocket::{Event, What};

/// `drover_socket_kind`, and `drogonr_ws_event_t`.
const CONNECT: c_int = 0;
const MESSAGE: c_int = 1;
const CLOSE: c_int = 2;

/// Has the handler `number` deal with it. `None` when all is well; see [`exchange::Handlers::event`].
pub fn event(
    number: u32,
    registry: &Arc<Registry>,
    event: &Event<'_>,
    request: Option<&dyn RequestView>,
) -> Option<Answer> {
    let Some(entry) = registry.entry(number) else { return Some(registry::unknown()) };
    let connection = event.connection;
    match event.what {
        What::Connect(_) => open_websockets::enter(connection),
        // as a handler of another process that had it may send what this one cannot know of
        _ if !open_websockets::is_open(connection) => {
            return Some(registry::failed("its connection is not this process's"))
        }
        What::Text(_) | What::Binary(_) | What::Close { .. } => {}
    }
    let _turn = turn::must_not_wait();
    let refused = match entry.callee {
        Callee::Ws(function) => call_ws(function, event),
        Callee::Socket(function) => call(function, number, registry, event, request),
        Callee::Unary(_) | Callee::Stream(_) | Callee::Drover(_) => {
            Some(registry::failed("it handles requests, and no WebSockets"))
        }
    };
    let is_over = matches!(event.what, What::Close { .. });
    if is_over || (matches!(event.what, What::Connect(_)) && refused.is_some()) {
        open_websockets::leave(connection);
    }
    refused
}

fn call(
    function: SocketHandler,
    number: u32,
    registry: &Arc<Registry>,
    event: &Event<'_>,
    request: Option<&dyn RequestView>,
) -> Option<Answer> {
    let entry = registry.entry(number)?;
    let request = request.map(|request| Direct::new(number, registry, request, None));
    let (kind, is_binary, code, bytes) = match event.what {
        What::Connect(protocol) => (CONNECT, 0, 0, protocol),
        What::Text(bytes) => (MESSAGE, 0, 0, bytes),
        What::Binary(bytes) => (MESSAGE, 1, 0, bytes),
        What::Close { code, reason } => (CLOSE, 0, c_int::from(code), reason),
    };
    let req = request.as_ref().map_or(std::ptr::null_mut(), Direct::address);
    let event_of_c = SocketEvent { size: size_of::<SocketEvent>(), kind, is_binary, code, bytes: bytes.into(), req };
    if kind == CLOSE {
        open_websockets::closes(event.connection);
    }
    // SAFETY: function and data are those of one spec; event and request are good until the call returns.
    let outcome = unsafe { guard::socket(function, address(event.connection), &event_of_c, &api::TABLE, entry.data()) };
    outcome.err().map(|why| registry::failed(&why)).or_else(|| request?.into_answer())
}

fn call_ws(function: WsHandler, event: &Event<'_>) -> Option<Answer> {
    let (kind, message) = match event.what {
        What::Connect(_) => (CONNECT, None),
        What::Text(bytes) => (MESSAGE, Some((bytes, false))),
        What::Binary(bytes) => (MESSAGE, Some((bytes, true))),
        What::Close { .. } => (CLOSE, None),
    };
    if kind == CLOSE {
        open_websockets::closes(event.connection);
    }
    // SAFETY: the function is of a spec with this signature.
    let outcome = unsafe { guard::ws(function, address(event.connection), kind, message, (send, close, is_connected)) };
    outcome.err().map(|why| registry::failed(&why))
}

/// `drogonr_ws_send_fn`
unsafe extern "C" fn send(session: *mut Socket, data: *const c_char, len: usize, binary: c_int) -> c_int {
    // SAFETY: by the header.
    match unsafe { websocket_api::send(session, binary, data.cast(), len) } {
        Code::Ok => 0,
        _ => -1,
    }
}

/// `drogonr_ws_close_fn`
unsafe extern "C" fn close(session: *mut Socket) {
    guard::entered((), || {
        open_websockets::close(open_websockets::name(session), 1000, b"");
    });
}

/// `drogonr_ws_is_connected_fn`
unsafe extern "C" fn is_connected(session: *mut Socket) -> c_int {
    // SAFETY: by the header.
    unsafe { websocket_api::is_open(session) }
}
