//! The folder with the sockets of a user's servers: one that was named, or else `drover` in `XDG_RUNTIME_DIR`, or
//! `/tmp/drover-UID` where there is none, as for services and in containers. Only its owner may enter it.

use rustix::process::geteuid;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// What the names of sockets end in that somebody may listen on. While one is made it is called otherwise.
const SUFFIX: &str = "sock";

/// The folders in which a server of this user may have its socket, the best first; the one that was named alone.
fn folders(named: Option<&Path>) -> Vec<PathBuf> {
    if let Some(named) = named {
        return vec![named.to_owned()];
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    // not TMPDIR: who asks may have another one than the server
    let temporary = PathBuf::from(format!("/tmp/drover-{}", geteuid().as_raw()));
    runtime.into_iter().map(|folder| folder.join("drover")).chain([temporary]).collect()
}

/// The first of them that can be used, made if it is not there.
///
/// # Errors
/// Why the last one cannot be used.
pub(super) fn make(named: Option<&Path>) -> io::Result<PathBuf> {
    let mut problem = io::Error::from(ErrorKind::NotFound);
    for folder in folders(named) {
        match make_one(&folder) {
            Ok(()) => return Ok(folder),
            Err(e) => problem = io::Error::new(e.kind(), format!("{}: {e}", folder.display())),
        }
    }
    Err(problem)
}

fn make_one(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => Err(e),
        _ => is_private(folder),
    }
}

/// Whether nobody else may have put anything there.
///
/// # Errors
/// What is wrong with it.
fn is_private(folder: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.uid() != geteuid().as_raw() || found.mode() & 0o077 != 0 {
        return Err(io::Error::other("not a folder that only this user may enter"));
    }
    Ok(())
}

/// The sockets in the folders.
pub(super) fn sockets(named: Option<&Path>) -> Vec<PathBuf> {
    let private = folders(named).into_iter().filter(|folder| is_private(folder).is_ok());
    let entries = private.filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let mut sockets: Vec<_> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == SUFFIX)).collect();
    sockets.sort();
    sockets
}

/// Removes sockets that nobody listens on: their servers were killed.
pub(super) fn sweep(named: Option<&Path>) {
    for socket in sockets(named) {
        if UnixStream::connect(&socket).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused) {
            // another one may have been faster
            let _ = fs::remove_file(&socket);
        }
    }
}

/// The path of a socket that is being made, and of one that is ready. `name` is no other server's.
pub(super) fn paths(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    (folder.join(format!("{name}.new")), folder.join(format!("{name}.{SUFFIX}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};

    #[test]
    fn a_folder_that_others_may_have_written_to_is_not_used() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("drover");
        make_one(&folder).unwrap();
        make_one(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        let link = base.path().join("link");
        symlink(&folder, &link).unwrap();
        assert!(make_one(&link).is_err());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o770)).unwrap();
        assert!(make_one(&folder).is_err());
        assert!(make_one(&base.path().join("none/drover")).is_err());
    }
}
