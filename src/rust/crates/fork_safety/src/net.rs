//! Sockets: to whom they go.

use crate::kind::{self, Kind};
use rustix::fd::BorrowedFd;
use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
use rustix::net::{getpeername, getsockname, netlink, socket_with, AddressFamily, RecvFlags, SendFlags};
use rustix::net::{SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType};
use std::collections::HashSet;
use std::net::SocketAddr;

/// One end of a socket: its port, or its path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Port(u16),
    Path(Vec<u8>),
}

/// Where a socket listens, if it does.
pub(crate) fn listens_on(fd: BorrowedFd<'_>) -> Option<End> {
    socket_acceptconn(fd).ok()?.then(|| own_end(fd)).flatten()
}

fn own_end(fd: BorrowedFd<'_>) -> Option<End> {
    let own = getsockname(fd).ok()?;
    match SocketAddr::try_from(own.clone()) {
        Ok(address) => Some(End::Port(address.port())),
        Err(_) => path(own).map(End::Path),
    }
}

fn path(address: SocketAddrAny) -> Option<Vec<u8>> {
    let address = SocketAddrUnix::try_from(address).ok()?;
    address.path_bytes().map(<[u8]>::to_vec)
}

/// What a socket is, in words, if forks must not share it. `here`: the inodes of all that are open.
pub(crate) fn unshared(
    fd: BorrowedFd<'_>,
    inode: u64,
    here: &HashSet<u64>,
    listeners: &[End],
) -> Option<(Kind, String)> {
    let family = socket_domain(fd).ok()?;
    let messages = socket_type(fd).ok()? == SocketType::DGRAM;
    if family == AddressFamily::NETLINK || (family == AddressFamily::UNIX && messages) {
        // the system's own, and such as the system's log is written to, each message by itself
        return None;
    }
    if family == AddressFamily::UNIX && peer_of(inode).is_some_and(|peer| here.contains(&peer)) {
        return None;
    }
    let Some(peer) = getpeername(fd).ok().flatten() else {
        return Some(match listens_on(fd) {
            Some(end) => (kind::LISTENER, in_words(end)),
            None => (kind::SOCKET, String::new()),
        });
    };
    // a program that hosts R, such as an editor, has clients of its own
    if own_end(fd).is_some_and(|own| listeners.contains(&own)) {
        return None;
    }
    let whom = match SocketAddr::try_from(peer.clone()) {
        Ok(address) => address.to_string(),
        Err(_) => path(peer).map_or_else(|| "another process".to_owned(), |path| in_words(End::Path(path))),
    };
    Some((kind::CONNECTION, whom))
}

fn in_words(end: End) -> String {
    match end {
        End::Port(port) => format!("port {port}"),
        End::Path(path) => String::from_utf8_lossy(&path).into_owned(),
    }
}

/// The inode of the other end of a socket within this machine. The system tells over a netlink socket
/// (`sock_diag(7)`), where it has that.
fn peer_of(inode: u64) -> Option<u64> {
    const BY_FAMILY: u16 = 20;
    const REQUEST: u16 = 1;
    const SHOW_PEER: u32 = 4;
    const PEER: u16 = 2;
    let (unix, any) = (AddressFamily::UNIX.as_raw() as u8, [0xff; 4]);
    let mut ask = Vec::with_capacity(40);
    // nlmsghdr: length, type, flags, sequence, port
    for part in [&40u32.to_ne_bytes()[..], &BY_FAMILY.to_ne_bytes(), &REQUEST.to_ne_bytes(), &[0; 8]] {
        ask.extend_from_slice(part);
    }
    // unix_diag_req: family, protocol, states, inode, what to show, cookie
    let inode = u32::try_from(inode).ok()?;
    for part in [&[unix, 0, 0, 0][..], &any, &inode.to_ne_bytes(), &SHOW_PEER.to_ne_bytes(), &any, &any] {
        ask.extend_from_slice(part);
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG)).ok()?;
    rustix::net::send(&socket, &ask, SendFlags::empty()).ok()?;
    let mut answer = [0u8; 512];
    // the system has answered by the time that it was asked
    let (n, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty()).ok()?;
    let answer = answer.get(..n)?;
    if u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?) != BY_FAMILY {
        return None;
    }
    // behind nlmsghdr and unix_diag_msg, attributes: length, type, value, each on a boundary of 4 bytes
    let mut rest = answer.get(32..)?;
    while let Some(head) = rest.get(..4) {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        if u16::from_ne_bytes([head[2], head[3]]) == PEER {
            return Some(u64::from(u32::from_ne_bytes(rest.get(4..8)?.try_into().ok()?)));
        }
        rest = rest.get(length.max(4).next_multiple_of(4)..)?;
    }
    None
}
