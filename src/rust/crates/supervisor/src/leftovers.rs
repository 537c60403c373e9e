//! Files that workers have left in the folder for uploads when they were killed: long replies that were not finished, and
//! parts of bodies that a handler was reading. Each is called `drover-KIND-PID-RANDOM`.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a file may still be of use: the server opens a long reply as soon as it reads of it, and then removes its name.
const IN_USE: Duration = Duration::from_secs(1);

/// The processes that have ended, until what they left has been removed.
#[derive(Debug)]
pub struct Leftovers {
    folder: PathBuf,
    ended: Vec<(i32, Instant)>,
}

impl Leftovers {
    /// In the folder for uploads.
    pub fn new(folder: PathBuf) -> Self {
        Leftovers { folder, ended: Vec::new() }
    }

    /// This process has ended.
    pub fn expect(&mut self, pid: i32, now: Instant) {
        self.ended.push((pid, now + IN_USE));
    }

    /// When to look.
    pub fn due(&self) -> Option<Instant> {
        self.ended.first().map(|&(_, due)| due)
    }

    /// Removes what processes have left whose time has come.
    pub fn sweep(&mut self, now: Instant) {
        let (due, rest): (Vec<_>, Vec<_>) = self.ended.drain(..).partition(|&(_, due)| due <= now);
        self.ended = rest;
        if !due.is_empty() {
            self.remove(|pid| due.iter().any(|&(ended, _)| ended == pid));
        }
    }

    /// Removes what all of them have left: nothing is in use any more.
    pub fn sweep_all(&mut self) {
        let ended = std::mem::take(&mut self.ended);
        if !ended.is_empty() {
            self.remove(|pid| ended.iter().any(|&(ended, _)| ended == pid));
        }
    }

    fn remove(&self, has_ended: impl Fn(i32) -> bool) {
        // what cannot be read or removed is left to whoever looks after the folder
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let left = entry.file_name().to_str().and_then(owner).is_some_and(&has_ended);
            if left {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The process that a file of this name is of.
fn owner(name: &str) -> Option<i32> {
    let (_kind, rest) = name.strip_prefix("drover-")?.split_once('-')?;
    let (pid, _random) = rest.split_once('-')?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_have_left_goes_and_what_others_need_stays() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "drover-reply-12-aB",
            "drover-upload-12-x-y",
            "drover-reply-123-aB",
            "drover-body-zZ",
            "12",
            "drover-12-a",
            "drover-body-12",
        ];
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let left = || {
            let mut left: Vec<String> = fs::read_dir(folder.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            left.sort();
            left
        };
        let now = Instant::now();
        let mut leftovers = Leftovers::new(folder.path().into());
        assert_eq!(leftovers.due(), None);
        leftovers.expect(12, now);
        leftovers.sweep(now);
        assert_eq!(left().len(), names.len());
        leftovers.sweep(leftovers.due().unwrap());
        assert_eq!(left(), ["12", "drover-12-a", "drover-body-12", "drover-body-zZ", "drover-reply-123-aB"]);
        leftovers.expect(123, now);
        leftovers.sweep_all();
        assert_eq!(left(), ["12", "drover-12-a", "drover-body-12", "drover-body-zZ"]);
    }
}
