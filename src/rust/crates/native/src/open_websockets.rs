//! The WebSockets of this process that have a handler in C, and the server that they belong to, for the threads that
//! send on one: they have no other way to it, as the functions that C calls by drogonR's interface are given no more
//! than a connection.

use crate::abi::{Code, Socket};
use exchange::WebSocketCommands;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use wire::command::Command;
use wire::websocket::LONGEST_MESSAGE;

struct Known {
    /// what its handler keeps for it
    kept: *mut c_void,
    /// its handler is being told of the close
    is_closed: bool,
}

// SAFETY: the address is only handed to handlers, which decide on its use.
unsafe impl Send for Known {}
// SAFETY: as above.
unsafe impl Sync for Known {}

#[derive(Default)]
struct All {
    /// a process has one server at a time, which names no connection twice
    server: Option<Weak<dyn WebSocketCommands>>,
    /// by the names of connections; a name is what C has for an address
    known: HashMap<u64, Known>,
}

static ALL: RwLock<Option<All>> = RwLock::new(None);

/// Longest reason of a close, so that it fits into a control frame (RFC 6455, section 5.5).
const LONGEST_REASON: usize = 123;

fn read<T>(f: impl FnOnce(&All) -> Option<T>) -> Option<T> {
    // nothing panics while holding it
    ALL.read().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(f)
}

fn write<T>(f: impl FnOnce(&mut All) -> T) -> T {
    f(ALL.write().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// The server of this process.
pub fn belong_to(server: Weak<dyn WebSocketCommands>) {
    write(|all| all.server = Some(server));
}

/// A connection can be sent to from now on.
pub fn enter(connection: u64) {
    write(|all| all.known.insert(connection, Known { kept: std::ptr::null_mut(), is_closed: false }));
}

/// And now not any more; what its handler keeps for it is still known.
pub fn closes(connection: u64) {
    write(|all| all.known.get_mut(&connection).map(|known| known.is_closed = true));
}

/// Its handler has heard of the close.
pub fn leave(connection: u64) {
    write(|all| all.known.remove(&connection));
}

/// As C has it.
pub fn address(connection: u64) -> *mut Socket {
    std::ptr::without_provenance_mut(connection as usize)
}

/// Its name.
pub fn name(socket: *mut Socket) -> u64 {
    socket.addr() as u64
}

/// Whether it is open.
pub fn is_open(connection: u64) -> bool {
    read(|all| all.known.get(&connection).map(|known| !known.is_closed)).unwrap_or(false)
}

/// What the handler keeps for it.
pub fn kept(connection: u64) -> *mut c_void {
    read(|all| all.known.get(&connection).map(|known| known.kept)).unwrap_or(std::ptr::null_mut())
}

/// Keeps that from now on.
pub fn keep(connection: u64, data: *mut c_void) -> Code {
    write(|all| all.known.get_mut(&connection).map(|known| known.kept = data)).map_or(Code::Gone, |()| Code::Ok)
}

/// Has the server do this.
fn say(command: &Command<'_>) -> Code {
    let server: Option<Arc<dyn WebSocketCommands>> = read(|all| all.server.as_ref()?.upgrade());
    match server {
        // without the lock: it may take its time
        Some(server) if server.say(command) => Code::Ok,
        _ => Code::Gone,
    }
}

/// The same, for a connection of this process.
fn say_on(connection: u64, command: &Command<'_>) -> Code {
    if is_open(connection) {
        say(command)
    } else {
        Code::Gone
    }
}

fn is_message(binary: bool, message: &[u8]) -> bool {
    message.len() <= LONGEST_MESSAGE && (binary || std::str::from_utf8(message).is_ok())
}

fn is_room(room: &[u8]) -> bool {
    !room.is_empty() && std::str::from_utf8(room).is_ok()
}

/// A message goes to a connection.
pub fn send(to: u64, binary: bool, message: &[u8]) -> Code {
    if !is_message(binary, message) {
        return Code::Invalid;
    }
    say_on(to, &Command::Send { to, binary, message })
}

/// It is closed.
pub fn close(connection: u64, code: i32, reason: &[u8]) -> Code {
    let code = u16::try_from(code).ok().filter(|code| matches!(code, 1000 | 1001 | 1003 | 1007..=1013 | 3000..=4999));
    let Some(code) = code.filter(|_| reason.len() <= LONGEST_REASON && std::str::from_utf8(reason).is_ok()) else {
        return Code::Invalid;
    };
    say_on(connection, &Command::Close { connection, code, reason })
}

/// It is in a room.
pub fn join(connection: u64, room: &[u8], name: &[u8]) -> Code {
    if !is_room(room) || std::str::from_utf8(name).is_err() {
        return Code::Invalid;
    }
    say_on(connection, &Command::Join { connection, room, name })
}

/// And now not any more.
pub fn part(connection: u64, room: &[u8]) -> Code {
    if !is_room(room) {
        return Code::Invalid;
    }
    say_on(connection, &Command::Leave { connection, room })
}

/// A message goes to a room.
pub fn broadcast(room: &[u8], except: u64, binary: bool, message: &[u8]) -> Code {
    if !is_room(room) || !is_message(binary, message) {
        return Code::Invalid;
    }
    say(&Command::Broadcast { room, binary, message, except })
}
