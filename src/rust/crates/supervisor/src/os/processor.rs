//! How much of a processor a process uses.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// What a process, with all its threads, has had of processors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Processing {
    /// how long its threads together have had a processor or waited for one to be free, as far as that is known: the
    /// kernel counts a wait when it is over
    pub so_far: Duration,
    /// whether one of them has a processor now, or waits for one
    pub now: bool,
}

/// That of this process. `None` where the kernel does not tell.
pub fn processing(pid: i32) -> Option<Processing> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    // one may have ended since it was listed
    let of_threads = threads.flatten().filter_map(|thread| of_thread(&thread.path()));
    of_threads.reduce(|one, other| Processing { so_far: one.so_far + other.so_far, now: one.now || other.now })
}

fn of_thread(folder: &Path) -> Option<Processing> {
    let text = fs::read_to_string(folder.join("schedstat")).ok()?;
    let mut times = text.split_ascii_whitespace().map(|time| time.parse::<u64>().ok());
    let (had, waited) = (times.next()??, times.next()??);
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    // behind its name, which may have anything in it
    let (_, state) = stat.rsplit_once(") ")?;
    Some(Processing { so_far: Duration::from_nanos(had.saturating_add(waited)), now: state.starts_with('R') })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_used_some_of_a_processor_and_asks_with_it() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(processing(own).is_some_and(|own| own.so_far > Duration::ZERO && own.now));
        assert!(processing(0).is_none());
    }
}
