//! Files that workers have left in the folder for uploads when they were killed: parts of bodies that a handler was
//! reading. Each is called `drover-upload-PID-RANDOM`. Whole bodies are the server's own, long replies are in files
//! without names, and R's temporary files in folders within (`scratch`).

use crate::scratch::Scratch;
use std::fs;
use std::path::PathBuf;

/// The folder for uploads.
#[derive(Debug)]
pub struct Leftovers(PathBuf);

impl Leftovers {
    /// In this folder.
    pub fn new(folder: PathBuf) -> Self {
        Leftovers(folder)
    }

    /// Where the R process of this number has its temporary files.
    pub fn scratch(&self, number: u32) -> Option<Scratch> {
        Scratch::new(&self.0, number)
    }

    /// Removes what this process, which has ended, has left.
    pub fn sweep(&self, pid: i32) {
        // what cannot be read or removed is left to whoever looks after the folder
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            if entry.file_name().to_str().and_then(owner) == Some(pid) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The process that a file of this name is of.
fn owner(name: &str) -> Option<i32> {
    let (pid, _random) = name.strip_prefix("drover-upload-")?.split_once('-')?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_have_left_goes_and_what_others_need_stays() {
        let folder = tempfile::tempdir().unwrap();
        let stay = ["12", "drover-12-a", "drover-upload-123-aB", "drover-upload-12", ".tmpxY"];
        for name in stay.iter().chain(&["drover-upload-12-aB", "drover-upload-12-x-y"]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        Leftovers::new(folder.path().into()).sweep(12);
        let mut left: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let mut stay = stay.map(str::to_owned);
        stay.sort();
        assert_eq!(left, stay);
    }
}
