//! Authentication: no password, token or cookie is accepted without the secret, and an accepted token means what a
//! second reading of it says.
//!
//! Input: a byte that says which, then what is sent; of a JSON Web Token its header, a line break and its claims.

use crate::input::Input;
use aws_lc_rs::{hmac, rand};
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use base64::Engine as _;
use identity::jwt::{verify, Algorithm, Keys, Rules};
use identity::{credentials, digest_of, Named, Sealer, Users};
use serde_json::{Map, Value};

const NOW: u64 = 1_800_000_000;
const LEEWAY: u64 = 30;
/// Of Ed25519, from RFC 8037, appendix A.1: an attacker has it as well.
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n-----END PUBLIC KEY-----\n";
const HASH: &str = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    match input.byte() % 7 {
        0 => password(input.0),
        1 => made_up(input.0),
        2 => signed(input),
        3 => confused(input),
        4 => cookie(input),
        5 => keys(input.0),
        _ => files(input.0),
    }
}

/// Name and password come out as they went in, and nothing else does.
fn password(sent: &[u8]) {
    if let Some((name, password)) = credentials(sent) {
        assert!(!name.contains(':') && !name.chars().any(char::is_control), "{name:?}");
        let again = STANDARD.encode([name.as_bytes(), b":", &password].concat());
        assert_eq!(credentials(again.as_bytes()), Some((name, password)));
    }
    let encoded = STANDARD.encode(sent);
    let colon = sent.iter().position(|&b| b == b':');
    let name = colon.and_then(|at| std::str::from_utf8(&sent[..at]).ok());
    let right = name.filter(|name| !name.chars().any(char::is_control));
    let right = right.map(|name| (name.to_owned(), sent[name.len() + 1..].to_vec()));
    // longer ones are no passwords
    let right = right.filter(|(_, password)| password.len() <= 1024);
    assert_eq!(credentials(encoded.as_bytes()), right);
}

fn rules(algorithms: &[Algorithm]) -> Rules {
    Rules {
        algorithms: algorithms.to_vec(),
        issuers: vec!["me".into()],
        audiences: vec!["app".into()],
        required: vec!["exp".into()],
        leeway: LEEWAY,
    }
}

/// Another one each time: libFuzzer remembers what was compared, and would send a token or cookie of an earlier input.
fn secret() -> [u8; 32] {
    let mut secret = [0; 32];
    rand::fill(&mut secret).expect("random bytes");
    secret
}

fn hs256(secret: &[u8]) -> Keys {
    Keys::of_secret(secret, &[Algorithm::HS256]).expect("a secret")
}

/// Whoever does not have the secret cannot make a token.
fn made_up(token: &[u8]) {
    assert!(verify(token, &hs256(&secret()), &rules(&[Algorithm::HS256]), NOW).is_err());
    let public = Keys::of_file(PUBLIC.as_bytes(), &[Algorithm::EdDSA]).expect("a public key");
    assert!(verify(token, &public, &rules(&[Algorithm::EdDSA]), NOW).is_err());
}

/// A token with this header and these claims, signed with HMAC-SHA-256 regardless of the header.
fn token(header: &[u8], claims: &[u8], secret: &[u8]) -> String {
    let message = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), message.as_bytes());
    format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// A token that is signed is taken if its header and claims are right ones, and for whom it says. Another signature, or
/// another message, is none.
fn signed(mut input: Input<'_>) {
    let header = input.until(b'\n');
    let (claims, secret) = (input.0, secret());
    let (token, keys) = (token(header, claims, &secret), hs256(&secret));
    let verdict = verify(token.as_bytes(), &keys, &rules(&[Algorithm::HS256]), NOW);
    let is_short = token.len() <= identity::jwt::LONGEST;
    let right = is_short && object(header).is_some_and(|header| is_right_header(&header));
    let claimed = object(claims).filter(|claims| right && are_right_claims(claims));
    assert_eq!(verdict.is_ok(), claimed.is_some(), "{verdict:?}");
    if let (Ok(verdict), Some(claimed)) = (verdict, claimed) {
        assert_eq!(verdict.who.user(), claimed.get("sub").and_then(Value::as_str));
        let told: Value = serde_json::from_slice(verdict.who.json()).expect("JSON");
        assert_eq!((&told["scheme"], &told["claims"]), (&Value::from("jwt"), &Value::Object(claimed)));
        for at in [token.len() - 1, token.len() / 2, 0] {
            let mut forged = token.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'Q' } else { b'A' };
            // the last digit has bits that say nothing, and must be zero
            assert!(verify(&forged, &keys, &rules(&[Algorithm::HS256]), NOW).is_err(), "byte {at}");
        }
    }
}

fn object(bytes: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(bytes).ok()
}

fn is_right_header(header: &Map<String, Value>) -> bool {
    let kind = match header.get("typ") {
        None => "jwt".to_owned(),
        Some(Value::String(kind)) => kind.to_ascii_lowercase(),
        Some(_) => return false,
    };
    let kinds = ["jwt", "at+jwt", "application/jwt", "application/at+jwt"];
    header.get("alg").and_then(Value::as_str) == Some("HS256")
        && header.get("kid").is_none_or(Value::is_string)
        && !header.contains_key("crit")
        && kinds.contains(&kind.as_str())
}

