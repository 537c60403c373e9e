//! Requests that R has made to itself: a handler, or a user at the console, sends a request that only this R could
//! answer, and waits for the response. Such a request could only time out, so it is answered early.
//!
//! The socket of a request shows which process has made it. To look that up costs some milliseconds, so only requests
//! from this machine are looked up, when they have waited for a while, and not more than once a second.

use crate::crew::Crew;
use crate::dispatcher::Dispatcher;
use crate::outcome::Outcome;
use crate::request::Key;
use std::collections::{HashMap, HashSet};
use std::fs::{read_dir, read_link, read_to_string, DirEntry};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering::Relaxed;

/// Between two looks, and how long a request has waited before the first, in ms.
const LOOK_AFTER: u64 = 1000;

impl Dispatcher {
    /// Answers what waits for R that waits for the answer, in every worker of its generation: none will be free.
    pub(crate) fn settle_own(&mut self, now: u64) {
        if now < self.own_at {
            return;
        }
        let waiting: Vec<(Key, SocketAddr, Crew)> = self
            .entries
            .unanswered()
            .filter_map(|(key, e)| {
                let peer = e.submission.peer?;
                let waits = now.saturating_sub(e.since) >= LOOK_AFTER && self.begun_by(e).is_none();
                let waits = waits && !self.shared.of(e.submission.pool).growable.load(Relaxed);
                waits.then_some((key, peer, e.submission.crew()))
            })
            .collect();
        if waiting.is_empty() {
            return;
        }
        self.own_at = now + LOOK_AFTER;
        let sockets = Sockets::of(waiting.iter().map(|(_, peer, _)| *peer));
        let mut owners: HashMap<Crew, HashSet<u32>> = HashMap::new();
        let mut own: Vec<(Key, Crew, u32)> = Vec::new();
        for (_, worker) in &self.workers {
            let pid = worker.pid().map_or_else(std::process::id, i32::cast_unsigned);
            let held = if is_asleep(pid) { sockets.held_by(pid) } else { HashSet::new() };
            owners.entry(worker.crew).or_default().insert(pid);
            let is_its = |(_, peer, crew): &&(Key, SocketAddr, Crew)| *crew == worker.crew && held.contains(peer);
            own.extend(waiting.iter().filter(is_its).map(|(key, _, crew)| (*key, *crew, pid)));
        }
        for (_, crew, pid) in &own {
            owners.entry(*crew).or_default().remove(pid);
        }
        for (key, crew, pid) in own {
            let not_for_it = self.entries.get(key).map(|entry| entry.submission).map_or(0, |it| self.kept_from(&it));
            if owners.get(&crew).is_some_and(|free| free.len() <= not_for_it) {
                self.leave(key, now, true);
                self.settle(key, Outcome::OfItself(pid.cast_signed()));
            }
        }
    }
}

/// The other ends of connections to this process, by their numbers, with their addresses.
struct Sockets(HashMap<u64, SocketAddr>);

impl Sockets {
    /// Those at these addresses; none where the system does not tell. The address of a socket is not enough: the
    /// system gives one port to several, if they are connected to different servers.
    fn of(peers: impl Iterator<Item = SocketAddr>) -> Self {
        let wanted: HashSet<SocketAddr> = peers.collect();
        let mut listed = Vec::new();
        for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
            let text = read_to_string(table).unwrap_or_default();
            let sockets = text.lines().filter_map(Listed::read);
            listed.extend(sockets.filter(|one| wanted.contains(&one.local) || wanted.contains(&one.remote)));
        }
        let here = open_in(std::process::id());
        let connected: HashSet<(SocketAddr, SocketAddr)> =
            listed.iter().filter(|one| here.contains(&one.number)).map(|one| (one.remote, one.local)).collect();
        let is_wanted = |one: &&Listed| wanted.contains(&one.local) && connected.contains(&(one.local, one.remote));
        Sockets(listed.iter().filter(is_wanted).map(|one| (one.number, one.local)).collect())
    }

    /// The addresses of those that a process has open.
    fn held_by(&self, pid: u32) -> HashSet<SocketAddr> {
        if self.0.is_empty() {
            return HashSet::new();
        }
        open_in(pid).iter().filter_map(|number| self.0.get(number).copied()).collect()
    }
}

