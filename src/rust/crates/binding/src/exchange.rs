//! A request to a server of this very session, and its answer: `dr_test()`. R runs the handler between two looks at the
//! connection, so nothing here waits. Not for other servers. Neighbours: `src/exchange.c`, R/test-client.R.

use crate::node::Str;
use crate::shield::{borrowed, shield, Error};
use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::ptr;

/// See the module.
pub struct Exchange {
    connection: UnixStream,
    request: Vec<u8>,
    /// how much of it the server has
    sent: usize,
    answer: Vec<u8>,
}

impl Exchange {
    fn begin(path: &[u8], request: &[u8]) -> std::io::Result<Self> {
        let connection = UnixStream::connect(OsStr::from_bytes(path))?;
        connection.set_nonblocking(true)?;
        Ok(Exchange { connection, request: request.to_vec(), sent: 0, answer: Vec::new() })
    }

    /// Sends and takes what can be. Whether the server has said all that it will.
    fn go_on(&mut self) -> bool {
        while self.sent < self.request.len() {
            match self.connection.write(&self.request[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                // it wants no more: its answer says why
                Err(_) => self.sent = self.request.len(),
            }
        }
        let mut piece = [0; 16 << 10];
        loop {
            match self.connection.read(&mut piece) {
                Ok(0) => return true,
                Ok(n) => self.answer.extend_from_slice(&piece[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return e.kind() != ErrorKind::WouldBlock,
            }
        }
    }
}

/// Begins an exchange over the socket at this path. Null, and an error, when it cannot connect.
///
/// # Safety
/// C lends the texts for the call; `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_exchange_begin(
    path: Str,
    request: *const u8,
    len: usize,
    error: *mut Error,
) -> *mut Exchange {
    // SAFETY: C lends both for the call.
    let (path, request) = unsafe { (path.as_bytes(), borrowed(request, len)) };
    let begun =
        shield(Err("the engine failed".to_owned()), || Exchange::begin(path, request).map_err(|e| e.to_string()));
    match begun {
        Ok(exchange) => Box::into_raw(Box::new(exchange)),
        Err(why) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, 0, why) };
            ptr::null_mut()
        }
    }
}

/// Goes on with it. 1 when the answer is whole, or will never be.
///
/// # Safety
/// `exchange` is live.
#[no_mangle]
pub unsafe extern "C" fn drv_exchange_go_on(exchange: *mut Exchange) -> i32 {
    // SAFETY: the caller's.
    let exchange = unsafe { &mut *exchange };
    shield(1, || i32::from(exchange.go_on()))
}

/// What has come.
///
/// # Safety
/// `exchange` is live, and nothing is done with it as long as the bytes are used.
#[no_mangle]
pub unsafe extern "C" fn drv_exchange_answer(exchange: *const Exchange) -> Str {
    // SAFETY: the caller's.
    Str::new(unsafe { &(*exchange).answer })
}

/// Ends it.
///
/// # Safety
/// `exchange` is live or null, and not used any more.
#[no_mangle]
pub unsafe extern "C" fn drv_exchange_free(exchange: *mut Exchange) {
    if !exchange.is_null() {
        // SAFETY: it was made by `Box::into_raw`.
        drop(unsafe { Box::from_raw(exchange) });
    }
}
