//! The folder in which one server keeps bodies that are too large for memory, and its R processes their temporary
//! files: made at its start for its user only, gone with it. What a server that was killed has left is removed by the
//! next one that has its folder in the same place.
//!
//! A server holds a lock on its folder (flock(2)) as long as it lives, and so do the processes that are forked from it:
//! only a folder without a lock is a leftover, regardless of the ids and the container of the processes that had it.
//! Where the file system has no such locks, nothing is removed.

use rustix::fs::{flock, fstat, open, openat, stat, unlinkat, AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::fs::{remove_dir_all, DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use tempfile::TempDir;

/// How such folders are called, and no others.
const PREFIX: &str = "drover-files-";
/// A folder, and no link to one.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Another server may take a folder for a leftover in the moment between its making and its locking.
const ATTEMPTS: usize = 16;

/// See the module. The folder goes when this is dropped.
#[derive(Debug)]
pub struct Uploads {
    folder: TempDir,
    _lock: OwnedFd,
}

impl Uploads {
    /// One beneath a folder, which is made if it is missing.
    ///
    /// # Errors
    /// When none can be made there.
    pub fn beneath(place: &Path) -> io::Result<Uploads> {
        DirBuilder::new().recursive(true).mode(0o700).create(place)?;
        let place = std::path::absolute(place)?;
        remove_leftovers(&place);
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).permissions(Permissions::from_mode(0o700));
        for _ in 0..ATTEMPTS {
            let folder = builder.tempdir_in(&place)?;
            let Ok(lock) = open(folder.path(), FOLDER, Mode::empty()) else { continue };
            let taken = flock(&lock, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
            let is_there =
                stat(folder.path()).is_ok_and(|now| fstat(&lock).is_ok_and(|then| now.st_ino == then.st_ino));
            if !taken && is_there {
                return Ok(Uploads { folder, _lock: lock });
            }
        }
        Err(io::Error::other("another server removes it again and again"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes folders of servers of this user's that are dead. What cannot be removed stays.
fn remove_leftovers(place: &Path) {
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            let _ = remove_if_dead(place, Path::new(&name));
        }
    }
}

fn remove_if_dead(place: &Path, name: &Path) -> rustix::io::Result<()> {
    let path = place.join(name);
    let place = open(place, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())?;
    let folder = openat(&place, name, FOLDER, Mode::empty())?;
    if fstat(&folder)?.st_uid != geteuid().as_raw() {
        return Ok(());
    }
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    for entry in
        Dir::read_from(&folder)?.flatten().filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."))
    {
        // a folder is one of R's temporary files
        if unlinkat(folder.as_fd(), entry.file_name(), AtFlags::empty()) == Err(Errno::ISDIR) {
            let _ = remove_dir_all(path.join(OsStr::from_bytes(entry.file_name().to_bytes())));
        }
    }
    unlinkat(&place, name, AtFlags::REMOVEDIR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_is_private_and_goes_with_its_server() {
        let place = tempfile::tempdir().unwrap();
        let beneath = place.path().join("made/for/it");
        let uploads = Uploads::beneath(&beneath).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(uploads.path()), mode(&beneath)), (0o700, 0o700));
        fs::write(uploads.path().join("body"), "").unwrap();
        drop(uploads);
        assert_eq!(fs::read_dir(beneath).unwrap().count(), 0);
    }

    #[test]
    fn what_a_dead_server_left_goes_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let alive = Uploads::beneath(place.path()).unwrap();
        fs::write(alive.path().join("body"), "").unwrap();
        // killed: no process holds a lock on its folder
        let dead = Uploads::beneath(place.path()).unwrap();
        let Uploads { folder, _lock } = dead;
        let dead = folder.keep();
        drop(_lock);
        let outside = place.path().join("outside");
        fs::write(&outside, "kept").unwrap();
        symlink(&outside, dead.join("link")).unwrap();
        fs::write(dead.join("body"), "").unwrap();
        fs::create_dir_all(dead.join("r-1/Rtmp/x")).unwrap();
        symlink(place.path(), dead.join("r-1/link")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("body"), "").unwrap();
        let others = [PREFIX.to_owned() + "link", "drover-uploads-old".to_owned(), PREFIX.to_owned() + "file"];
        let others = others.map(|name| place.path().join(name));
        symlink(elsewhere.path(), &others[0]).unwrap();
        fs::create_dir(&others[1]).unwrap();
        fs::write(&others[2], "").unwrap();
        let new = Uploads::beneath(place.path()).unwrap();
        assert!(!dead.exists() && new.path().exists());
        assert!(alive.path().join("body").exists() && elsewhere.path().join("body").exists());
        assert_eq!(fs::read_to_string(outside).unwrap(), "kept");
        assert!(others.iter().all(|other| other.exists()));
    }
}
