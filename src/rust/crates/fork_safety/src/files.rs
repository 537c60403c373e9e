//! Descriptors: which are open, and what for.

use crate::kind::{self, Kind};
use crate::net::{self, End};
use rustix::fs::{fcntl_getfl, fstat, FileType, OFlags, Stat};
use rustix::io::{dup3, DupFlags};
use std::collections::HashSet;
use std::fs::{read_dir, read_link};
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::path::Path;

/// An open file: the descriptor, and what it is open for, since numbers are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OpenFile {
    pub(crate) fd: RawFd,
    device: u64,
    inode: u64,
}

impl OpenFile {
    fn of(fd: RawFd, stat: &Stat) -> OpenFile {
        OpenFile { fd, device: stat.st_dev, inode: stat.st_ino }
    }

    /// Makes its number one that nothing can be read from or written to; the file stays open where else it is. The
    /// number is not given back: what still has it would use the next file that gets it.
    pub(crate) fn blind(&self) {
        if !status(self.fd).is_some_and(|stat| OpenFile::of(self.fd, &stat) == *self) {
            return;
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let Ok(nothing) = rustix::fs::open("/", flags, rustix::fs::Mode::empty()) else { return };
        // SAFETY: the number is open, as was just seen. It is not ours to close, hence never dropped.
        let mut place = unsafe { OwnedFd::from_raw_fd(self.fd) };
        let _ = dup3(&nothing, &mut place, DupFlags::CLOEXEC);
        let _ = place.into_raw_fd();
    }
}

/// Descriptors that were open at some time.
#[derive(Clone, Debug, Default)]
pub struct OpenFiles(HashSet<OpenFile>);

impl OpenFiles {
    /// Those that are open now.
    pub fn now() -> OpenFiles {
        let Ok(folder) = read_dir("/proc/self/fd") else { return OpenFiles::default() };
        let all: Vec<RawFd> = folder.flatten().filter_map(|one| one.file_name().to_str()?.parse().ok()).collect();
        // the folder itself, which was among them, is closed by now
        OpenFiles(all.into_iter().filter_map(|fd| Some(OpenFile::of(fd, &status(fd)?))).collect())
    }

    /// Only those that are among `others`, too.
    pub(crate) fn keep(&mut self, others: &OpenFiles) {
        self.0.retain(|one| others.0.contains(one));
    }

    /// Those that are not among `others`, in order.
    pub(crate) fn beyond(&self, others: &OpenFiles) -> Vec<OpenFile> {
        let mut new: Vec<OpenFile> = self.0.difference(&others.0).copied().filter(|one| one.fd > 2).collect();
        new.sort_unstable_by_key(|one| one.fd);
        new
    }

    /// Closes sockets, memory files and what has no name, such as bells, that are not among these, except `keep`: in a
    /// fork of a process that serves, where they keep ports taken and connections open.
    ///
    /// # Safety
    /// Nothing in this process has one of them in use.
    pub unsafe fn close_later_ones(&self, keep: RawFd) {
        let is_of_a_server = |fd: RawFd| {
            let target = read_link(format!("/proc/self/fd/{fd}")).unwrap_or_default();
            let target = target.to_string_lossy();
            ["socket:", "anon_inode:", "/memfd:"].iter().any(|kind| target.starts_with(kind))
        };
        for file in OpenFiles::now().beyond(self) {
            if file.fd != keep && is_of_a_server(file.fd) {
                // SAFETY: the caller's.
                drop(unsafe { OwnedFd::from_raw_fd(file.fd) });
            }
        }
    }

    /// The sockets among them that listen.
    pub(crate) fn listeners(&self) -> Vec<End> {
        self.0.iter().filter_map(|one| borrow(one.fd, net::listens_on)).collect()
    }
}

/// Of the open files `new`, those that forks must not share, with what they are, in words: the kind, then which.
pub(crate) fn unshared(new: &[OpenFile], listeners: &[End]) -> Vec<(OpenFile, Kind, String)> {
    let inodes: HashSet<u64> = new.iter().map(|one| one.inode).collect();
    new.iter()
        .filter_map(|one| {
            let stat = status(one.fd)?;
            let target = read_link(format!("/proc/self/fd/{}", one.fd)).ok()?;
            let (what, which) = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Socket => borrow(one.fd, |fd| net::unshared(fd, one.inode, &inodes, listeners))?,
                FileType::Fifo if !has_both_ends(one, new) => (kind::PIPE, String::new()),
                FileType::RegularFile if is_written_in_place(one.fd, &stat, &target) => {
                    (kind::FILE, target.display().to_string())
                }
                FileType::CharacterDevice if is_hardware(&target) => (kind::DEVICE, target.display().to_string()),
                _ => return None,
            };
            Some((*one, what, which))
        })
        .collect()
}

/// Whether a pipe is one of this process with itself.
fn has_both_ends(pipe: &OpenFile, all: &[OpenFile]) -> bool {
    let modes: Vec<OFlags> = all.iter().filter(|one| one.inode == pipe.inode).filter_map(|one| mode(one.fd)).collect();
    modes.contains(&OFlags::RDWR) || (modes.contains(&OFlags::RDONLY) && modes.contains(&OFlags::WRONLY))
}

/// As databases in files have theirs. Locks of files are not inherited, and each copy believes that it has them.
/// Temporary files without a name are those of one connection of R, what is in shared memory is there to be shared, and
/// an empty file is a lock of the whole app, which it is to have once.
fn is_written_in_place(fd: RawFd, stat: &Stat, target: &Path) -> bool {
    mode(fd) == Some(OFlags::RDWR) && stat.st_nlink > 0 && stat.st_size > 0 && !target.starts_with("/dev/shm")
}

/// Whether a character device is hardware. Terminals, random numbers and the like belong to no process in particular.
fn is_hardware(target: &Path) -> bool {
    const NOBODYS: [&str; 8] =
        ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/console"];
    !NOBODYS.iter().any(|one| target == Path::new(one)) && !target.starts_with("/dev/pts")
}

fn mode(fd: RawFd) -> Option<OFlags> {
    Some(borrow(fd, |fd| fcntl_getfl(fd).ok())? & OFlags::RWMODE)
}

fn status(fd: RawFd) -> Option<Stat> {
    borrow(fd, |fd| fstat(fd).ok())
}

/// Looks at a descriptor of whoever has it. One that is not open, or not any more, is an error of the calls in `look`.
fn borrow<T>(fd: RawFd, look: impl FnOnce(BorrowedFd<'_>) -> Option<T>) -> Option<T> {
    if fd < 0 {
        return None;
    }
    // SAFETY: the calls that look at descriptors take numbers that are not open, and say so.
    look(unsafe { BorrowedFd::borrow_raw(fd) })
}