fn are_right_claims(claims: &Map<String, Value>) -> bool {
    let text = |name: &str| claims.get(name).is_none_or(Value::is_string);
    let time = |name: &str| match claims.get(name) {
        None => Some(None),
        Some(value) => value.as_f64().filter(|time| *time >= 0.0).map(Some),
    };
    let (Some(Some(until)), Some(from), Some(_)) = (time("exp"), time("nbf"), time("iat")) else { return false };
    let is_meant = match claims.get("aud") {
        Some(Value::String(one)) => one == "app",
        Some(Value::Array(all)) => all.iter().all(Value::is_string) && all.contains(&Value::from("app")),
        _ => false,
    };
    let scopes = claims.get("scope").and_then(Value::as_str).unwrap_or_default();
    is_meant
        && ["sub", "jti", "iss", "scope"].into_iter().all(text)
        && claims.get("iss").and_then(Value::as_str) == Some("me")
        && scopes.split(' ').any(|one| one == "read")
        && until + LEEWAY as f64 > NOW as f64
        && from.is_none_or(|from| from - LEEWAY as f64 <= NOW as f64)
}

/// A public key is not a shared secret, regardless of a token's header.
fn confused(mut input: Input<'_>) {
    let header = input.until(b'\n');
    let all = [Algorithm::EdDSA, Algorithm::HS256, Algorithm::HS384, Algorithm::RS256];
    let public = Keys::of_file(PUBLIC.as_bytes(), &all).expect("a public key");
    let der = STANDARD.decode(PUBLIC.lines().nth(1).expect("a line")).expect("base64");
    for secret in [PUBLIC.as_bytes(), PUBLIC.trim_end().as_bytes(), &der, &der[12..], b""] {
        assert!(verify(token(header, input.0, secret).as_bytes(), &public, &rules(&all), NOW).is_err());
    }
}

/// A sealed cookie can be opened until it expires, and not after any change to it.
fn cookie(mut input: Input<'_>) {
    let (at, other, lasts) = (usize::from(input.word()), input.byte(), u64::from(input.byte()));
    let keys: Vec<Vec<u8>> = vec![secret().to_vec(), secret().to_vec()];
    let sealer = Sealer::new("session", &keys).expect("keys");
    assert_eq!(sealer.open(input.0, NOW), None);
    assert_eq!(sealer.open(URL_SAFE_NO_PAD.encode(input.0).as_bytes(), NOW), None);
    let sealed = sealer.seal(input.0, NOW + lasts).expect("random bytes");
    if sealed.len() <= identity::LONGEST_COOKIE {
        assert_eq!(sealer.open(sealed.as_bytes(), NOW), (lasts > 0).then(|| input.0.to_vec()));
        assert_eq!(Sealer::new("other", &keys).expect("keys").open(sealed.as_bytes(), 0), None);
        let older = Sealer::new("session", &keys[..1]).expect("a key");
        assert!(older.open(sealed.as_bytes(), 0).is_some(), "the first one seals");
        let mut forged = sealed.clone().into_bytes();
        let at = at % forged.len();
        forged[at] = other;
        assert_eq!(sealer.open(&forged, 0).is_some(), forged == sealed.as_bytes(), "byte {at}");
        assert_eq!(sealer.open(&sealed.as_bytes()[..at], 0), None);
    }
}

/// A file of keys is a public key, a set or a secret, and each is used for algorithms of its kind only.
fn keys(file: &[u8]) {
    let hmac = [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512];
    let public = [Algorithm::RS256, Algorithm::PS512, Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA];
    let start = file.trim_ascii_start();
    if Keys::of_file(file, &hmac).is_ok() && !start.starts_with(b"{") {
        assert!(!start.starts_with(b"-----BEGIN") && file.trim_ascii_end().len() >= 64);
    }
    if let Ok(keys) = Keys::of_file(file, &public) {
        assert!(start.starts_with(b"{") || start.starts_with(b"-----BEGIN"), "a secret for a public key");
        assert!(hmac.into_iter().all(|algorithm| keys.of(algorithm, None).next().is_none()));
    }
}

/// Files of users and of tokens: what is read is what lines say, and a token is found by its text or its hash alone.
fn files(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    if let Ok(pairs) = Users::read_lines(text) {
        let users = Users::new(pairs.iter().map(|(name, _)| (*name, HASH)));
        if let Ok(users) = users {
            assert!(pairs.iter().all(|(name, _)| users.hash_of(name).1 && !name.contains(':')));
        }
        // a hash of any text is a right one or refused
        let _ = Users::new(pairs);
    }
    let Ok(pairs) = Named::read_lines(text) else { return };
    let Ok(named) = Named::new(pairs.iter().copied()) else { return };
    let names: Vec<&str> = named.names().collect();
    assert_eq!(names.len(), pairs.len());
    for (name, token) in pairs {
        if token.starts_with("sha256:") {
            assert_eq!(named.find(token.as_bytes()), None, "a hash is no token");
        } else {
            assert_eq!(named.find(token.as_bytes()).map(|at| names[at]), Some(name));
            let by_digest = Named::new([(name, digest_of(token).as_str())]);
            assert!(by_digest.is_ok_and(|one| one.find(token.as_bytes()) == Some(0)));
        }
    }
}
