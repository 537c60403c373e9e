//! A piece of memory that processes share, of fixed size (`os`). Another process gets it as a descriptor and maps it by
//! [`Segment::attach`].

use crate::os::{back, is_sealed, sealed_addresses, sealed_memory};
use crate::sync::AtomicU64;
use rustix::fs::fstat;
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;

/// Mapped shared memory, zeroed when made. Unmapped on drop.
#[derive(Debug)]
pub struct Segment {
    base: NonNull<u8>,
    len: usize,
    fd: OwnedFd,
}

// SAFETY: a segment only owns the mapping; `ring`, `slots` and `bell` order the access to its bytes, by atomics.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// A new segment of `len` bytes, all zero.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn new(len: usize) -> io::Result<Self> {
        Self::map(sealed_memory(len)?, len)
    }

    /// A new segment with room for `len` bytes, all zero, of which none has memory yet: see [`Segment::back`].
    ///
    /// # Errors
    /// When the system has no addresses for it.
    pub fn of_addresses(len: usize) -> io::Result<Self> {
        Self::map(sealed_addresses(len)?, len)
    }

    /// Has the system give memory for `len` bytes from `offset` on, so that to use them does not fail later.
    ///
    /// # Errors
    /// When it has none.
    pub fn back(&self, offset: usize, len: usize) -> io::Result<()> {
        back(&self.fd, offset, len)
    }

    /// Maps the segment behind a descriptor that another process gave.
    ///
    /// # Errors
    /// When it is not a segment: an unsealed file could shrink under its readers.
    pub fn attach(fd: OwnedFd) -> io::Result<Self> {
        if !is_sealed(&fd)? {
            return Err(io::Error::other("not a segment: its size is not sealed"));
        }
        let len = usize::try_from(fstat(&fd)?.st_size).map_err(io::Error::other)?;
        Self::map(fd, len)
    }

    fn map(fd: OwnedFd, len: usize) -> io::Result<Self> {
        // SAFETY: a fresh shared mapping at an address of the kernel's choice aliases nothing.
        let base =
            unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &fd, 0)? };
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mmap gave a null address"))?;
        Ok(Segment { base, len, fd })
    }

    /// Its size in bytes.
    #[allow(clippy::len_without_is_empty)] // none is
    pub fn len(&self) -> usize {
        self.len
    }

    /// Address of the byte at `offset`, of which `size` more are inside the segment.
    fn at(&self, offset: usize, size: usize) -> *mut u8 {
        assert!(offset.checked_add(size).is_some_and(|end| end <= self.len), "outside of the segment");
        // SAFETY: offset is within the mapping, just checked.
        unsafe { self.base.as_ptr().add(offset) }
    }

    /// The word at `offset`, a multiple of 8. What is reached this way must not be reached as bytes, too.
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8), "no word begins there");
        // SAFETY: aligned, as the mapping is and `offset` was just checked to be; inside, as `at` checks.
        unsafe { &*self.at(offset, 8).cast::<AtomicU64>() }
    }

    /// Lets `read` see the `size` bytes at `offset`, which must not change in the meantime.
    pub(crate) fn read<T>(&self, offset: usize, size: usize, read: impl FnOnce(*const u8) -> T) -> T {
        read(self.at(offset, size))
    }

    /// Lets `write` change the `size` bytes at `offset`, which nothing else may touch in the meantime.
    pub(crate) fn write(&self, offset: usize, size: usize, write: impl FnOnce(*mut u8)) {
        write(self.at(offset, size));
    }
}

impl AsFd for Segment {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: base and len are those of the mapping, which nothing uses any more: all users hold the segment.
        if let Err(e) = unsafe { munmap(self.base.as_ptr().cast(), self.len) } {
            debug_assert!(false, "munmap: {e}");
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use rustix::fs::{memfd_create, MemfdFlags};

    #[test]
    fn another_mapping_sees_the_same_bytes_and_only_segments_are_mapped() {
        let segment = Segment::new(8192).unwrap();
        let other = Segment::attach(segment.as_fd().try_clone_to_owned().unwrap()).unwrap();
        assert_eq!(other.len(), 8192);
        // SAFETY: inside the segment; one thread.
        unsafe {
            segment.at(4096, 1).write(7);
            assert_eq!(other.at(4096, 1).read(), 7);
        }
        let file = memfd_create("plain", MemfdFlags::CLOEXEC).unwrap();
        assert!(Segment::attach(file).is_err());
    }
}
