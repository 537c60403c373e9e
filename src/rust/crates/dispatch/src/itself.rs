//! Requests that R has made to itself: a handler, or a user at the console, sends a request that only this R could
//! answer, and waits for the response. Such a request could only time out, so it is answered early.
//!
//! The socket of a request shows which process has made it. To look that up costs some milliseconds, so only requests
//! from this machine are looked up, when they have waited for a while, and not more than once a second.

use crate::dispatcher::Dispatcher;
use crate::outcome::Outcome;
use crate::request::Key;
use std::collections::{HashMap, HashSet};
use std::fs::{read_dir, read_link, read_to_string};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering::Relaxed;

/// Between two looks, and how long a request has waited before the first, in ms.
const LOOK_AFTER: u64 = 1000;

impl Dispatcher {
    /// Answers what waits for R that waits for the answer, in every worker of its generation: none will be free.
    pub(crate) fn settle_own(&mut self, now: u64) {
        if now < self.own_at || self.shared.growable.load(Relaxed) {
            return;
        }
        let waiting: Vec<(Key, SocketAddr, u32)> = self
            .entries
            .unanswered()
            .filter_map(|(key, e)| {
                let peer = e.submission.peer?;
                let waits = now.saturating_sub(e.since) >= LOOK_AFTER && self.begun_by(e).is_none();
                waits.then_some((key, peer, e.submission.generation))
            })
            .collect();
        if waiting.is_empty() {
            return;
        }
        self.own_at = now + LOOK_AFTER;
        let sockets = Sockets::of(waiting.iter().map(|(_, peer, _)| *peer));
        let mut owners: HashMap<u32, HashSet<u32>> = HashMap::new();
        let mut own: Vec<(Key, u32, u32)> = Vec::new();
        for (_, worker) in &self.workers {
            let pid = worker.pid().map_or_else(std::process::id, i32::cast_unsigned);
            let held = if is_asleep(pid) { sockets.held_by(pid) } else { HashSet::new() };
            owners.entry(worker.generation).or_default().insert(pid);
            let is_its = |(_, peer, generation): &&(Key, SocketAddr, u32)| {
                *generation == worker.generation && held.contains(peer)
            };
            own.extend(waiting.iter().filter(is_its).map(|(key, _, generation)| (*key, *generation, pid)));
        }
        for (_, generation, pid) in &own {
            owners.entry(*generation).or_default().remove(pid);
        }
        for (key, generation, pid) in own {
            if owners.get(&generation).is_some_and(HashSet::is_empty) {
                self.leave(key, now, true);
                self.settle(key, Outcome::OfItself(pid.cast_signed()));
            }
        }
    }
}

/// Sockets of this machine, by their numbers, with the addresses that they have at their own end.
struct Sockets(HashMap<u64, SocketAddr>);

impl Sockets {
    /// Those of these addresses; none where the system does not tell.
    fn of(addresses: impl Iterator<Item = SocketAddr>) -> Self {
        let wanted: HashMap<String, SocketAddr> = addresses.map(|address| (as_listed(&address), address)).collect();
        let mut found = HashMap::new();
        for table in ["/proc/self/net/tcp", "/proc/self/net/tcp6"] {
            let text = read_to_string(table).unwrap_or_default();
            for line in text.lines() {
                let mut fields = line.split_ascii_whitespace();
                let (Some(local), Some(number)) = (fields.nth(1), fields.nth(7)) else { continue };
                if let (Some(address), Ok(number)) = (wanted.get(local), number.parse()) {
                    found.insert(number, *address);
                }
            }
        }
        Sockets(found)
    }

    /// The addresses of those that a process has open.
    fn held_by(&self, pid: u32) -> HashSet<SocketAddr> {
        if self.0.is_empty() {
            return HashSet::new();
        }
        let Ok(open) = read_dir(format!("/proc/{pid}/fd")) else { return HashSet::new() };
        open.flatten()
            .filter_map(|entry| {
                let target = read_link(entry.path()).ok()?;
                let number = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
                self.0.get(&number.parse().ok()?).copied()
            })
            .collect()
    }
}

/// As the system writes it in its tables: words of 32 bits in the order of bytes that this machine has, and the port.
fn as_listed(address: &SocketAddr) -> String {
    let words: String = match address.ip() {
        IpAddr::V4(ip) => format!("{:08X}", u32::from_ne_bytes(ip.octets())),
        IpAddr::V6(ip) => {
            let word = |octets: &[u8]| octets.try_into().map_or(0, u32::from_ne_bytes);
            ip.octets().chunks(4).map(|octets| format!("{:08X}", word(octets))).collect()
        }
    };
    format!("{words}:{:04X}", address.port())
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
    fn addresses_are_written_as_the_system_does() {
        let listed = |text: &str| as_listed(&text.parse().unwrap());
        if cfg!(target_endian = "little") {
            assert_eq!(listed("127.0.0.1:8080"), "0100007F:1F90");
            assert_eq!(listed("[::1]:80"), "00000000000000000000000001000000:0050");
        }
    }

    #[test]
    fn a_thread_that_runs_is_not_asleep() {
        assert!(!is_asleep(u32::MAX));
    }
}
