//! Keys that tokens are signed with. A key is of one family of algorithms, so that a public key is never taken for a
//! shared secret.

use super::Algorithm;
use aws_lc_rs::signature::{
    ParsedPublicKey, VerificationAlgorithm, ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519,
    RSA_PKCS1_2048_8192_SHA256,
};
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{AlgorithmFamily, DecodingKey, DecodingKeyKind};
use serde_json::Value;

/// See the module.
#[derive(Debug, Default)]
pub struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    /// `kid`
    id: Option<String>,
    /// of several that it could be used with, those that it may be
    fits: Vec<Algorithm>,
    key: DecodingKey,
}

/// A set has no more keys: a token without `kid` is tried with each.
const MOST: usize = 64;

impl Keys {
    /// The keys for a token that says this of its own.
    pub fn of<'k>(&'k self, algorithm: Algorithm, id: Option<&'k str>) -> impl Iterator<Item = &'k DecodingKey> {
        let fit = move |key: &&Key| key.fits.contains(&algorithm);
        let has_id = move |key: &Key| key.id.as_deref() == id;
        // a key in a file of its own has no id, and may be meant by any
        let is_known = id.is_some() && self.0.iter().any(has_id);
        self.0
            .iter()
            .filter(fit)
            .filter(move |key| id.is_none() || has_id(key) || (!is_known && key.id.is_none()))
            .map(|key| &key.key)
    }

    /// These keys and those.
    pub fn and(mut self, others: Keys) -> Self {
        self.0.extend(others.0);
        self
    }

    /// A secret that is shared with whoever makes tokens, for those of these algorithms that use one.
    ///
    /// # Errors
    /// A text that says what is wrong with it.
    pub fn of_secret(secret: &[u8], algorithms: &[Algorithm]) -> Result<Self, String> {
        if secret.trim_ascii_start().starts_with(b"-----BEGIN") {
            return Err("it is a key in PEM, which cannot be a shared secret".to_owned());
        }
        let fits = of_family(algorithms, AlgorithmFamily::Hmac);
        let longest = fits.iter().map(|algorithm| shortest_secret(*algorithm)).max();
        let Some(longest) = longest else {
            return Err("it is a shared secret, and none of the algorithms uses one".to_owned());
        };
        if secret.len() < longest {
            return Err(format!("a secret for these algorithms must have at least {longest} bytes (RFC 7518)"));
        }
        Ok(Keys(vec![Key { id: None, fits, key: DecodingKey::from_secret(secret) }]))
    }

    /// The keys of a file: a public key or certificate in PEM, a set of keys in JSON (RFC 7517), or else a secret.
    ///
    /// # Errors
    /// A text that says what is wrong with it.
    pub fn of_file(bytes: &[u8], algorithms: &[Algorithm]) -> Result<Self, String> {
        match bytes.trim_ascii_start() {
            text if text.starts_with(b"-----BEGIN") => Keys::of_pem(text, algorithms),
            text if text.starts_with(b"{") => Keys::of_set(text, algorithms),
            // editors end a file with a line break, which is none of the secret's
            _ => Keys::of_secret(bytes.trim_ascii_end(), algorithms),
        }
    }

    fn of_pem(pem: &[u8], algorithms: &[Algorithm]) -> Result<Self, String> {
        if pem.windows(11).any(|w| w == b"PRIVATE KEY") {
            return Err("it is a private key: whoever checks tokens needs the public one".to_owned());
        }
        let key = DecodingKey::from_rsa_pem(pem)
            .or_else(|_| DecodingKey::from_ec_pem(pem))
            .or_else(|_| DecodingKey::from_ed_pem(pem))
            .map_err(|e| format!("it is no public key in PEM of RSA, ECDSA or Ed25519: {e}"))?;
        let fits: Vec<Algorithm> =
            of_family(algorithms, key.family()).into_iter().filter(|one| can_verify(&key, *one)).collect();
        if fits.is_empty() {
            return Err(format!("it is a key of the family {:?}, and fits none of the algorithms", key.family()));
        }
        Ok(Keys(vec![Key { id: None, fits, key }]))
    }

