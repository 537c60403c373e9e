//! The kinds of things that forks must not share.

/// What one thing of a kind is called, and several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) one: &'static str,
    pub(crate) several: &'static str,
}

pub(crate) const CONNECTION: Kind = Kind { one: "connection", several: "connections" };
pub(crate) const SOCKET: Kind = Kind { one: "socket", several: "sockets" };
pub(crate) const LISTENER: Kind = Kind { one: "listening socket", several: "listening sockets" };
pub(crate) const PIPE: Kind = Kind { one: "pipe to another process", several: "pipes to other processes" };
pub(crate) const FILE: Kind = Kind { one: "file that is written in place", several: "files that are written in place" };
pub(crate) const DEVICE: Kind = Kind { one: "device", several: "devices" };
pub(crate) const THREAD: Kind = Kind { one: "thread", several: "threads" };
