//! A segment of words and bytes that loom follows, in place of mapped memory.

use super::words::AtomicU64;
use std::cell::UnsafeCell;

/// Bytes that are followed as one: records begin and end at multiples of it.
const GRAIN: usize = 16;

/// See `crate::segment`.
#[derive(Debug)]
pub struct Segment {
    /// one for every 8 bytes, for what is used as words
    words: Vec<AtomicU64>,
    /// for what is used as bytes, aligned to words
    bytes: Box<[UnsafeCell<u64>]>,
    /// one for each grain of `bytes`: what loom sees of an access
    grains: Vec<loom::cell::UnsafeCell<()>>,
}

// SAFETY: whoever touches bytes of it holds the cells of `grains`, and loom fails the model when two threads do without
// an order.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// A new segment of `len` bytes, all zero.
    pub(super) fn new(len: usize) -> Self {
        assert!(len % GRAIN == 0, "a part of a grain");
        Segment {
            words: (0..len / 8).map(|_| AtomicU64::new(0)).collect(),
            bytes: (0..len / 8).map(|_| UnsafeCell::new(0)).collect(),
            grains: (0..len / GRAIN).map(|_| loom::cell::UnsafeCell::new(())).collect(),
        }
    }

    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset % 8 == 0, "no word begins there");
        &self.words[offset / 8]
    }

    fn at(&self, offset: usize, size: usize) -> *mut u8 {
        assert!(offset + size <= self.bytes.len() * 8, "outside of the segment");
        // SAFETY: inside, just checked.
        unsafe { UnsafeCell::raw_get(self.bytes.as_ptr()).cast::<u8>().add(offset) }
    }

    fn grains(&self, offset: usize, size: usize) -> &[loom::cell::UnsafeCell<()>] {
        &self.grains[offset / GRAIN..(offset + size).div_ceil(GRAIN)]
    }

    pub(crate) fn read<T>(&self, offset: usize, size: usize, read: impl FnOnce(*const u8) -> T) -> T {
        let _held: Vec<_> = self.grains(offset, size).iter().map(|grain| grain.get()).collect();
        read(self.at(offset, size))
    }

    pub(crate) fn write(&self, offset: usize, size: usize, write: impl FnOnce(*mut u8)) {
        let _held: Vec<_> = self.grains(offset, size).iter().map(|grain| grain.get_mut()).collect();
        write(self.at(offset, size));
    }
}
