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

/// How much memory in bytes processes may still take: of the machine, and of the cgroup that this one is in. 0 where
/// that cannot be read.
pub fn available() -> u64 {
    let file = |name: &str| fs::read_to_string(name).unwrap_or_default();
    let text = file("/proc/meminfo");
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    let of_machine = kilobytes.unwrap_or(0) << 10;
    // as a container sees its own
    let figure = |name: &str| file(&format!("/sys/fs/cgroup/{name}")).trim().parse::<u64>().ok();
    match figure("memory.max").zip(figure("memory.current")) {
        Some((most, now)) => of_machine.min(most.saturating_sub(now)),
        None => of_machine,
    }
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
        assert!(available() > 1_000_000, "{}", available());
    }
}
