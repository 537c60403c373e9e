//! Memory that another process can map by its descriptor, and no process can shrink.

use rustix::fs::{fallocate, fcntl_add_seals, fcntl_get_seals, memfd_create, FallocateFlags, MemfdFlags, SealFlags};
use std::io;
use std::os::fd::OwnedFd;

/// `len` bytes, all zero, which are there from the start: what the system does not have is an error here, and no SIGBUS
/// later.
pub fn sealed_memory(len: usize) -> io::Result<OwnedFd> {
    let fd = memfd_create("drover", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    fallocate(&fd, FallocateFlags::empty(), 0, len as u64)
        .map_err(|e| io::Error::new(e.kind(), format!("no shared memory of {len} bytes: {e}")))?;
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

/// Whether a descriptor is of such memory.
pub fn is_sealed(fd: &OwnedFd) -> io::Result<bool> {
    Ok(fcntl_get_seals(fd)?.contains(SealFlags::SHRINK | SealFlags::GROW))
}
