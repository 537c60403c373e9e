//! How much memory a process has.

use std::fs;

/// A process's proportional set size in bytes: its own memory, and its share of what it shares.
pub fn pss(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// A process's resident memory in bytes, with all that it shares.
pub fn resident(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_this_process_is_plausible() {
        let pid = std::process::id() as i32;
        let (pss, resident) = (pss(pid).unwrap(), resident(pid).unwrap());
        assert!(pss > 100_000 && resident > 100_000, "{pss} {resident}");
        assert_eq!(super::resident(i32::MAX), None);
    }
}
