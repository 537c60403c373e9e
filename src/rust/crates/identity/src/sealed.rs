//! Texts that only the server can read and make, such as cookies: sealed with AES-256-GCM-SIV (RFC 8452), which stays
//! safe should two nonces, which are random, ever be the same. What is sealed is the end of its time and a text; the
//! cookie's name, or what else the text is for, is sealed with it, so that one cookie cannot be put in the place of
//! another. Of several keys the first one seals, and all open.

use aws_lc_rs::aead::{Aad, LessSafeKey, Nonce, UnboundKey, AES_256_GCM_SIV, NONCE_LEN};
use aws_lc_rs::hkdf::{Salt, HKDF_SHA256};
use aws_lc_rs::rand;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::Engine as _;

/// RFC 6265, section 6.1: what every browser takes, of name, value and attributes.
pub const LONGEST_COOKIE: usize = 4096;

/// A key may be of any length above this: what seals is derived from it.
const SHORTEST_KEY: usize = 32;

/// Each cookie that no key opens is tried with all of them.
const MOST_KEYS: usize = 16;

/// What a key is derived for: with another use of the same secret it has nothing in common.
const PURPOSE: &[&[u8]] = &[b"drover session 1"];

/// See the module.
pub struct Sealer {
    keys: Vec<LessSafeKey>,
    name: String,
    longest: usize,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Sealer {
    /// For the cookie of this name, with these keys, the newest first.
    ///
    /// # Errors
    /// A text that says which key is wrong, without showing it.
    pub fn new(name: &str, keys: &[Vec<u8>]) -> Result<Self, String> {
        if keys.is_empty() || keys.len() > MOST_KEYS {
            return Err(format!("there must be 1 to {MOST_KEYS} keys, not {}", keys.len()));
        }
        let derive = |(at, secret): (usize, &Vec<u8>)| {
            if secret.len() < SHORTEST_KEY {
                let (nth, bytes) = (at + 1, secret.len());
                return Err(format!("key {nth} must have at least {SHORTEST_KEY} bytes, not {bytes}"));
            }
            let derived = Salt::new(HKDF_SHA256, &[]).extract(secret);
            let key = derived.expand(PURPOSE, &AES_256_GCM_SIV).map(UnboundKey::from).map(LessSafeKey::new);
            key.map_err(|_| "no key can be derived".to_owned())
        };
        let keys = keys.iter().enumerate().map(derive).collect::<Result<_, _>>()?;
        Ok(Sealer { keys, name: name.to_owned(), longest: LONGEST_COOKIE })
    }

    /// For the cookie of this name, with a key that nobody else has.
    ///
    /// # Errors
    /// When the system has no random bytes to give.
    pub fn with_new_key(name: &str) -> Result<Self, String> {
        let mut key = vec![0; SHORTEST_KEY];
        rand::fill(&mut key).map_err(|_| "there are no random bytes".to_owned())?;
        Sealer::new(name, &[key])
    }

    /// The same for texts that are no cookies, and may have up to `longest` bytes when they are sealed.
    #[must_use]
    pub fn up_to(mut self, longest: usize) -> Self {
        self.longest = longest;
        self
    }

    /// The value of a cookie with this text in it, which holds until then: seconds since 1970. `None` when the system
    /// has no random bytes to give.
    pub fn seal(&self, text: &[u8], until: u64) -> Option<String> {
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).ok()?;
        let mut sealed = Vec::with_capacity(8 + text.len() + AES_256_GCM_SIV.tag_len());
        sealed.extend_from_slice(&until.to_be_bytes());
        sealed.extend_from_slice(text);
        let nonce_of = Nonce::assume_unique_for_key(nonce);
        self.keys.first()?.seal_in_place_append_tag(nonce_of, self.aad(), &mut sealed).ok()?;
        let mut value = nonce.to_vec();
        value.append(&mut sealed);
        Some(URL_SAFE_NO_PAD.encode(value))
    }

