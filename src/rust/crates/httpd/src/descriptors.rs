//! Descriptors, of which every connection needs one, and every file that is sent.

use rustix::event::epoll::{self, CreateFlags};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

/// Descriptors that are neither connections nor files being sent or received: what R opens, the server's own.
const SPARE_DESCRIPTORS: u64 = 64;

/// The largest table that is made at the start, half a megabyte: growing a larger one goes unnoticed.
const LARGEST_TABLE: u64 = 1 << 16;

/// Makes room for the descriptors of this many connections, as far as the system allows. Returns how many descriptors
/// connections and files have then.
///
/// The system's table of a process is as large as its highest descriptor needed it to be, and doubles; the thread that
/// opens the one too many waits for all processors, 15 ms and more, and all other threads wait for it. So the table
/// grows before there are clients, and without a wait if there are no threads yet.
pub fn make_room(connections: usize) -> usize {
    let wanted = connections as u64 + 4 * SPARE_DESCRIPTORS;
    let limit = raise(wanted);
    grow(limit.min(wanted).min(LARGEST_TABLE));
    usize::try_from(limit.saturating_sub(SPARE_DESCRIPTORS)).unwrap_or(usize::MAX).max(1)
}

/// The soft limit.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises it to this, or as far as can be. Gives what it is then.
fn raise(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let now = current.unwrap_or(u64::MAX);
    if now >= wanted {
        return now;
    }
    let raised = wanted.min(maximum.unwrap_or(u64::MAX));
    match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
        Ok(()) => raised,
        Err(_) => now,
    }
}

/// Grows the table to this many places, with a descriptor that is open for a moment.
fn grow(places: u64) {
    let Some(last) = places.checked_sub(1).and_then(|last| i32::try_from(last).ok()) else { return };
    // without one more descriptor the server has other troubles
    if let Ok(any) = epoll::create(CreateFlags::CLOEXEC) {
        let _ = fcntl_dupfd_cloexec(&any, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places in the table.
    fn table() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
        line.trim().parse().unwrap()
    }

    #[test]
    fn there_is_room_before_it_is_needed() {
        let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        let room = make_room(3_000) as u64;
        let wanted = limit.min(3_000 + 4 * SPARE_DESCRIPTORS);
        assert!(
            room + SPARE_DESCRIPTORS >= wanted && table() >= wanted,
            "{room} of {limit}, in a table of {}",
            table()
        );
    }
}