    /// The keys of a set that are for signatures and fit these algorithms; what a set has besides is left out (RFC
    /// 7517, section 5).
    ///
    /// # Errors
    /// A text that says what is wrong with it; also when no key is left.
    pub fn of_set(json: &[u8], algorithms: &[Algorithm]) -> Result<Self, String> {
        let set: Value = serde_json::from_slice(json).map_err(|e| format!("it is no JSON: {e}"))?;
        let Some(Value::Array(given)) = set.get("keys") else {
            return Err("it is no set of keys (RFC 7517): there is no array \"keys\"".to_owned());
        };
        if given.len() > MOST {
            return Err(format!("it has {} keys, more than {MOST}", given.len()));
        }
        let read = |key: &Value| serde_json::from_value::<Jwk>(key.clone()).ok();
        let keys: Vec<Key> = given.iter().filter_map(read).filter_map(|jwk| of_jwk(&jwk, algorithms)).collect();
        match keys.is_empty() {
            true => Err(format!("none of its {} keys is for these algorithms", given.len())),
            false => Ok(Keys(keys)),
        }
    }
}

fn of_jwk(jwk: &Jwk, algorithms: &[Algorithm]) -> Option<Key> {
    let common = &jwk.common;
    if common.public_key_use.as_ref().is_some_and(|used| *used != PublicKeyUse::Signature) {
        return None;
    }
    if common.key_operations.as_ref().is_some_and(|may| !may.contains(&KeyOperations::Verify)) {
        return None;
    }
    let key = DecodingKey::from_jwk(jwk).ok()?;
    let may = |algorithm: &Algorithm| match common.key_algorithm {
        Some(named) => format!("{named:?}") == format!("{algorithm:?}"),
        None => true,
    };
    let is_long_enough = |algorithm: &Algorithm| match (&jwk.algorithm, key.try_get_as_bytes()) {
        (AlgorithmParameters::OctetKey(_), Ok(secret)) => secret.len() >= shortest_secret(*algorithm),
        (AlgorithmParameters::EllipticCurve(curve), _) => {
            matches!(
                (&curve.curve, algorithm),
                (EllipticCurve::P256, Algorithm::ES256) | (EllipticCurve::P384, Algorithm::ES384)
            )
        }
        _ => true,
    };
    let fits = of_family(algorithms, key.family());
    let fits: Vec<_> =
        fits.into_iter().filter(may).filter(is_long_enough).filter(|one| can_verify(&key, *one)).collect();
    (!fits.is_empty()).then(|| Key { id: common.key_id.clone(), fits, key })
}

fn of_family(algorithms: &[Algorithm], family: AlgorithmFamily) -> Vec<Algorithm> {
    algorithms.iter().copied().filter(|algorithm| algorithm.family() == family).collect()
}

/// RFC 7518, section 3.2: as long as the hash.
fn shortest_secret(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::HS384 => 48,
        Algorithm::HS512 => 64,
        _ => 32,
    }
}

/// Whether the library takes the key for this algorithm: a key on the wrong curve, or too short, is found out when it
/// is read, and not with the first token.
fn can_verify(key: &DecodingKey, algorithm: Algorithm) -> bool {
    let of: &'static dyn VerificationAlgorithm = match algorithm {
        Algorithm::ES256 => &ECDSA_P256_SHA256_FIXED,
        Algorithm::ES384 => &ECDSA_P384_SHA384_FIXED,
        Algorithm::EdDSA => &ED25519,
        _ if algorithm.family() == AlgorithmFamily::Rsa => &RSA_PKCS1_2048_8192_SHA256,
        _ => return true,
    };
    match key.kind() {
        DecodingKeyKind::SecretOrDer(bytes) => ParsedPublicKey::new(of, bytes).is_ok(),
        DecodingKeyKind::RsaModulusExponent { n, .. } => (SHORTEST_RSA..=LONGEST_RSA).contains(&n.len()),
    }
}

/// Bytes of a modulus: 2048 to 8192 bits.
const SHORTEST_RSA: usize = 2048 / 8;
const LONGEST_RSA: usize = 8192 / 8;
