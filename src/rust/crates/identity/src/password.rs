//! Hashes of passwords, by Argon2 (RFC 9106), in the usual text form (`$argon2id$v=19$m=...`). One takes tens of
//! milliseconds and as many megabytes, which is its purpose: never on a thread that others wait for.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Argon2, Params};
use aws_lc_rs::rand;

/// What a hash may ask for: whoever can write one could otherwise have the server take all memory.
const MOST_MEMORY: u32 = 1 << 20;
const MOST_PASSES: u32 = 64;
const MOST_LANES: u32 = 64;

/// Longer ones are no passwords.
pub(crate) const LONGEST: usize = 1024;

/// The hash of a password, with a salt of its own: Argon2id with the parameters that OWASP recommends (19 MiB, two
/// passes).
///
/// # Errors
/// What is wrong with the password, or that the system has no random bytes to give.
pub fn hash_password(password: &str) -> Result<String, String> {
    if password.is_empty() || password.len() > LONGEST {
        return Err(format!("it must have 1 to {LONGEST} bytes"));
    }
    let mut salt = [0; 16];
    rand::fill(&mut salt).map_err(|_| "the system has no random bytes to give".to_owned())?;
    let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt);
    hash.map(|hash| hash.to_string()).map_err(|e| e.to_string())
}

/// Whether it is this password's hash. One that cannot be read is of none: [`check`] says so beforehand.
pub fn verify_password(password: &[u8], hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    Argon2::default().verify_password(password, &hash).is_ok()
}

/// What is wrong with a hash, without showing it.
pub(crate) fn check(hash: &str) -> Result<(), String> {
    let right = "a hash of Argon2, as dr_password_hash() makes it: \"$argon2id$v=19$...\"";
    if !hash.starts_with("$argon2") {
        return Err(format!("it must be {right}"));
    }
    let read = PasswordHash::new(hash).map_err(|e| format!("it must be {right}: {e}"))?;
    let params = Params::try_from(&read).map_err(|e| format!("it must be {right}: {e}"))?;
    if read.hash.is_none() || read.salt.is_none() {
        return Err(format!("it must be {right}: its end is missing"));
    }
    let asks = (params.m_cost(), params.t_cost(), params.p_cost());
    if asks.0 > MOST_MEMORY || asks.1 > MOST_PASSES || asks.2 > MOST_LANES {
        return Err(format!(
            "it asks for too much: at most m={MOST_MEMORY}, t={MOST_PASSES}, p={MOST_LANES}, not m={}, t={}, p={}",
            asks.0, asks.1, asks.2
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_of_one_password() {
        let (hash, other) = (hash_password("secret").unwrap(), hash_password("secret").unwrap());
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hash, other);
        assert!(check(&hash).is_ok() && verify_password(b"secret", &hash));
        assert!(!verify_password(b"Secret", &hash) && !verify_password(b"", &hash) && !verify_password(b"secret", "x"));
        assert!(hash_password("").is_err() && hash_password(&"x".repeat(LONGEST + 1)).is_err());
    }

    #[test]
    fn a_hash_of_another_program_is_read() {
        // argon2-cffi: PasswordHasher(memory_cost=256, time_cost=2, parallelism=1).hash("password"), salt "somesalt",
        // from the tests of the reference implementation
        let hash = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
        assert!(check(hash).is_ok() && verify_password(b"password", hash) && !verify_password(b"passwore", hash));
    }

    #[test]
    fn what_is_no_hash_is_refused() {
        for wrong in [
            "secret",
            "$2y$05$abcdefghijklmnopqrstuu",
            "$argon2id$",
            "$argon2id$v=19$m=19456,t=2,p=1",
            "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ",
        ] {
            assert!(check(wrong).unwrap_err().contains("dr_password_hash()"), "{wrong}");
        }
        let greedy = "$argon2id$v=19$m=2000000,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
        assert!(check(greedy).unwrap_err().contains("it asks for too much"));
    }
}
