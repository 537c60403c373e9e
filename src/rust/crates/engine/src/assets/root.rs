//! A directory whose files are served, and opening what lies beneath it.
//!
//! The kernel keeps a path inside: `openat2` with `RESOLVE_BENEATH` refuses `..`, absolute links and every symbolic
//! link that leaves, at each step and without a race. Where it is missing (Linux before 5.6, some sandboxes), each
//! segment is opened on its own and symbolic links are refused altogether. Links of a package's own files may lead out,
//! where the directory is said to be one with such.
//!
//! The directory is the one found at start: if another takes its name later, the first stays served until the server
//! starts again.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{fstat, fstatfs, open, openat, openat2, FileType, Mode, OFlags, ResolveFlags, Stat, PROC_SUPER_MAGIC};
use rustix::io::Errno;
use std::io;
use std::path::Path;

/// Reading, without waiting for the other end of a pipe and without taking over a terminal.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
/// A rename elsewhere in the tree at the wrong moment makes the kernel give up with EAGAIN, rightly: try again, a few
/// times.
const ATTEMPTS: usize = 8;

/// An open file or directory.
pub(super) struct Opened {
    pub(super) fd: OwnedFd,
    pub(super) stat: Stat,
}

impl Opened {
    fn new(fd: OwnedFd) -> io::Result<Opened> {
        let stat = fstat(&fd)?;
        Ok(Opened { fd, stat })
    }

    pub(super) fn is_file(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::RegularFile
    }

    pub(super) fn is_directory(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::Directory
    }

    /// In bytes.
    pub(super) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// When the content last changed: seconds since 1970 and nanoseconds.
    // i64 where rustix goes by the C library
    #[allow(clippy::unnecessary_cast)]
    pub(super) fn modified(&self) -> (i64, u64) {
        (self.stat.st_mtime, self.stat.st_mtime_nsec as u64)
    }
}

/// Opens any regular file, following links: for a path that the app chose.
pub(super) fn open_file(path: &Path) -> io::Result<Opened> {
    regular_file(open(path, READ, Mode::empty())?)
}

/// The same, when it is open already.
pub(super) fn regular_file(fd: OwnedFd) -> io::Result<Opened> {
    let opened = Opened::new(fd)?;
    let wrong = |why| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    if !opened.is_file() {
        return wrong("not a regular file");
    }
    // said to be empty, and reading one may wait for something to happen
    if opened.size() == 0 && fstatfs(&opened.fd)?.f_type == PROC_SUPER_MAGIC {
        return wrong("a file of /proc");
    }
    Ok(opened)
}

/// How paths beneath a root are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolve {
    /// by the kernel, links included that stay beneath
    Beneath,
    /// by us, segment by segment, without links
    Walk,
    /// by the kernel, wherever links lead
    Links,
}

/// An open directory.
pub(super) struct Root {
    fd: OwnedFd,
    resolve: Resolve,
}

impl Root {
    pub(super) fn new(directory: &Path) -> io::Result<Root> {
        let fd = open(directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let resolve = match openat2(&fd, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), BENEATH) {
            // EPERM is how older container sandboxes refuse a call that they do not know
            Err(Errno::NOSYS | Errno::PERM) => Resolve::Walk,
            other => other.map(|_| Resolve::Beneath)?,
        };
        Ok(Root { fd, resolve })
    }

    /// The same, of which links that lead out are followed: for folders to which none but those who install packages
    /// write.
    pub(super) fn with_links(self) -> Root {
        Root { resolve: Resolve::Links, ..self }
    }

    #[cfg(test)]
    pub(super) fn with_resolve(self, resolve: Resolve) -> Root {
        Root { resolve, ..self }
    }

