//! The blocks of a table: which are free, and what is in the chains of those that are not. Under the lock.

use crate::layout::{
    blocks_for, word, BACKED, BEFORE, BLOCK, BUCKETS, CHANGING, ENTRIES, EVER_USED, FREE, FURTHER_PAYLOAD, NEXT_BLOCK,
    NEXT_ENTRY, PAYLOAD, USED, WORD,
};
use shm::Segment;
use std::io;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Blocks that the system is asked for at a time: 1 MB.
const AT_A_TIME: u64 = (1 << 20) / (BLOCK * WORD) as u64;

/// The words of a table, whose blocks are taken and given back.
#[derive(Debug)]
pub struct Blocks(pub Segment);

impl Blocks {
    pub fn get(&self, at: usize) -> u64 {
        self.0.word(at * WORD).load(Relaxed)
    }

    /// What was set before is there when this is, for the next holder of the lock as well.
    pub fn set(&self, at: usize, to: u64) {
        self.0.word(at * WORD).store(to, Release);
    }

    fn change(&self, at: usize, by: i64) {
        self.set(at, self.get(at).wrapping_add_signed(by));
    }

    /// Blocks are taken and given back in `f`, which leaves the entries whole at each step.
    pub fn changing<T>(&self, f: impl FnOnce() -> T) -> T {
        self.set(CHANGING, 1);
        let out = f();
        self.set(CHANGING, 0);
        out
    }

    /// The process that held the lock before has been killed while it changed something: blocks are free that no entry
    /// has.
    pub fn mend(&self) {
        if self.get(CHANGING) == 0 {
            return;
        }
        let mut has_owner = vec![false; self.get(EVER_USED) as usize + 1];
        let (mut entries, mut used) = (0, 0);
        for bucket in 0..BUCKETS {
            let mut entry = self.get(crate::layout::bucket(bucket as u64));
            while entry != 0 {
                entries += 1;
                let mut block = entry;
                while block != 0 {
                    has_owner[block as usize] = true;
                    used += 1;
                    block = self.get(word(block, NEXT_BLOCK));
                }
                entry = self.get(word(entry, NEXT_ENTRY));
            }
        }
        self.set(FREE, 0);
        for (block, _) in has_owner.iter().enumerate().skip(1).filter(|(_, has_owner)| !**has_owner) {
            self.free(block as u64);
        }
        self.set(ENTRIES, entries);
        self.set(USED, used);
        self.set(CHANGING, 0);
    }

    fn free(&self, block: u64) {
        self.set(word(block, NEXT_BLOCK), self.get(FREE));
        self.set(FREE, block);
    }

    /// Has the system give memory for `n` further blocks, so that their use does not fail.
    ///
    /// # Errors
    /// When it has none.
    pub fn back(&self, n: u64) -> io::Result<()> {
        let (needed, backed) = (self.get(EVER_USED) + n, self.get(BACKED));
        if needed > backed {
            let blocks = (needed - backed).max(AT_A_TIME);
            let from = (BEFORE + backed as usize * BLOCK) * WORD;
            let len = (blocks as usize * BLOCK * WORD).min(self.0.len().saturating_sub(from));
            self.0.back(from, len)?;
            self.set(BACKED, backed + (len / (BLOCK * WORD)) as u64);
        }
        Ok(())
    }

    /// An entry's blocks, `n` of them in a chain that nothing leads to. They are backed.
    fn take(&self, n: u64) -> u64 {
        let mut chain = 0;
        for _ in 0..n {
            let block = match self.get(FREE) {
                0 => {
                    let block = self.get(EVER_USED) + 1;
                    self.set(EVER_USED, block);
                    block
                }
                free => {
                    self.set(FREE, self.get(word(free, NEXT_BLOCK)));
                    free
                }
            };
            self.set(word(block, NEXT_BLOCK), chain);
            chain = block;
        }
        self.change(USED, n as i64);
        chain
    }

    /// A new chain with these bytes, one after the other; nothing leads to it.
    pub fn write(&self, parts: [&[u8]; 2]) -> u64 {
        let bytes = parts.concat();
        let first = self.take(blocks_for(bytes.len()));
        let (mut block, mut at) = (first, PAYLOAD);
        for piece in bytes.chunks(WORD) {
            if at == BLOCK {
                (block, at) = (self.get(word(block, NEXT_BLOCK)), FURTHER_PAYLOAD);
            }
            let mut whole = [0; WORD];
            whole[..piece.len()].copy_from_slice(piece);
            self.set(word(block, at), u64::from_le_bytes(whole));
            at += 1;
        }
        first
    }

    /// The first `len` bytes of a chain.
    pub fn read(&self, first: u64, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + WORD);
        let (mut block, mut at) = (first, PAYLOAD);
        while bytes.len() < len {
            if at == BLOCK {
                (block, at) = (self.get(word(block, NEXT_BLOCK)), FURTHER_PAYLOAD);
            }
            bytes.extend(self.get(word(block, at)).to_le_bytes());
            at += 1;
        }
        bytes.truncate(len);
        bytes
    }

    /// Gives back the chain of an entry, which nothing leads to any more.
    pub fn give_back(&self, first: u64) {
        let (mut block, mut n) = (first, 0);
        while block != 0 {
            let next = self.get(word(block, NEXT_BLOCK));
            self.free(block);
            (block, n) = (next, n + 1);
        }
        self.change(USED, -n);
    }

    /// There is an entry more (1) or less (-1).
    pub fn count(&self, by: i64) {
        self.change(ENTRIES, by);
    }
}