/// The numbers of the sockets that a process has open.
fn open_in(pid: u32) -> HashSet<u64> {
    let Ok(open) = read_dir(format!("/proc/{pid}/fd")) else { return HashSet::new() };
    let number = |entry: DirEntry| {
        let target = read_link(entry.path()).ok()?;
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    open.flatten().filter_map(number).collect()
}

/// A socket in one of the system's tables.
struct Listed {
    local: SocketAddr,
    remote: SocketAddr,
    /// 0 for what has no process any more
    number: u64,
}

impl Listed {
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let (local, remote) = (fields.nth(1)?, fields.next()?);
        let number = fields.nth(6)?.parse().ok()?;
        Some(Listed { local: address(local)?, remote: address(remote)?, number })
    }
}

/// As the system writes it in its tables: words of 32 bits in the order of bytes that this machine has, and the port.
/// One of IPv4 that a socket of IPv6 has is that of IPv4.
fn address(listed: &str) -> Option<SocketAddr> {
    let (words, port) = listed.split_once(':')?;
    let octets = |word: &str| u32::from_str_radix(word, 16).ok().map(u32::to_ne_bytes);
    let ip = match words.len() {
        8 => IpAddr::from(octets(words)?),
        32 => {
            let mut whole = [0; 16];
            for (at, part) in whole.chunks_mut(4).enumerate() {
                part.copy_from_slice(&octets(words.get(8 * at..8 * at + 8)?)?);
            }
            IpAddr::from(whole).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// Whether the thread that R runs on waits for something. One that computes will come to its requests.
fn is_asleep(pid: u32) -> bool {
    let text = read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // after the name, which may be anything
    text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{bind, connect, socket, sockopt, AddressFamily, SocketType};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_process_that_has_a_socket_is_found_by_its_address() {
        for here in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(here) else { continue };
            let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (_accepted, peer) = listener.accept().unwrap();
            let sockets = Sockets::of([peer].into_iter());
            assert_eq!(sockets.0.len(), 1, "{peer}");
            assert_eq!(sockets.held_by(std::process::id()), HashSet::from([peer]));
            assert_eq!(sockets.held_by(1.max(std::os::unix::process::parent_id())), HashSet::new());
            drop(ours);
        }
    }

    #[test]
    fn a_socket_with_the_address_of_a_client_that_is_connected_to_another_server_is_not_taken_for_it() {
        let [server, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let client = connected_from(0, &server);
        let (_accepted, peer) = server.accept().unwrap();
        let same_port = connected_from(peer.port(), &other);
        assert_eq!(same_port.local_addr().unwrap(), peer);
        assert_eq!(Sockets::of([peer].into_iter()).held_by(std::process::id()), HashSet::from([peer]));
        drop(client);
        assert_eq!(Sockets::of([peer].into_iter()).held_by(std::process::id()), HashSet::new());
    }

    /// A client at a port of this machine, which may have others at the same port.
    fn connected_from(port: u16, server: &TcpListener) -> TcpStream {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        sockopt::set_socket_reuseaddr(&socket, true).unwrap();
        bind(&socket, &SocketAddr::from(([127, 0, 0, 1], port))).unwrap();
        connect(&socket, &server.local_addr().unwrap()).unwrap();
        socket.into()
    }

    #[test]
    fn addresses_are_read_as_the_system_writes_them() {
        let is = |listed: &str, text: &str| assert_eq!(address(listed), text.parse().ok(), "{listed}");
        if cfg!(target_endian = "little") {
            is("0100007F:1F90", "127.0.0.1:8080");
            is("00000000000000000000000001000000:0050", "[::1]:80");
            is("0000000000000000FFFF00000100007F:0050", "127.0.0.1:80");
        }
        for wrong in ["local_address", "0100007F", "100007F:1F90", "0100007F:1F901"] {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_thread_that_runs_is_not_asleep() {
        assert!(!is_asleep(u32::MAX));
    }
}
