//! What has happened on a WebSocket. `src/websockets.c` calls this.

use crate::node::Str;
use crate::request::Cell;
use crate::shield::shield;
use wire::websocket::{Event, What};

/// `drv_event` in `drover_rust.h`.
#[repr(C)]
pub struct CEvent {
    connection: f64,
    /// 0 connect, 1 a message of text, 2 of bytes, 3 close
    kind: i32,
    code: i32,
    state: Str,
    /// of a connect the sub-protocol, of a close the reason
    text: Str,
}

/// What has happened, of the request in `cell`. 0 when it is none of a WebSocket.
///
/// # Safety
/// `cell` is live, `event` is valid for writing. The texts live as long as the request.
#[no_mangle]
pub unsafe extern "C" fn drv_cell_event(cell: *const Cell, event: *mut CEvent) -> i32 {
    // SAFETY: the caller's.
    let cell = unsafe { &*cell };
    shield(0, || {
        let Some(Event { connection, state, what }) = cell.event() else { return 0 };
        let (kind, code, text) = match what {
            What::Connect(protocol) => (0, 0, protocol),
            What::Text(_) => (1, 0, &[][..]),
            What::Binary(_) => (2, 0, &[][..]),
            What::Close { code, reason } => (3, i32::from(code), reason),
        };
        let read = CEvent { connection: connection as f64, kind, code, state: Str::new(state), text: Str::new(text) };
        // SAFETY: the caller's.
        unsafe { event.write(read) };
        1
    })
}
