//! Where a server listens: TCP addresses, sockets in the file system, or what it was started with.
//!
//! A socket is bound first and listens later ([`Listener::listen`]): no client is to connect before the server can
//! answer. `socket` has the connections from here on: to everything else both kinds are the same.

use rustix::fs::{chmod, lstat, unlink, FileType, Mode, Stat};
use rustix::io::{ioctl_fionbio, Errno};
use rustix::net::{
    accept_with, acceptfrom_with, bind, connect, getsockname, listen, socket_with, sockopt, AddressFamily,
    SocketAddrUnix, SocketFlags, SocketType,
};
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Connections that the kernel holds until they are accepted; it cuts this to its own limit.
const BACKLOG: i32 = 4096;
/// Bytes that the kernel takes for a connection ahead of what it can send: enough to keep it busy until the next turn.
/// It has what was sent and not acknowledged besides.
const UNSENT: u32 = 128 << 10;
/// Prefix of a host that is the path of a socket.
const UNIX: &str = "unix:";
/// Mode of a socket in the file system unless its address has one: the server's user and group may connect.
const USUAL_MODE: u32 = 0o660;
const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// an IP address and a port
    Inet(SocketAddr),
    /// the path of a socket
    Unix(PathBuf),
}

impl Address {
    /// The port; 0 when it has none.
    pub fn port(&self) -> u16 {
        match self {
            Address::Inet(address) => address.port(),
            Address::Unix(_) => 0,
        }
    }

    /// The URL of what is at `base_path` there, for clients on this machine, also when it is bound to all interfaces.
    /// `tls`: whether connections use TLS; those through a socket in the file system, which has no URL, never do.
    pub fn url(&self, tls: bool, base_path: &str) -> String {
        let Address::Inet(mut address) = *self else { return self.to_string() };
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        format!("{}://{address}{base_path}", if tls { "https" } else { "http" })
    }

    /// Whether only clients on this machine can reach it.
    pub fn is_local(&self) -> bool {
        self.inet().is_none_or(|address| address.ip().to_canonical().is_loopback())
    }

    /// The IP address and port, if it is one.
    pub fn inet(&self) -> Option<SocketAddr> {
        match self {
            Address::Inet(address) => Some(*address),
            Address::Unix(_) => None,
        }
    }
}

/// As settings have it: `127.0.0.1:8080`, `unix:/run/app.sock`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Inet(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// an IP address and a port
    Inet(SocketAddr),
    /// a process of this machine
    Unix,
}

impl Peer {
    /// As handlers and the log have it. Processes have no address: theirs is the kind of their sockets.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self {
            Peer::Inet(address) => Some(address.ip()),
            Peer::Unix => None,
        }
    }

    pub(crate) fn port(&self) -> u16 {
        match self {
            Peer::Inet(address) => address.port(),
            Peer::Unix => 0,
        }
    }
}

/// The clients that a listener is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// clients of the app
    #[default]
    App,
    /// operators that query the server's state
    Admin,
    /// balancers that ask how much it can take: they get a line, and that is all (HAProxy's agent-check)
    Agent,
}

/// A bound socket.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    address: Address,
    role: Role,
    _file: Option<SocketFile>,
}

impl Listener {
    /// A socket at `HOST`, `HOST:PORT`, `[IPv6]:PORT` (port 0 for a free one), `unix:PATH` or `unix:PATH?mode=0660`;
    /// `port` is for a host without one. A socket's file is replaced when no process listens on it any more.
    ///
    /// # Errors
    /// A text that says what is in the way.
    pub fn bind(place: &str, port: u16) -> Result<Self, String> {
        if let Some(rest) = place.strip_prefix(UNIX) {
            return bind_unix(rest).map_err(|why| format!("cannot listen on {place}: {why}"));
        }
        let (host, port) = parse_inet(place, port).map_err(|why| format!("cannot listen on {place}: {why}"))?;
        let shown = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        bind_inet(host, port).map_err(|e| format!("cannot listen on {shown}:{port}: {e}"))
    }

