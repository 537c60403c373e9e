//! JSON Web Tokens (RFC 7519), by what RFC 8725 says is to be minded: which algorithms are taken is ours to say and
//! not the token's, a key is used with algorithms of its kind only, and claims have the types that they must have.
//! Signatures are the library jsonwebtoken's to check. `keys` are the keys, `claims` what a token may claim.

mod claims;
mod keys;

pub use claims::{Claims, Rules};
pub use keys::Keys;

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::Engine as _;
use jsonwebtoken::crypto;
use serde_json::{Map, Value};
use std::str::FromStr as _;

pub use jsonwebtoken::Algorithm;

/// Longest token: as long as a header field may usually be.
pub const LONGEST: usize = 8 << 10;

/// Why a token is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// for the client to read (RFC 6750 section 3.1, `invalid_token`)
    Invalid(&'static str),
    /// a key that is not known, which may have been added meanwhile
    UnknownKey,
}

/// The algorithm of this name, such as `ES256`.
///
/// # Errors
/// A text that says which there are.
pub fn algorithm(name: &str) -> Result<Algorithm, String> {
    Algorithm::from_str(name).map_err(|_| {
        format!(
            "{name:?} is no algorithm of these: HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, \
             ES384, EdDSA"
        )
    })
}

/// What a token claims, which has been signed with one of the keys. `now` is in seconds since 1970.
///
/// # Errors
/// Why it is refused.
pub fn verify(token: &[u8], keys: &Keys, rules: &Rules, now: u64) -> Result<Claims, Refused> {
    let invalid = Refused::Invalid;
    if token.len() > LONGEST {
        return Err(invalid("the token is too long"));
    }
    let token = std::str::from_utf8(token).map_err(|_| invalid("the token is malformed"))?;
    let (signed, signature) = token.rsplit_once('.').ok_or(invalid("the token is malformed"))?;
    // five parts are an encrypted token
    let (header, claims) = signed.split_once('.').ok_or(invalid("the token is malformed"))?;
    if claims.contains('.') {
        return Err(invalid("the token is malformed"));
    }
    let header = header_of(&object(header)?, rules)?;
    let mut found = keys.of(header.algorithm, header.key.as_deref()).peekable();
    if found.peek().is_none() {
        return Err(Refused::UnknownKey);
    }
    // a signature that is no base64 is an error
    let is_of = |key| crypto::verify(signature, signed.as_bytes(), key, header.algorithm).unwrap_or(false);
    if !found.any(is_of) {
        return Err(invalid("the signature is wrong"));
    }
    rules.judge(object(claims)?, now)
}

struct Header {
    algorithm: Algorithm,
    key: Option<String>,
}

/// Reads what chooses the key, and checks the type. Keys and addresses of keys in the header (`jwk`, `jku`, `x5u`,
/// `x5c`) are the sender's choice, and are ignored.
fn header_of(header: &Map<String, Value>, rules: &Rules) -> Result<Header, Refused> {
    let text = |name: &str| match header.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(_) => Err(Refused::Invalid("a parameter of the header has the wrong type")),
    };
    // RFC 7515, section 4.1.11: there is no extension that is understood here
    if header.contains_key("crit") {
        return Err(Refused::Invalid("the header has `crit`"));
    }
    let kind = text("typ")?.unwrap_or("JWT").to_ascii_lowercase();
    // RFC 9068 has names for access tokens
    if !matches!(kind.strip_prefix("application/").unwrap_or(&kind), "jwt" | "at+jwt") {
        return Err(Refused::Invalid("the token is of another type"));
    }
    let algorithm = text("alg")?.and_then(|name| Algorithm::from_str(name).ok());
    let algorithm = algorithm.filter(|algorithm| rules.algorithms.contains(algorithm));
    let algorithm = algorithm.ok_or(Refused::Invalid("the algorithm is not allowed"))?;
    Ok(Header { algorithm, key: text("kid")?.map(str::to_owned) })
}

/// A part of a token: an object of JSON.
fn object(part: &str) -> Result<Map<String, Value>, Refused> {
    let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| Refused::Invalid("the token is malformed"))?;
    serde_json::from_slice(&bytes).map_err(|_| Refused::Invalid("the token is malformed"))
}

#[cfg(test)]
mod tests;
