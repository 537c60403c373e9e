//! Memory that another process can map by its descriptor, and no process can shrink.

use rustix::fs::{
    fallocate, fcntl_add_seals, fcntl_get_seals, ftruncate, memfd_create, FallocateFlags, MemfdFlags, SealFlags,
};
use std::io;
use std::os::fd::OwnedFd;

/// `len` bytes, all zero, which are there from the start: what the system does not have is an error here, and no SIGBUS
/// later.
pub fn sealed_memory(len: usize) -> io::Result<OwnedFd> {
    let fd = sealed_addresses(len)?;
    back(&fd, 0, len)?;
    Ok(fd)
}

/// The same without memory: [`back`] gives it what is going to be used.
pub fn sealed_addresses(len: usize) -> io::Result<OwnedFd> {
    let fd = memfd_create("drover", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&fd, len as u64)?;
    fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

/// Has the system give memory for these bytes of it.
pub fn back(fd: &OwnedFd, offset: usize, len: usize) -> io::Result<()> {
    fallocate(fd, FallocateFlags::empty(), offset as u64, len as u64)
        .map_err(|e| io::Error::new(e.kind(), format!("no shared memory of {len} bytes: {e}")))
}

/// Whether a descriptor is of such memory.
pub fn is_sealed(fd: &OwnedFd) -> io::Result<bool> {
    Ok(fcntl_get_seals(fd)?.contains(SealFlags::SHRINK | SealFlags::GROW))
}