    /// The same listener with this role.
    #[must_use]
    pub fn with_role(self, role: Role) -> Self {
        Listener { role, ..self }
    }

    /// The clients that it is for.
    pub fn role(&self) -> Role {
        self.role
    }

    /// A socket bound by the process that started the program. That process may listen on it already, and go on when
    /// this server has ended; it owns the socket's file, too.
    ///
    /// # Errors
    /// A text that says why it cannot be listened on.
    pub fn inherited(socket: OwnedFd) -> Result<Self, String> {
        adopt(socket).map_err(|why| format!("cannot listen on the socket that the program was started with: {why}"))
    }

    /// Clients may connect from now on.
    ///
    /// # Errors
    /// When the system refuses, as when another socket has begun to listen on the address since.
    pub fn listen(&self) -> io::Result<()> {
        Ok(listen(&self.socket, BACKLOG)?)
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// A connection that the kernel has accepted.
    pub(crate) fn accept(&self) -> io::Result<(OwnedFd, Peer)> {
        if let Address::Unix(_) = self.address {
            return Ok((accept_with(&self.socket, FLAGS)?, Peer::Unix));
        }
        let (io, peer) = acceptfrom_with(&self.socket, FLAGS)?;
        let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok()).ok_or(io::ErrorKind::ConnectionAborted)?;
        Ok((io, Peer::Inet(peer)))
    }
}

/// Host and port of a place; `port` where it has none.
fn parse_inet(place: &str, port: u16) -> Result<(&str, u16), &'static str> {
    const RIGHT: &str = "write HOST, HOST:PORT, [IPv6]:PORT or unix:PATH";
    let (host, rest) = match place.strip_prefix('[') {
        Some(inside) => inside.split_once(']').ok_or(RIGHT)?,
        // an IPv6 address without brackets has no port
        None if place.matches(':').count() > 1 => (place, ""),
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    if host.is_empty() {
        return Err(RIGHT);
    }
    match rest.strip_prefix(':') {
        Some(digits) => Ok((host, digits.parse().map_err(|_| "its port must be a number in 0..65535")?)),
        None if rest.is_empty() => Ok((host, port)),
        None => Err(RIGHT),
    }
}

fn bind_inet(host: &str, port: u16) -> io::Result<Listener> {
    let mut last = io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match bind_to(address) {
            Ok(listener) => return Ok(listener),
            Err(e) => last = e,
        }
    }
    Err(last)
}

fn bind_to(address: SocketAddr) -> io::Result<Listener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, FLAGS, None)?;
    set_for_connections(&socket)?;
    // an address whose last connections are still dying is free; one that another socket listens on is not
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    let bound = SocketAddr::try_from(getsockname(&socket)?)?;
    Ok(Listener { socket, address: Address::Inet(bound), role: Role::App, _file: None })
}

/// What connections inherit from the socket that they come by.
fn set_for_connections(socket: &OwnedFd) -> io::Result<()> {
    // without, a response in two writes waits 40 ms for the client's acknowledgement
    sockopt::set_tcp_nodelay(socket, true)?;
    // for a client that does not read, the system would keep megabytes
    socket2::SockRef::from(socket).set_tcp_notsent_lowat(UNSENT)
}

fn adopt(socket: OwnedFd) -> Result<Listener, String> {
    let refused = |e: Errno| if e == Errno::NOTSOCK { "it is no socket".to_owned() } else { e.to_string() };
    if sockopt::socket_type(&socket).map_err(refused)? != SocketType::STREAM {
        return Err("it is not for connections (ListenStream=)".to_owned());
    }
    let bound = getsockname(&socket).map_err(refused)?;
    let address = match bound.address_family() {
        AddressFamily::UNIX => {
            let bound = SocketAddrUnix::try_from(bound).map_err(refused)?;
            let path = bound.path_bytes().filter(|path| !path.is_empty()).ok_or("it has no path")?;
            Address::Unix(PathBuf::from(OsStr::from_bytes(path)))
        }
        _ => {
            set_for_connections(&socket).map_err(|e| e.to_string())?;
            Address::Inet(SocketAddr::try_from(bound).map_err(refused)?)
        }
    };
    ioctl_fionbio(&socket, true).map_err(refused)?;
    Ok(Listener { socket, address, role: Role::App, _file: None })
}

