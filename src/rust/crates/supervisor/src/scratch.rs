//! Where an R process has its temporary files: a folder within the server's own. R removes its files when it ends, but
//! not when it is killed. What a server leaves that is killed itself, the next one removes with its folder.

use std::fs::{remove_dir_all, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// One of this number; none when it cannot be made, and R has its files where it would have them.
    pub fn new(folder: &Path, number: u32) -> Option<Scratch> {
        let path = folder.join(format!("r-{number}"));
        DirBuilder::new().mode(0o700).create(&path).ok()?;
        Some(Scratch(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // what cannot be removed goes with the server's folder
        let _ = remove_dir_all(&self.0);
    }
}
