//! Where things are in the shared memory, in words of 8 bytes.
//!
//! A header, then the buckets, each the number of the first block of its first entry, then blocks. Number 0 is no
//! block. All words are written under the lock by a process that holds it; the counts of the header are read without
//! it. What a dead holder leaves says `table`.
//!
//! An entry is a chain of blocks. Its first block:
//!
//! | word | what it has |
//! |---|---|
//! | `NEXT_BLOCK` | the next block of this entry, or of the free ones |
//! | `NEXT_ENTRY` | the first block of the next entry of its bucket |
//! | `VERSION` | another number whenever the value changes, in the whole table |
//! | `EXPIRES` | when it ends, in ms of the system's steady clock; 0 for never |
//! | `SIZES` | the value's kind, the lengths of key and bytes |
//! | `NUMBER` | the value, when it is a number: a single word, which is never torn |
//! | `HASH` | of the key |
//! | from `PAYLOAD` | the key, then the value's bytes, which go on in the next blocks after their `NEXT_BLOCK` |

/// Bytes of a word.
pub const WORD: usize = 8;
/// Words of a block: 128 bytes, so that a counter with a short key takes one block, and two cache lines.
pub const BLOCK: usize = 16;

/// The version of what was changed last.
pub const LAST_VERSION: usize = 0;
/// 1 while blocks are taken or given back: the holder of the lock that finds it so counts them anew.
pub const CHANGING: usize = 1;
/// First of the free blocks.
pub const FREE: usize = 2;
/// Blocks that were ever used: all above are free, too.
pub const EVER_USED: usize = 3;
/// Blocks that the system has given memory for.
pub const BACKED: usize = 4;
/// Entries, and blocks that they take.
pub const ENTRIES: usize = 5;
pub const USED: usize = 6;
/// The limits, as the server has set them; 0 for those that are so by default.
pub const MAX_ENTRIES: usize = 7;
pub const MAX_BYTES: usize = 8;
pub const MAX_VALUE: usize = 9;
/// What the hashes of keys begin with, so that no client can choose keys that fall into one bucket.
pub const SEED: usize = 10;
const HEADER: usize = 512;

/// Chains stay short up to a hundred thousand entries.
pub const BUCKETS: usize = 1 << 14;

/// Words before the blocks, a multiple of the system's pages.
pub const BEFORE: usize = HEADER + BUCKETS;

pub const NEXT_BLOCK: usize = 0;
pub const NEXT_ENTRY: usize = 1;
pub const VERSION: usize = 2;
pub const EXPIRES: usize = 3;
pub const SIZES: usize = 4;
pub const NUMBER: usize = 5;
pub const HASH: usize = 6;
pub const PAYLOAD: usize = 7;
/// The same in the other blocks of an entry.
pub const FURTHER_PAYLOAD: usize = 1;

/// The word of a bucket.
pub fn bucket(hash: u64) -> usize {
    HEADER + hash as usize % BUCKETS
}

/// The word of a block.
pub fn word(block: u64, word: usize) -> usize {
    BEFORE + (block as usize - 1) * BLOCK + word
}

/// Blocks of an entry whose key and value have that many bytes.
pub fn blocks_for(bytes: usize) -> u64 {
    let first = (BLOCK - PAYLOAD) * WORD;
    let further = (BLOCK - FURTHER_PAYLOAD) * WORD;
    1 + bytes.saturating_sub(first).div_ceil(further) as u64
}
