//! What is kept for the next use: how much memory of a buffer, and what came of a text ([`Latest`]).
//!
//! A buffer keeps memory for its next use. One that was needed for something long goes back to that: otherwise
//! a single long answer would be paid for as long as the process lives. One rule for all buffers that are used again;
//! docs/decisions/0076-what-buffers-keep.md says which there are. Not for limits on what may wait: those are settings,
//! or stand beside what waits.

#![forbid(unsafe_code)]

mod latest;

pub use latest::Latest;

/// Bytes that a buffer keeps of which a thread, a process or a client's end has one: usual messages fit in, and ten of
/// them are still little.
pub const OF_ONE: usize = 256 << 10;

/// Bytes that a buffer keeps of which there is one for each request, stream or connection.
pub const OF_MANY: usize = 4 << 10;

/// Empties a buffer, which keeps memory for [`OF_ONE`] bytes at most.
pub fn empty<T>(buffer: &mut Vec<T>) {
    empty_to(buffer, OF_ONE);
}

/// Empties one of many, which keeps memory for [`OF_MANY`] bytes at most.
pub fn empty_one_of_many<T>(buffer: &mut Vec<T>) {
    empty_to(buffer, OF_MANY);
}

fn empty_to<T>(buffer: &mut Vec<T>, most: usize) {
    buffer.clear();
    // nothing at all for the usual ones
    buffer.shrink_to(most / size_of::<T>().max(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_long_goes_back_and_what_is_usual_stays() {
        let mut long = vec![1u64; OF_ONE];
        empty(&mut long);
        assert!(long.is_empty() && size_of::<u64>() * long.capacity() == OF_ONE, "{}", long.capacity());
        let mut usual = Vec::<u8>::with_capacity(1000);
        usual.push(1);
        let (at, capacity) = (usual.as_ptr(), usual.capacity());
        empty(&mut usual);
        assert_eq!((usual.len(), usual.as_ptr(), usual.capacity()), (0, at, capacity));
        let mut one = vec![1u8; OF_ONE];
        empty_one_of_many(&mut one);
        assert_eq!((one.len(), one.capacity()), (0, OF_MANY));
        empty(&mut vec![(); 5]);
    }
}