    /// Opens `path`, relative and without `..`. `None` for any file that the client may not have or that does not
    /// exist, all alike; an error when the server is at fault (no descriptors left, a failing disk).
    pub(super) fn open(&self, path: &str) -> io::Result<Option<Opened>> {
        let opened = match self.resolve {
            Resolve::Beneath => self.open_beneath(path),
            Resolve::Walk => self.walk(path),
            Resolve::Links => openat(&self.fd, path, READ, Mode::empty()),
        };
        match opened {
            Ok(fd) => Opened::new(fd).map(Some),
            Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO)) => Err(error.into()),
            Err(_) => Ok(None),
        }
    }

    fn open_beneath(&self, path: &str) -> Result<OwnedFd, Errno> {
        let mut opened = Err(Errno::AGAIN);
        for _ in 0..ATTEMPTS {
            opened = openat2(&self.fd, path, READ, Mode::empty(), BENEATH);
            if !matches!(opened, Err(Errno::AGAIN | Errno::INTR)) {
                break;
            }
        }
        opened
    }

    fn walk(&self, path: &str) -> Result<OwnedFd, Errno> {
        let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let (directories, last) = match path.rsplit_once('/') {
            Some((directories, last)) => (Some(directories), last),
            None => (None, path),
        };
        let mut at: Option<OwnedFd> = None;
        let open = |at: &Option<OwnedFd>, name: &str, flags| {
            let directory = at.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            openat(directory, name, flags | OFlags::NOFOLLOW, Mode::empty())
        };
        for name in directories.into_iter().flat_map(|text| text.split('/')) {
            at = Some(open(&at, name, step)?);
        }
        open(&at, last, READ)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, write};
    use std::os::unix::fs::symlink;

    /// A served directory with a secret beside it.
    fn tree() -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join("root");
        create_dir(&root).unwrap();
        create_dir(root.join("d")).unwrap();
        write(top.path().join("secret"), "secret").unwrap();
        write(root.join("a"), "a").unwrap();
        write(root.join("d/b"), "b").unwrap();
        symlink("d/b", root.join("inside")).unwrap();
        symlink("d", root.join("inside-d")).unwrap();
        symlink("../secret", root.join("outside")).unwrap();
        symlink("..", root.join("outside-d")).unwrap();
        symlink(top.path().join("secret"), root.join("absolute")).unwrap();
        symlink(root.join("a"), root.join("absolute-inside")).unwrap();
        symlink("/proc/self/root", root.join("magic")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        top
    }

    fn outcomes(root: &Root, paths: &[&str]) -> Vec<&'static str> {
        let outcome = |path: &&str| match root.open(path).unwrap() {
            None => "none",
            Some(opened) if opened.is_file() => "file",
            Some(opened) if opened.is_directory() => "directory",
            Some(_) => "other",
        };
        paths.iter().map(outcome).collect()
    }

    #[test]
    fn only_what_lies_beneath_is_opened() {
        let top = tree();
        let plain = ["a", "d/b", "d", ".", "missing", "a/b", "d/missing"];
        let plain_outcomes = ["file", "file", "directory", "directory", "none", "none", "none"];
        let leaving =
            ["outside", "outside-d/secret", "absolute", "magic/etc/passwd", "loop", "dangling", "absolute-inside"];
        let links = ["inside", "inside-d/b"];
        for resolve in [Resolve::Beneath, Resolve::Walk] {
            let root = Root::new(&top.path().join("root")).unwrap().with_resolve(resolve);
            assert_eq!(outcomes(&root, &plain), plain_outcomes, "{resolve:?}");
            assert_eq!(outcomes(&root, &leaving), ["none"; 7], "{resolve:?}");
            let expected = if resolve == Resolve::Beneath { "file" } else { "none" };
            assert_eq!(outcomes(&root, &links), [expected; 2], "{resolve:?}");
        }
        let linked = Root::new(&top.path().join("root")).unwrap().with_links();
        assert_eq!(outcomes(&linked, &plain), plain_outcomes);
        assert_eq!(outcomes(&linked, &leaving), ["file", "file", "file", "file", "none", "none", "file"]);
        let root = Root::new(&top.path().join("root")).unwrap();
        assert_eq!(outcomes(&root, &["../secret", "d/../../secret", "/etc/passwd"]), ["none"; 3]);
    }

    #[test]
    fn a_pipe_does_not_hang_and_is_no_file() {
        let top = tree();
        let pipe = top.path().join("root/pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        for resolve in [Resolve::Beneath, Resolve::Walk] {
            let root = Root::new(&top.path().join("root")).unwrap().with_resolve(resolve);
            assert_eq!(outcomes(&root, &["pipe"]), ["other"]);
        }
        assert!(open_file(&pipe).is_err());
    }

    #[test]
    fn a_root_must_be_a_directory() {
        let top = tree();
        assert!(Root::new(&top.path().join("secret")).is_err());
        assert!(Root::new(&top.path().join("missing")).is_err());
    }
}
