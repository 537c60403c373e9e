//! How much of a processor a process uses.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// How long the threads of a process together have had a processor or waited for one to be free. `None` where the
/// kernel does not tell.
pub fn with_processor(pid: i32) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    // one may have ended since it was listed
    let times: Vec<Duration> = threads.flatten().filter_map(|thread| of_thread(&thread.path())).collect();
    (!times.is_empty()).then(|| times.iter().sum())
}

fn of_thread(folder: &Path) -> Option<Duration> {
    let text = fs::read_to_string(folder.join("schedstat")).ok()?;
    let mut times = text.split_ascii_whitespace().map(|time| time.parse::<u64>().ok());
    let (had, waited) = (times.next()??, times.next()??);
    Some(Duration::from_nanos(had.saturating_add(waited)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_used_some_of_a_processor() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(with_processor(own).is_some_and(|time| time > Duration::ZERO));
        assert_eq!(with_processor(0), None);
    }
}
