//! The functions of `drover_api` for WebSockets. They check addresses and lengths, and leave the rest to
//! `open_websockets`.

use crate::abi::{Code, Socket};
use crate::guard::entered;
use crate::lent::{run, text};
use crate::open_websockets::{self, name};
use std::ffi::{c_char, c_int, c_void};

pub unsafe extern "C" fn send(socket: *mut Socket, is_binary: c_int, data: *const c_void, len: usize) -> Code {
    // SAFETY: by the header.
    let Some(message) = (unsafe { run(data, len) }) else { return Code::Invalid };
    entered(Code::Gone, || open_websockets::send(name(socket), is_binary != 0, message))
}

pub unsafe extern "C" fn close(socket: *mut Socket, code: c_int, reason: *const c_char) -> Code {
    // SAFETY: by the header.
    let reason = unsafe { text(reason) }.unwrap_or_default();
    entered(Code::Gone, || open_websockets::close(name(socket), code, reason))
}

pub unsafe extern "C" fn is_open(socket: *mut Socket) -> c_int {
    entered(0, || open_websockets::is_open(name(socket)).into())
}

pub unsafe extern "C" fn id(socket: *mut Socket) -> u64 {
    name(socket)
}

pub unsafe extern "C" fn set_data(socket: *mut Socket, data: *mut c_void) -> Code {
    entered(Code::Gone, || open_websockets::keep(name(socket), data))
}

pub unsafe extern "C" fn data(socket: *mut Socket) -> *mut c_void {
    entered(std::ptr::null_mut(), || open_websockets::kept(name(socket)))
}

pub unsafe extern "C" fn join(socket: *mut Socket, room: *const c_char, called: *const c_char) -> Code {
    // SAFETY: by the header.
    let (room, called) = unsafe { (text(room).unwrap_or_default(), text(called).unwrap_or_default()) };
    entered(Code::Gone, || open_websockets::join(name(socket), room, called))
}

pub unsafe extern "C" fn leave(socket: *mut Socket, room: *const c_char) -> Code {
    // SAFETY: by the header.
    let room = unsafe { text(room) }.unwrap_or_default();
    entered(Code::Gone, || open_websockets::part(name(socket), room))
}

pub unsafe extern "C" fn broadcast(
    room: *const c_char,
    except: *mut Socket,
    is_binary: c_int,
    data: *const c_void,
    len: usize,
) -> Code {
    // SAFETY: by the header.
    let (Some(room), Some(message)) = (unsafe { (text(room), run(data, len)) }) else { return Code::Invalid };
    entered(Code::Gone, || open_websockets::broadcast(room, name(except), is_binary != 0, message))
}
