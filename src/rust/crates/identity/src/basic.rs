//! Names and passwords (RFC 7617): how they are sent, and whose there are. Not for the hashes themselves: `password`.

use crate::password;
use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;
use std::collections::HashMap;

/// Name and password of an `Authorization: Basic`, of which this is all that comes after the scheme. `None` when they
/// cannot be read.
pub fn credentials(encoded: &[u8]) -> Option<(String, Vec<u8>)> {
    let mut bytes = STANDARD.decode(encoded.trim_ascii()).ok()?;
    let colon = bytes.iter().position(|&b| b == b':')?;
    let password = bytes.split_off(colon + 1);
    bytes.pop();
    let name = String::from_utf8(bytes).ok()?;
    (!name.chars().any(char::is_control) && password.len() <= password::LONGEST).then_some((name, password))
}

/// Whether a user can have this name: it is sent before a colon.
pub fn is_name_of_user(name: &str) -> bool {
    !name.is_empty() && !name.contains(':') && !name.chars().any(char::is_control)
}

/// Users, and hashes of their passwords.
#[derive(Debug)]
pub struct Users {
    hashes: HashMap<String, String>,
    /// the hash for names that no user has: these take as long as others
    nobodys: String,
}

impl Users {
    /// These: names, and hashes of passwords.
    ///
    /// # Errors
    /// A text that names the user that is wrong.
    pub fn new<'u>(given: impl IntoIterator<Item = (&'u str, &'u str)>) -> Result<Self, String> {
        let mut hashes = HashMap::new();
        for (name, hash) in given {
            if !is_name_of_user(name) {
                return Err(format!("{name:?} cannot be the name of a user: it must not be empty or have \":\""));
            }
            password::check(hash).map_err(|e| format!("the password of {name:?}: {e}"))?;
            if hashes.insert(name.to_owned(), hash.to_owned()).is_some() {
                return Err(format!("there are two users {name:?}"));
            }
        }
        let Some(any) = hashes.values().next() else { return Err("there must be at least one user".to_owned()) };
        // with the parameters of one of them, so that it takes as long
        let nobodys = any.clone();
        Ok(Users { hashes, nobodys })
    }

    /// The hash that a password of this name has to have, and whether there is such a user at all.
    pub fn hash_of(&self, name: &str) -> (&str, bool) {
        match self.hashes.get(name) {
            Some(hash) => (hash, true),
            None => (&self.nobodys, false),
        }
    }

    /// Names and hashes of a file: `name:hash` in each line; `#` begins a comment.
    ///
    /// # Errors
    /// A text that names the line that is wrong.
    pub fn read_lines(text: &str) -> Result<Vec<(&str, &str)>, String> {
        lines(text, "name:$argon2id$...")
    }
}

/// Pairs of a file; `right` is how a line looks.
pub(crate) fn lines<'t>(text: &'t str, right: &str) -> Result<Vec<(&'t str, &'t str)>, String> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(at, line)| line.split_once(':').ok_or_else(|| format!("line {at} must be {right:?}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

    fn encode(text: &str) -> Vec<u8> {
        STANDARD.encode(text).into_bytes()
    }

    #[test]
    fn names_end_at_the_first_colon() {
        assert_eq!(credentials(&encode("alice:a:b")), Some(("alice".into(), b"a:b".to_vec())));
        assert_eq!(credentials(&encode("ä:")), Some(("ä".into(), Vec::new())));
        for wrong in
            [&b"*"[..], b"", b"YWxpY2U", &encode("alice"), &encode("a\0b:c"), &STANDARD.encode(b"\xff:a").into_bytes()]
        {
            assert_eq!(credentials(wrong), None, "{wrong:?}");
        }
        assert_eq!(credentials(&encode(&format!("a:{}", "x".repeat(2000)))), None);
    }

    #[test]
    fn users_have_hashes_and_nobody_has_one_too() {
        let users = Users::new([("alice", HASH)]).unwrap();
        assert_eq!((users.hash_of("alice"), users.hash_of("bob")), ((HASH, true), (HASH, false)));
        for (given, why) in [
            (&[("a:b", HASH)][..], "cannot be the name"),
            (&[("a", HASH), ("a", HASH)], "two users"),
            (&[("a", "secret")], "the password of \"a\": it must be a hash"),
            (&[], "at least one"),
        ] {
            let refused = Users::new(given.iter().copied()).unwrap_err();
            assert!(refused.contains(why) && !refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn files_have_a_line_for_each() {
        assert_eq!(Users::read_lines("# all\n\n a:b:c \r\nd:e").unwrap(), [("a", "b:c"), ("d", "e")]);
        assert_eq!(Users::read_lines("a:b\nc").unwrap_err(), "line 2 must be \"name:$argon2id$...\"");
    }
}
