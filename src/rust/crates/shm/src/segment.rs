//! A piece of memory that processes can share: an anonymous file of fixed size.
//!
//! `memfd_create` + `fallocate` + size seals: the pages exist from the start and nobody can shrink the file, so that a full
//! `/dev/shm` is an error here and never a SIGBUS later.

use rustix::fs::{fallocate, fcntl_add_seals, memfd_create, FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use std::io;
use std::ptr::NonNull;

/// Mapped shared memory, zeroed when made. Unmapped on drop.
#[derive(Debug)]
pub struct Segment {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a segment only owns the mapping; who may touch which bytes when is the business of `ring`, `slots` and `bell`,
// which go through atomics.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// A new segment of `len` bytes, all zero.
    ///
    /// # Errors
    /// When the system has no memory for it.
    pub fn new(len: usize) -> io::Result<Self> {
        let fd = memfd_create("drover", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        fallocate(&fd, FallocateFlags::empty(), 0, len as u64)?;
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        // SAFETY: a fresh shared mapping at an address of the kernel's choice aliases nothing.
        let base =
            unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &fd, 0)? };
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mmap gave a null address"))?;
        Ok(Segment { base, len })
    }

    /// Address of the byte at `offset`, of which `size` more are inside the segment.
    pub(crate) fn at(&self, offset: usize, size: usize) -> *mut u8 {
        assert!(offset.checked_add(size).is_some_and(|end| end <= self.len), "outside of the segment");
        // SAFETY: offset is within the mapping, just checked.
        unsafe { self.base.as_ptr().add(offset) }
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
