//! Tokens and keys that were handed out, each with the name of whoever has it. Only their hashes are kept.

use crate::basic::lines;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{digest, SHA256, SHA256_OUTPUT_LEN};
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};

/// What stands before the hash of a token, in the place of the token.
pub const DIGEST_PREFIX: &str = "sha256:";

type Digest = [u8; SHA256_OUTPUT_LEN];

/// Shorter ones can be guessed: 16 bytes are 128 bits at best, and about 80 of what people make up of letters.
const SHORTEST: usize = 16;

/// See the module.
#[derive(Debug, Default)]
pub struct Named {
    /// in the order of the first
    tokens: Vec<(u64, Digest, String)>,
    /// with a secret: which places are looked at tells clients nothing of the hashes
    places: RandomState,
}

impl Named {
    /// These: names, and tokens or their hashes.
    ///
    /// # Errors
    /// A text that names the token that is wrong, without showing it.
    pub fn new<'t>(given: impl IntoIterator<Item = (&'t str, &'t str)>) -> Result<Self, String> {
        let mut named = Named::default();
        for (name, token) in given {
            let digest = match token.strip_prefix(DIGEST_PREFIX) {
                Some(hex) => from_hex(hex).ok_or_else(|| {
                    format!("the token of {name:?} must have 64 hexadecimal digits after {DIGEST_PREFIX:?}")
                })?,
                None if token.len() < SHORTEST => {
                    return Err(format!("the token of {name:?} must have at least {SHORTEST} bytes"));
                }
                None => hash(token.as_bytes()),
            };
            if let Some((.., other)) = named.tokens.iter().find(|(_, known, _)| *known == digest) {
                return Err(format!("{other:?} and {name:?} have the same token"));
            }
            named.tokens.push((named.places.hash_one(digest), digest, name.to_owned()));
        }
        named.tokens.sort_unstable_by_key(|(place, ..)| *place);
        Ok(named)
    }

    /// Its number, if there is such a token. How long that takes depends on its length alone.
    pub fn find(&self, token: &[u8]) -> Option<usize> {
        let digest = hash(token);
        let place = self.places.hash_one(digest);
        let at = self.tokens.binary_search_by_key(&place, |(place, ..)| *place).ok()?;
        verify_slices_are_equal(&self.tokens[at].1, &digest).ok().map(|()| at)
    }

    /// Names and tokens of a file: `name:token` or `name:sha256:hash` in each line; `#` begins a comment.
    ///
    /// # Errors
    /// A text that names the line that is wrong.
    pub fn read_lines(text: &str) -> Result<Vec<(&str, &str)>, String> {
        lines(text, "name:token")
    }

    /// Their names, by their numbers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tokens.iter().map(|(.., name)| name.as_str())
    }
}

/// What can stand in the place of a token.
pub fn digest_of(token: &str) -> String {
    hash(token.as_bytes()).iter().fold(DIGEST_PREFIX.to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn hash(token: &[u8]) -> Digest {
    let mut hash = [0; SHA256_OUTPUT_LEN];
    hash.copy_from_slice(digest(&SHA256, token).as_ref());
    hash
}

fn from_hex(text: &str) -> Option<Digest> {
    let mut bytes = [0; SHA256_OUTPUT_LEN];
    if text.len() != 2 * bytes.len() || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "0123456789abcdef";

    #[test]
    fn tokens_are_found_by_all_of_their_bytes() {
        let hash = digest_of("a token of some length");
        let named = Named::new([("a", A), ("b", hash.as_str()), ("c", "cccccccccccccccc")]).unwrap();
        let find = |token: &str| named.find(token.as_bytes()).and_then(|at| named.names().nth(at));
        assert_eq!((find(A), find("a token of some length")), (Some("a"), Some("b")));
        assert_eq!(find("cccccccccccccccc"), Some("c"));
        for wrong in ["", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef ", hash.as_str()] {
            assert_eq!(find(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_without_being_shown() {
        let refused = |given: &[(&str, &str)]| Named::new(given.iter().copied()).unwrap_err();
        assert_eq!(refused(&[("a", "short")]), "the token of \"a\" must have at least 16 bytes");
        for wrong in
            ["sha256:", "sha256:12", &format!("sha256:{}", "x".repeat(64)), &format!("sha256:+{}", "0".repeat(63))]
        {
            assert!(refused(&[("a", wrong)]).contains("64 hexadecimal digits"), "{wrong}");
        }
        assert_eq!(refused(&[("a", A), ("b", &digest_of(A))]), "\"a\" and \"b\" have the same token");
    }
}
