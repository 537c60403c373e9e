//! Sockets between processes that keep messages whole and in order, and whose end is seen.

use rustix::net::{socketpair, AddressFamily, SocketFlags, SocketType};
use std::io;
use std::os::fd::OwnedFd;

/// Both ends, which never block.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?)
}