    /// The text in a cookie. `None` if it was not sealed with one of these keys and this name, or has expired.
    pub fn open(&self, value: &[u8], now: u64) -> Option<Vec<u8>> {
        if value.len() > self.longest {
            return None;
        }
        let value = URL_SAFE_NO_PAD.decode(value).ok()?;
        let (nonce, sealed) = value.split_first_chunk::<NONCE_LEN>()?;
        self.keys.iter().find_map(|key| {
            let mut sealed = sealed.to_vec();
            let opened = key.open_in_place(Nonce::assume_unique_for_key(*nonce), self.aad(), &mut sealed).ok()?;
            let (until, text) = opened.split_first_chunk()?;
            (u64::from_be_bytes(*until) > now).then(|| text.to_vec())
        })
    }

    fn aad(&self) -> Aad<&[u8]> {
        Aad::from(self.name.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sealer(name: &str, keys: &[u8]) -> Sealer {
        Sealer::new(name, &keys.iter().map(|&byte| vec![byte; 32]).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn what_is_sealed_is_opened_by_its_keys_and_until_its_end() {
        let (old, both, new) = (sealer("s", b"a"), sealer("s", b"ba"), sealer("s", b"b"));
        let cookie = old.seal(b"{\"n\":1}", 100).unwrap();
        for (by, opens) in [(&old, true), (&both, true), (&new, false)] {
            assert_eq!(by.open(cookie.as_bytes(), 99).is_some(), opens);
        }
        assert_eq!(old.open(cookie.as_bytes(), 99).unwrap(), b"{\"n\":1}");
        assert_eq!(old.open(cookie.as_bytes(), 100), None);
        // the first one seals
        let cookie = both.seal(b"x", 100).unwrap();
        assert!(new.open(cookie.as_bytes(), 0).is_some() && old.open(cookie.as_bytes(), 0).is_none());
        assert_ne!(both.seal(b"x", 100), both.seal(b"x", 100));
    }

    #[test]
    fn a_cookie_of_another_name_is_none() {
        let cookie = sealer("a", b"k").seal(b"x", 100).unwrap();
        assert_eq!(sealer("b", b"k").open(cookie.as_bytes(), 0), None);
    }

    #[test]
    fn what_is_longer_than_it_may_be_is_not_opened() {
        let text = vec![b'x'; LONGEST_COOKIE];
        let sealed = sealer("s", b"k").seal(&text, 100).unwrap();
        assert_eq!(sealer("s", b"k").open(sealed.as_bytes(), 0), None);
        assert_eq!(sealer("s", b"k").up_to(sealed.len()).open(sealed.as_bytes(), 0).unwrap(), text);
    }

    #[test]
    fn every_changed_byte_breaks_it() {
        let sealer = sealer("s", b"k");
        let cookie = sealer.seal(b"some text", 100).unwrap();
        for at in 0..cookie.len() {
            for other in [b'A', b'B', b'-', b'*', b'='] {
                let mut changed = cookie.clone().into_bytes();
                if changed[at] != other {
                    changed[at] = other;
                    assert_eq!(sealer.open(&changed, 0), None, "byte {at}");
                }
            }
            assert_eq!(sealer.open(&cookie.as_bytes()[..at], 0), None, "cut at {at}");
        }
        assert_eq!(sealer.open(format!("{cookie}=").as_bytes(), 0), None);
    }

    #[test]
    fn keys_have_a_length() {
        let refused = |keys: &[Vec<u8>]| Sealer::new("s", keys).unwrap_err();
        assert_eq!(refused(&[vec![0; 32], vec![0; 31]]), "key 2 must have at least 32 bytes, not 31");
        assert_eq!(refused(&[]), "there must be 1 to 16 keys, not 0");
        assert_eq!(refused(&vec![vec![0; 32]; 17]), "there must be 1 to 16 keys, not 17");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(sealer("s", b"k").open(&bytes, 0), None);
            prop_assert_eq!(sealer("s", b"k").open(URL_SAFE_NO_PAD.encode(&bytes).as_bytes(), 0), None);
        }
    }
}