fn bind_unix(rest: &str) -> Result<Listener, String> {
    let (path, mode) = parse_unix(rest)?;
    let path = std::path::absolute(path).map_err(|e| e.to_string())?;
    let address = SocketAddrUnix::new(&path).map_err(|e| match e {
        Errno::NAMETOOLONG => "the path is too long: the system takes at most 107 bytes".to_owned(),
        e => e.to_string(),
    })?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None).map_err(|e| e.to_string())?;
    if let Err(e) = bind(&socket, &address) {
        if e != Errno::ADDRINUSE {
            return Err(e.to_string());
        }
        remove_leftover(&path, &address)?;
        bind(&socket, &address).map_err(|e| e.to_string())?;
    }
    let file = SocketFile::new(&path).map_err(|e| e.to_string())?;
    // in time: no client can connect before it listens
    chmod(&path, Mode::from_raw_mode(mode)).map_err(|e| format!("its mode cannot be set: {e}"))?;
    Ok(Listener { socket, address: Address::Unix(path), role: Role::App, _file: Some(file) })
}

/// `PATH`, or `PATH?mode=OCTAL`.
fn parse_unix(rest: &str) -> Result<(&Path, u32), String> {
    let (path, mode) = match rest.split_once("?mode=") {
        Some((path, digits)) => {
            let mode = u32::from_str_radix(digits, 8).ok().filter(|mode| *mode <= 0o777);
            (path, mode.ok_or_else(|| format!("`mode` must be an octal number such as 0660, not `{digits}`"))?)
        }
        None => (rest, USUAL_MODE),
    };
    if path.is_empty() {
        return Err("it has no path; write unix:/run/app.sock".to_owned());
    }
    Ok((Path::new(path), mode))
}

/// Removes the file of a socket on which no process listens, such as a server leaves that was killed.
fn remove_leftover(path: &Path, address: &SocketAddrUnix) -> Result<(), String> {
    let is_websocket = lstat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Socket);
    if !is_websocket {
        return Err("there is a file of that name that is no socket".to_owned());
    }
    let client = socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None).map_err(|e| e.to_string())?;
    match connect(&client, address) {
        Err(Errno::CONNREFUSED) => unlink(path).map_err(|e| e.to_string()),
        _ => Err("another process listens on it".to_owned()),
    }
}

/// The file of a socket. It is removed when this is dropped, by the process that made it, unless it is another's by
/// now.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
    process: u32,
}

