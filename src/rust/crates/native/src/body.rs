//! The body of a request as one run of bytes: where it was received, or, if it waits in a file, mapped.

use exchange::RequestView;
use rustix::fs::{fstat, open, Mode, OFlags};
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use std::io;
use std::ptr::NonNull;
use std::sync::OnceLock;
use wire::BodyRef;

/// The file of a body, mapped when it is first asked for. Empty for a body in memory.
#[derive(Default)]
pub struct Mapped(OnceLock<Result<Mapping, String>>);

impl Mapped {
    /// The body of `request`, which is the same one each time.
    ///
    /// # Errors
    /// When its file cannot be mapped. It is removed when the request is answered, or its time is over.
    pub fn body<'a>(&'a self, request: &'a dyn RequestView) -> Result<&'a [u8], &'a str> {
        match request.body() {
            BodyRef::Inline(bytes) => Ok(bytes),
            BodyRef::Spooled { path, len } => self
                .0
                .get_or_init(|| Mapping::new(path, len).map_err(|e| format!("the body's file cannot be mapped: {e}")))
                .as_ref()
                .map(Mapping::bytes)
                .map_err(String::as_str),
        }
    }
}

struct Mapping {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: it is read only, and of a file that is not written to once the request was received.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(path: &[u8], len: u64) -> io::Result<Self> {
        let len = usize::try_from(len).map_err(io::Error::other)?;
        if len == 0 {
            return Ok(Mapping { at: NonNull::dangling(), len });
        }
        let file = open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        // what is mapped beyond the end of a file is a SIGBUS to read
        if u64::try_from(fstat(&file)?.st_size).map_err(io::Error::other)? < len as u64 {
            return Err(io::Error::other("it is shorter than the body"));
        }
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let at = unsafe { mmap(std::ptr::null_mut(), len, ProtFlags::READ, MapFlags::PRIVATE, &file, 0)? };
        let at = NonNull::new(at.cast()).ok_or_else(|| io::Error::other("mmap gave a null address"))?;
        Ok(Mapping { at, len })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped with this length, readable and never written to, until it is dropped; or dangling and empty.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.len > 0 {
            // SAFETY: mapped by us with this length, and not borrowed any more. There is nothing to do if it fails.
            let _ = unsafe { munmap(self.at.as_ptr().cast(), self.len) };
        }
    }
}
