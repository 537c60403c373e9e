//! Checked reading of words and runs of bytes. Not for building messages: those are plain appends to a `Vec`.

use std::fmt;

/// A message whose lengths do not fit its bytes, or that says something this version does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireError(pub(crate) &'static str);

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed message: {}", self.0)
    }
}

impl std::error::Error for WireError {}

/// Takes from the front of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        if len > self.rest.len() {
            return Err(WireError("a length goes past the end"));
        }
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, WireError> {
        let b = self.bytes(4)?;
        Ok(u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, WireError> {
        let low = self.u32()?;
        let high = self.u32()?;
        Ok(u64::from(low) | u64::from(high) << 32)
    }

    /// `n` lengths that follow one another.
    pub(crate) fn lengths(&mut self, n: u32) -> Result<Lengths<'a>, WireError> {
        let size = (n as usize).checked_mul(4).ok_or(WireError("a count is too large"))?;
        Ok(Lengths { words: self.bytes(size)? })
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

/// Lengths of byte runs, read one at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths<'a> {
    words: &'a [u8],
}

impl Lengths<'_> {
    pub(crate) fn len(&self) -> usize {
        self.words.len() / 4
    }

    pub(crate) fn get(&self, i: usize) -> usize {
        let b = &self.words[i * 4..i * 4 + 4];
        u32::from_ne_bytes([b[0], b[1], b[2], b[3]]) as usize
    }

    /// The sum, which never overflows: at most 2^32 lengths below 2^32.
    pub(crate) fn total(&self) -> usize {
        (0..self.len()).map(|i| self.get(i)).sum()
    }
}

pub(crate) fn put_u32(out: &mut Vec<u8>, x: u32) {
    out.extend_from_slice(&x.to_ne_bytes());
}

/// Several words at once: one look at the room that is left, and not one for each.
pub(crate) fn put_words<const N: usize>(out: &mut Vec<u8>, words: [u32; N]) {
    out.extend_from_slice(words.map(u32::to_ne_bytes).as_flattened());
}

/// A long number as two words.
pub(crate) fn halves(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

/// A length as a word. Nothing that long is accepted by the server in the first place.
pub(crate) fn len_word(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// The lengths of names and values, in turn; how many pairs there were goes to the word at `count_at`.
pub(crate) fn put_pair_lengths<'h>(
    out: &mut Vec<u8>,
    count_at: usize,
    pairs: impl Iterator<Item = (&'h [u8], &'h [u8])>,
) {
    let mut count = 0u32;
    for (name, value) in pairs {
        put_words(out, [len_word(name.len()), len_word(value.len())]);
        count += 1;
    }
    out[count_at..count_at + 4].copy_from_slice(&count.to_ne_bytes());
}

/// The bytes of names and values, in turn.
pub(crate) fn put_pairs<'h>(out: &mut Vec<u8>, pairs: impl Iterator<Item = (&'h [u8], &'h [u8])>) {
    for (name, value) in pairs {
        out.extend_from_slice(name);
        out.extend_from_slice(value);
    }
}