impl SocketFile {
    fn new(path: &Path) -> Result<Self, Errno> {
        Ok(SocketFile { path: path.to_owned(), identity: identity(&lstat(path)?), process: std::process::id() })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = || lstat(&self.path).is_ok_and(|stat| identity(&stat) == self.identity);
        if self.process == std::process::id() && is_ours() {
            // if it fails the file stays: there is no caller left to report it to
            let _ = unlink(&self.path);
        }
    }
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_path_may_have_a_mode() {
        assert_eq!(parse_unix("/a/b"), Ok((Path::new("/a/b"), 0o660)));
        assert_eq!(parse_unix("b?mode=0600"), Ok((Path::new("b"), 0o600)));
        for wrong in ["", "?mode=600", "a?mode=", "a?mode=9", "a?mode=1777"] {
            assert!(parse_unix(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_place_may_have_a_port() {
        for (place, host, port) in [
            ("127.0.0.1", "127.0.0.1", 7),
            ("127.0.0.1:80", "127.0.0.1", 80),
            ("localhost:0", "localhost", 0),
            ("::1", "::1", 7),
            ("[::1]", "::1", 7),
            ("[::1]:80", "::1", 80),
        ] {
            assert_eq!(parse_inet(place, 7), Ok((host, port)), "{place}");
        }
        for wrong in ["", ":80", "a:", "a:b", "a:65536", "[::1", "[::1]80", "[]:80", "a:-1"] {
            assert!(parse_inet(wrong, 7).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_url_is_to_click() {
        let url = |text: &str| Address::Inet(text.parse().unwrap()).url(false, "/app");
        assert_eq!((&*url("0.0.0.0:80"), &*url("[::]:80")), ("http://127.0.0.1:80/app", "http://[::1]:80/app"));
        assert_eq!(url("127.0.0.1:80"), "http://127.0.0.1:80/app");
        assert_eq!(Address::Unix("/run/a".into()).url(true, "/app"), "unix:/run/a");
        assert_eq!(Address::Inet("[::]:443".parse().unwrap()).url(true, ""), "https://[::1]:443");
        let is_local = |text: &str| Address::Inet(text.parse().unwrap()).is_local();
        assert!(is_local("127.3.0.1:1") && is_local("[::1]:1") && !is_local("0.0.0.0:1") && !is_local("[::]:1"));
    }

    #[test]
    fn the_kernel_keeps_little_for_a_client_that_does_not_read() {
        use std::io::Write;
        let listener = Listener::bind("127.0.0.1", 0).unwrap();
        listener.listen().unwrap();
        let _client = std::net::TcpStream::connect(listener.address().inet().unwrap()).unwrap();
        let flags = SocketFlags::NONBLOCK;
        let mut socket = std::net::TcpStream::from(accept_with(&listener.socket, flags).unwrap());
        let mut taken = 0;
        while let Ok(n) = socket.write(&[0; 16 << 10]) {
            taken += n;
        }
        // and what the client's side has room for; it would be 2.5 MB
        assert!((100 << 10..1 << 20).contains(&taken), "{taken} bytes");
    }

    #[test]
    fn a_socket_of_others_is_taken_when_it_is_for_connections() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = Listener::inherited(std::os::unix::net::UnixListener::bind(&path).unwrap().into()).unwrap();
        assert_eq!(listener.address(), &Address::Unix(path.clone()));
        listener.listen().unwrap();
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(listener);
        assert!(path.exists(), "the file is theirs");
        let theirs = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let listener = Listener::inherited(theirs.try_clone().unwrap().into()).unwrap();
        assert_eq!(listener.address(), &Address::Inet(theirs.local_addr().unwrap()));
        let error = |socket: OwnedFd| Listener::inherited(socket).unwrap_err();
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(error(datagrams.into()).ends_with("it is not for connections (ListenStream=)"));
        assert!(error(std::fs::File::open("/dev/null").unwrap().into()).ends_with("it is no socket"));
        let (connected, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(error(connected.into()).ends_with("it has no path"));
    }

    #[test]
    fn a_socket_is_there_as_long_as_its_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let host = format!("unix:{}", path.display());
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let first = Listener::bind(&format!("{host}?mode=0606"), 0).unwrap();
        assert_eq!(mode(), 0o606);
        assert_eq!(first.address().to_string(), host);
        first.listen().unwrap();
        let error = Listener::bind(&host, 0).unwrap_err();
        assert!(error.ends_with("another process listens on it"), "{error}");
        // as a server leaves it that is killed
        let Listener { socket, _file: file, .. } = first;
        drop(socket);
        let second = Listener::bind(&host, 0).unwrap();
        assert_eq!(mode(), 0o660);
        std::mem::forget(file);
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        let third = Listener::bind(&host, 0).unwrap();
        drop(second);
        assert!(path.exists(), "the second one's file is elsewhere, and this is another's");
        drop(third);
        assert!(!path.exists());
        std::fs::write(&path, "").unwrap();
        let error = Listener::bind(&host, 0).unwrap_err();
        assert!(error.ends_with("no socket"), "{error}");
        let long = format!("unix:{}/{}", folder.path().display(), "x".repeat(120));
        assert!(Listener::bind(&long, 0).unwrap_err().contains("107 bytes"));
    }
}
