//! Taking an input apart: small decisions come off its front, so that the rest of it is text as a client sends it.

/// What is left of an input.
#[derive(Clone, Copy)]
pub struct Input<'i>(pub &'i [u8]);

impl<'i> Input<'i> {
    /// One byte; 0 when there is none.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number of two bytes.
    pub fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// The next `n` bytes, or all that are left.
    pub fn bytes(&mut self, n: usize) -> &'i [u8] {
        let (taken, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Up to the next separator, which is taken and not given; to the end when there is none.
    pub fn until(&mut self, separator: u8) -> &'i [u8] {
        let end = self.0.iter().position(|&b| b == separator);
        let text = self.bytes(end.unwrap_or(self.0.len()));
        if end.is_some() {
            self.byte();
        }
        text
    }

    /// Sizes of pieces: how many there are, up to 7, and each of them, 1 to 256.
    pub fn cuts(&mut self) -> Vec<usize> {
        let n = self.byte() & 7;
        (0..n).map(|_| usize::from(self.byte()) + 1).collect()
    }

    /// The rest in pieces of these sizes, over and over; as one without any.
    pub fn pieces(self, sizes: &[usize]) -> Vec<&'i [u8]> {
        let (mut rest, mut pieces) = (self, Vec::new());
        for &size in sizes.iter().cycle() {
            if rest.0.is_empty() {
                return pieces;
            }
            pieces.push(rest.bytes(size));
        }
        vec![self.0]
    }
}
