//! Hashes of passwords, by Argon2 (RFC 9106), in the usual text form (`$argon2id$v=19$m=...`). One takes tens of
//! milliseconds and as many megabytes, which is its purpose: never on a thread that others wait for.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::PasswordHasher as _;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use aws_lc_rs::constant_time::verify_slices_are_equal;
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
    Verifier::default().verify(password, hash)
}

/// Verifies one password after the other, in memory that it keeps. Allocated for each, it would come from the kernel
/// each time, or pile up where the allocator keeps it.
#[derive(Debug, Default)]
pub struct Verifier {
    blocks: Vec<Block>,
}

impl Verifier {
    /// The same as [`verify_password`].
    pub fn verify(&mut self, password: &[u8], hash: &str) -> bool {
        self.is_of(password, hash).unwrap_or(false)
    }

    fn is_of(&mut self, password: &[u8], hash: &str) -> Option<bool> {
        let hash = PasswordHash::new(hash).ok()?;
        let algorithm = Algorithm::try_from(hash.algorithm.as_str()).ok()?;
        let version = hash.version.map_or(Ok(Version::default()), Version::try_from).ok()?;
        let params = Params::try_from(&hash).ok()?;
        let (salt, right) = (hash.salt.as_ref()?, hash.hash.as_ref()?);
        if self.blocks.len() < params.block_count() {
            self.blocks.resize(params.block_count(), Block::default());
        }
        let blocks = &mut self.blocks[..params.block_count()];
        let mut found = vec![0; right.as_bytes().len()];
        let hashing = Argon2::new(algorithm, version, params);
        hashing.hash_password_into_with_memory(password, salt.as_ref(), &mut found, blocks).ok()?;
        Some(verify_slices_are_equal(&found, right.as_bytes()).is_ok())
    }
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

    /// Of argon2-cffi: PasswordHasher(memory_cost=256, time_cost=2, parallelism=1).hash("password"), salt "somesalt",
    /// from the tests of the reference implementation.
    const SMALL: &str = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

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
    fn memory_of_the_one_before_changes_nothing() {
        let large = hash_password("secret").unwrap();
        let mut verifier = Verifier::default();
        for _ in 0..2 {
            assert!(verifier.verify(b"secret", &large) && !verifier.verify(b"password", &large));
            assert!(verifier.verify(b"password", SMALL) && !verifier.verify(b"secret", SMALL));
            assert!(!verifier.verify(b"secret", "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ"));
        }
    }

    #[test]
    fn a_hash_of_another_program_is_read() {
        assert!(check(SMALL).is_ok() && verify_password(b"password", SMALL) && !verify_password(b"passwore", SMALL));
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
