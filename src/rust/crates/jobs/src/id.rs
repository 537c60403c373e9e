//! What a job is called: random, since who knows the name may ask for the result.

use rustix::rand::{getrandom, GetRandomFlags};
use std::fmt;

/// Sixteen random bytes, written as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct JobId([u8; 16]);

impl JobId {
    /// A new one; `None` when the system has no random bytes to give.
    pub fn new() -> Option<Self> {
        let mut bytes = [0; 16];
        let got = getrandom(&mut bytes, GetRandomFlags::empty()).ok()?;
        (got == bytes.len()).then_some(JobId(bytes))
    }

    /// Reads 32 hexadecimal digits, in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(|number| JobId(number.to_be_bytes()))
    }

    /// The first half of it, as a number.
    pub fn first_half(&self) -> u64 {
        (u128::from_be_bytes(self.0) >> 64) as u64
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> Self {
        JobId(bytes)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written_and_nothing_else_is_one() {
        let id = JobId::new().unwrap();
        assert_eq!(JobId::parse(&id.to_string()), Some(id));
        assert_ne!(JobId::new().unwrap(), id);
        assert_eq!(JobId([0; 16]).to_string(), "0".repeat(32));
        assert_eq!(format!("{:016x}", id.first_half()), id.to_string()[..16]);
        for text in ["", "0", &"0".repeat(33), &"A".repeat(32), &"g".repeat(32), &format!("+{}", "0".repeat(31))] {
            assert_eq!(JobId::parse(text), None, "{text}");
        }
    }
}
