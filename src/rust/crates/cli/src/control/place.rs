//! The folder with the sockets of a user's servers: one that was named, or else `drover` in `XDG_RUNTIME_DIR`, or
//! `/tmp/drover-UID` where there is none, as for services and in containers. Only its owner and root may enter it;
//! root finds the servers of all users. Services of systemd have one each in `/run/drover`.

use rustix::process::geteuid;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// What the names of sockets end in that somebody may listen on. While one is made it is called otherwise.
const SUFFIX: &str = "sock";

/// What folders are called in that of a user, and, before the user's number, among temporary ones.
const NAME: &str = "drover";
const TEMPORARY: &str = "drover-";

/// A socket that somebody may listen on.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) path: PathBuf,
    /// the user whose folder it is in
    pub(super) owner: u32,
}

/// The folders in which a server of this user may have its socket, the best first; the one that was named alone.
fn folders(named: Option<&Path>) -> Vec<PathBuf> {
    if let Some(named) = named {
        return vec![named.to_owned()];
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    // not TMPDIR, which may differ between a command and the server
    let temporary = PathBuf::from(format!("/tmp/{TEMPORARY}{}", geteuid().as_raw()));
    runtime.into_iter().map(|folder| folder.join(NAME)).chain([temporary]).collect()
}

/// A folder in which somebody else's server may be found, and whose it is by its name.
type Elsewhere = (PathBuf, Option<u32>);

/// Those of services, and of all users if `all`.
fn elsewhere(run: &Path, temporary: &Path, all: bool) -> Vec<Elsewhere> {
    let services = entries(&run.join(NAME)).into_iter().map(|(_, path)| (path, None));
    if !all {
        return services.collect();
    }
    let users = entries(&run.join("user")).into_iter().filter_map(|(name, path)| {
        let uid = name.parse().ok()?;
        Some((path.join(NAME), Some(uid)))
    });
    let others = entries(temporary).into_iter().filter_map(|(name, path)| {
        let uid = name.strip_prefix(TEMPORARY)?.parse().ok()?;
        Some((path, Some(uid)))
    });
    services.chain(users).chain(others).collect()
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path()))).collect()
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

/// Checks that no other user can have put anything there.
///
/// # Errors
/// What is wrong with it.
fn is_private(folder: &Path) -> io::Result<()> {
    if owner(folder)? != geteuid().as_raw() {
        return Err(io::Error::other(NOT_PRIVATE));
    }
    Ok(())
}

const NOT_PRIVATE: &str = "not a folder that only this user may enter";

/// The owner of this folder, which no other user but root may enter.
///
/// # Errors
/// When there is none, or others may.
fn owner(folder: &Path) -> io::Result<u32> {
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || found.mode() & 0o077 != 0 {
        return Err(io::Error::other(NOT_PRIVATE));
    }
    Ok(found.uid())
}

/// The sockets in the folders where this user may find servers.
pub(super) fn sockets(named: Option<&Path>) -> Vec<Socket> {
    let mut places: Vec<Elsewhere> = folders(named).into_iter().map(|folder| (folder, None)).collect();
    if named.is_none() {
        places.extend(elsewhere(Path::new("/run"), Path::new("/tmp"), geteuid().is_root()));
    }
    let mut sockets = Vec::new();
    for (folder, said) in places {
        let Ok(owner) = owner(&folder) else { continue };
        let may_be_asked = geteuid().is_root() || owner == geteuid().as_raw();
        if may_be_asked && said.is_none_or(|said| said == owner) {
            let paths = entries(&folder).into_iter().map(|(_, path)| path);
            let here = paths.filter(|path| path.extension().is_some_and(|e| e == SUFFIX));
            sockets.extend(here.map(|path| Socket { path, owner }));
        }
    }
    sockets.sort_by(|a, b| a.path.cmp(&b.path));
    // a folder of root's may be found in two ways
    sockets.dedup_by(|a, b| a.path == b.path);
    sockets
}

/// Removes sockets of this user that nothing listens on: their servers were killed. Root leaves the sockets of other
/// users: in their folders, another file may take the place of a socket a moment later.
pub(super) fn sweep(named: Option<&Path>) {
    for socket in sockets(named).into_iter().filter(|socket| socket.owner == geteuid().as_raw()) {
        if UnixStream::connect(&socket.path).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused) {
            // another one may have been faster
            let _ = fs::remove_file(&socket.path);
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

    #[test]
    fn root_looks_where_the_servers_of_all_users_are_and_others_where_services_are() {
        let base = tempfile::tempdir().unwrap();
        let (run, temporary) = (base.path().join("run"), base.path().join("tmp"));
        for folder in ["run/drover/shop", "run/user/1000/drover", "run/user/x", "tmp/drover-7", "tmp/drover-x", "tmp/a"]
        {
            fs::create_dir_all(base.path().join(folder)).unwrap();
        }
        let service = (run.join("drover/shop"), None);
        assert_eq!(elsewhere(&run, &temporary, false), std::slice::from_ref(&service));
        let of_users = [(run.join("user/1000/drover"), Some(1000)), (temporary.join("drover-7"), Some(7))];
        assert_eq!(elsewhere(&run, &temporary, true), [&[service][..], &of_users].concat());
        assert!(elsewhere(&base.path().join("none"), &base.path().join("none"), true).is_empty());
    }
}
