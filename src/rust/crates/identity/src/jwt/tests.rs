//! Forgeries, and what is a right token all the same.

use super::*;
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    EcdsaKeyPair, Ed25519KeyPair, KeyPair, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING,
};
use base64::engine::general_purpose::STANDARD;
use jsonwebtoken::{encode, EncodingKey, Header as Head};
use serde_json::json;

const NOW: u64 = 1_800_000_000;
const SECRET: &[u8] = b"a secret that has at least thirty-two bytes";

fn rules(algorithms: &[Algorithm]) -> Rules {
    Rules {
        algorithms: algorithms.to_vec(),
        issuers: vec!["https://issuer.example".into()],
        audiences: vec!["api".into()],
        required: vec!["exp".into()],
        ..Rules::default()
    }
}

fn claims() -> Value {
    json!({"iss": "https://issuer.example", "aud": "api", "sub": "alice", "exp": NOW + 60})
}

/// The same, with others in their place; null takes one out.
fn with(others: Value) -> Value {
    let mut claims = claims();
    for (name, value) in others.as_object().unwrap() {
        match value {
            Value::Null => claims.as_object_mut().unwrap().remove(name),
            value => claims.as_object_mut().unwrap().insert(name.clone(), value.clone()),
        };
    }
    claims
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// Signed with a shared secret, regardless of the header.
fn signed(header: Value, claims: &Value, secret: &[u8], hmac: Algorithm) -> String {
    let message = format!("{}.{}", part(&header), part(claims));
    let signature = crypto::sign(message.as_bytes(), &EncodingKey::from_secret(secret), hmac).unwrap();
    format!("{message}.{signature}")
}

fn hs256(claims: &Value) -> String {
    signed(json!({"alg": "HS256", "typ": "JWT"}), claims, SECRET, Algorithm::HS256)
}

fn check(token: &str) -> Result<Claims, Refused> {
    let keys = Keys::of_secret(SECRET, &[Algorithm::HS256]).unwrap();
    verify(token.as_bytes(), &keys, &rules(&[Algorithm::HS256]), NOW)
}

#[test]
fn a_right_token_says_who_asks() {
    let right = check(&hs256(&claims())).unwrap();
    assert_eq!((right.who.user(), right.who.claim("iss").unwrap().as_str()), (Some("alice"), "https://issuer.example"));
    assert!(right.hold(NOW + 59).is_ok() && right.hold(NOW + 60).is_err());
}

#[test]
fn algorithms_are_not_the_tokens_to_choose() {
    let none = format!("{}.{}.", part(&json!({"alg": "none"})), part(&claims()));
    let refused = Err(Refused::Invalid("the algorithm is not allowed"));
    assert_eq!(check(&none), refused);
    for alg in [json!("None"), json!("NONE"), json!("HS512"), json!("RS256"), json!(""), json!(null)] {
        let token = signed(json!({"alg": alg}), &claims(), SECRET, Algorithm::HS256);
        assert!(matches!(check(&token), Err(Refused::Invalid(_))), "{alg}");
    }
    assert!(check(&signed(json!({"typ": "JWT"}), &claims(), SECRET, Algorithm::HS256)).is_err());
}

#[test]
fn signatures_are_of_every_byte() {
    let token = hs256(&claims());
    let wrong = Err(Refused::Invalid("the signature is wrong"));
    assert_eq!(check(&signed(json!({"alg": "HS256"}), &claims(), &[b'x'; 40], Algorithm::HS256)), wrong);
    let (message, signature) = token.rsplit_once('.').unwrap();
    for bad in [String::new(), signature[1..].to_owned(), format!("{signature}="), format!("{signature}A"), "*".into()]
    {
        assert_eq!(check(&format!("{message}.{bad}")), wrong, "{bad}");
    }
    for at in 0..token.len() {
        let mut changed = token.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        assert!(check(std::str::from_utf8(&changed).unwrap()).is_err(), "byte {at}");
    }
}

#[test]
fn what_is_no_token_is_refused() {
    let right = hs256(&claims());
    let list = format!("{}.{}", part(&json!([1])), part(&claims()));
    let long = "a".repeat(LONGEST + 1);
    for wrong in ["", ".", "..", "a.b", "a.b.c", "a.b.c.d.e", &format!("{right}.x"), &format!(" {right}"), &list, &long]
    {
        assert!(matches!(check(wrong), Err(Refused::Invalid(_))), "{wrong}");
    }
    let keys = Keys::of_secret(SECRET, &[Algorithm::HS256]).unwrap();
    assert!(verify(b"\xff.\xff.\xff", &keys, &rules(&[Algorithm::HS256]), NOW).is_err());
}

#[test]
fn extensions_and_other_types_are_refused() {
    for header in [
        json!({"alg": "HS256", "crit": ["exp"], "exp": 1}),
        json!({"alg": "HS256", "crit": []}),
        json!({"alg": "HS256", "typ": "secevent+jwt"}),
        json!({"alg": "HS256", "typ": 7}),
        json!({"alg": "HS256", "kid": 7}),
        json!({"alg": 7}),
    ] {
        let token = signed(header.clone(), &claims(), SECRET, Algorithm::HS256);
        assert!(matches!(check(&token), Err(Refused::Invalid(_))), "{header}");
    }
    for typ in ["jwt", "at+jwt", "application/at+jwt", "JWT"] {
        assert!(check(&signed(json!({"alg": "HS256", "typ": typ}), &claims(), SECRET, Algorithm::HS256)).is_ok());
    }
}

#[test]
fn keys_in_the_header_count_for_nothing() {
    let own = b"whoever has made this knows this secret well";
    let jwk = json!({"kty": "oct", "k": URL_SAFE_NO_PAD.encode(own)});
    let header = json!({"alg": "HS256", "jwk": jwk, "jku": "http://127.0.0.1/keys", "x5u": "http://127.0.0.1/x"});
    let token = signed(header, &claims(), own, Algorithm::HS256);
    assert_eq!(check(&token), Err(Refused::Invalid("the signature is wrong")));
}

#[test]
fn claims_have_their_types_and_values() {
    for (others, why) in [
        (json!({"exp": NOW}), "the token has expired"),
        (json!({"exp": NOW as f64 - 0.5}), "the token has expired"),
        (json!({"exp": (NOW + 60).to_string()}), "a claim has the wrong type"),
        (json!({"exp": true}), "a claim has the wrong type"),
        (json!({"exp": -1}), "a claim has the wrong type"),
        (json!({"exp": [NOW + 60]}), "a claim has the wrong type"),
        (json!({"exp": null}), "a claim is missing"),
        (json!({"nbf": NOW + 1}), "the token is not valid yet"),
        (json!({"nbf": "soon"}), "a claim has the wrong type"),
        (json!({"iat": "now"}), "a claim has the wrong type"),
        (json!({"sub": 7}), "a claim has the wrong type"),
        (json!({"jti": {}}), "a claim has the wrong type"),
        (json!({"iss": "https://issuer.example/"}), "the token is of another issuer"),
        (json!({"iss": null}), "the token is of another issuer"),
        (json!({"iss": ["https://issuer.example"]}), "a claim has the wrong type"),
        (json!({"aud": "API"}), "the token is meant for others"),
        (json!({"aud": null}), "the token is meant for others"),
        (json!({"aud": []}), "the token is meant for others"),
        (json!({"aud": ["other", 7]}), "a claim has the wrong type"),
        (json!({"aud": {"api": true}}), "a claim has the wrong type"),
        (json!({"scope": ["read"]}), "a claim has the wrong type"),
    ] {
        assert_eq!(check(&hs256(&with(others.clone()))), Err(Refused::Invalid(why)), "{others}");
    }
    // null is a value, and of no type that a claim may have
    let mut null = claims();
    null["nbf"] = Value::Null;
    assert_eq!(check(&hs256(&null)), Err(Refused::Invalid("a claim has the wrong type")));
    for others in
        [json!({"aud": ["other", "api"]}), json!({"exp": NOW as f64 + 0.5}), json!({"nbf": NOW, "iat": NOW + 9})]
    {
        assert!(check(&hs256(&with(others.clone()))).is_ok(), "{others}");
    }
}

#[test]
fn what_is_not_asked_is_free_but_for_an_audience() {
    let keys = Keys::of_secret(SECRET, &[Algorithm::HS256]).unwrap();
    let free = Rules { algorithms: vec![Algorithm::HS256], leeway: 10, ..Rules::default() };
    let check = |claims: Value| verify(hs256(&claims).as_bytes(), &keys, &free, NOW);
    assert!(check(json!({})).is_ok() && check(json!({"iss": "x", "exp": NOW - 9, "nbf": NOW + 10})).is_ok());
    assert_eq!(check(json!({"exp": NOW - 10})), Err(Refused::Invalid("the token has expired")));
    assert_eq!(check(json!({"aud": "x"})), Err(Refused::Invalid("the token is meant for others")));
}

fn armour(what: &str, der: &[u8]) -> Vec<u8> {
    format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", STANDARD.encode(der)).into_bytes()
}

fn pem(der: &[u8]) -> Vec<u8> {
    armour("PUBLIC KEY", der)
}

/// A pair of each kind: what signs, and the public key in PEM and as a JWK.
fn pairs() -> Vec<(Algorithm, EncodingKey, Vec<u8>, Value)> {
    let random = SystemRandom::new();
    let b64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let mut pairs = Vec::new();
    for (algorithm, of, curve) in [
        (Algorithm::ES256, &ECDSA_P256_SHA256_FIXED_SIGNING, "P-256"),
        (Algorithm::ES384, &ECDSA_P384_SHA384_FIXED_SIGNING, "P-384"),
    ] {
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(of, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(of, pkcs8.as_ref()).unwrap();
        let point = pair.public_key().as_ref()[1..].to_vec();
        let (x, y) = point.split_at(point.len() / 2);
        let jwk = json!({"kty": "EC", "crv": curve, "x": b64(x), "y": b64(y), "kid": curve});
        let public: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
        pairs.push((algorithm, EncodingKey::from_ec_der(pkcs8.as_ref()), pem(public.as_ref()), jwk));
    }
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
    let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": b64(pair.public_key().as_ref()), "kid": "ed", "use": "sig"});
    let public: PublicKeyX509Der<'_> = pair.public_key().as_der().unwrap();
    pairs.push((Algorithm::EdDSA, EncodingKey::from_ed_der(pkcs8.as_ref()), pem(public.as_ref()), jwk));
    let rsa = aws_lc_rs::rsa::KeyPair::generate(KeySize::Rsa2048).unwrap();
    let private: Pkcs8V1Der<'_> = rsa.as_der().unwrap();
    let private = armour("PRIVATE KEY", private.as_ref());
    let n = rsa.public_key().modulus().big_endian_without_leading_zero().to_vec();
    let e = rsa.public_key().exponent().big_endian_without_leading_zero().to_vec();
    let jwk = json!({"kty": "RSA", "n": b64(&n), "e": b64(&e), "kid": "rsa", "alg": "RS256"});
    let public: PublicKeyX509Der<'_> = rsa.public_key().as_der().unwrap();
    pairs.push((Algorithm::RS256, EncodingKey::from_rsa_pem(&private).unwrap(), pem(public.as_ref()), jwk));
    pairs
}

const ALL: [Algorithm; 6] =
    [Algorithm::HS256, Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA, Algorithm::RS256, Algorithm::PS256];

#[test]
fn keys_of_each_kind_fit_their_own_algorithms() {
    let pairs = pairs();
    let set = json!({"keys": pairs.iter().map(|(.., jwk)| jwk.clone()).collect::<Vec<_>>()});
    let set = Keys::of_set(set.to_string().as_bytes(), &ALL).unwrap();
    for (algorithm, private, public, jwk) in &pairs {
        let kid = jwk["kid"].as_str().map(str::to_owned);
        let of_file = Keys::of_file(public, &[*algorithm]).unwrap();
        let token = |kid: Option<String>| encode(&Head { kid, ..Head::new(*algorithm) }, &claims(), private).unwrap();
        let check = |token: &str, keys: &Keys| verify(token.as_bytes(), keys, &rules(&ALL), NOW).map(|_| ());
        let with_id = token(kid.clone());
        assert_eq!(check(&with_id, &set), Ok(()), "{algorithm:?}");
        // a key in a file has no id; a token without one is tried with all
        assert_eq!((check(&with_id, &of_file), check(&token(None), &set)), (Ok(()), Ok(())), "{algorithm:?}");
        // an id is compared, and nothing else
        for id in ["other", "", "../../../../dev/null", "/etc/passwd", "' OR 1=1 --", "http://127.0.0.1/key"] {
            assert_eq!(check(&token(Some(id.into())), &set), Err(Refused::UnknownKey), "{algorithm:?} {id}");
        }
        for (other, _, other_public, other_jwk) in &pairs {
            if other == algorithm {
                continue;
            }
            // a key of this id is of another kind
            let id = other_jwk["kid"].as_str().map(str::to_owned);
            assert_eq!(check(&token(id), &set), Err(Refused::UnknownKey), "{algorithm:?} as {other:?}");
            assert!(Keys::of_file(other_public, &[*algorithm]).unwrap_err().contains("fits none"), "{algorithm:?}");
        }
    }
}

#[test]
fn a_public_key_is_no_secret() {
    for (algorithm, _, public, jwk) in pairs() {
        // an attacker signs with the public key as if it were a shared secret
        let forged =
            |secret: &[u8]| signed(json!({"alg": "HS256", "kid": jwk["kid"]}), &claims(), secret, Algorithm::HS256);
        let all = rules(&ALL);
        let set = Keys::of_set(json!({"keys": [jwk]}).to_string().as_bytes(), &ALL).unwrap();
        for keys in [&set, &Keys::of_file(&public, &ALL).unwrap()] {
            for secret in [&public[..], public.trim_ascii()] {
                assert_eq!(
                    verify(forged(secret).as_bytes(), keys, &all, NOW),
                    Err(Refused::UnknownKey),
                    "{algorithm:?}"
                );
            }
        }
        assert!(Keys::of_secret(&public, &ALL).unwrap_err().contains("in PEM"));
        assert!(Keys::of_file(&public, &[Algorithm::HS256]).unwrap_err().contains("fits none"));
    }
}

#[test]
fn an_empty_signature_is_none_of_any_key() {
    for (algorithm, _, public, _) in pairs() {
        let keys = Keys::of_file(&public, &[algorithm]).unwrap();
        let message = format!("{}.{}", part(&json!({"alg": format!("{algorithm:?}")})), part(&claims()));
        // an ECDSA signature of zeros, too
        for signature in [Vec::new(), vec![0; 64], vec![0; 96], vec![0; 256]] {
            let token = format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature));
            let refused = Err(Refused::Invalid("the signature is wrong"));
            assert_eq!(verify(token.as_bytes(), &keys, &rules(&ALL), NOW), refused, "{algorithm:?}");
        }
    }
}

#[test]
fn wrong_keys_are_told_of_when_they_are_read() {
    let short = |algorithm| Keys::of_secret(&[b'x'; 40], &[algorithm]).map(|_| ());
    assert!(short(Algorithm::HS256).is_ok() && short(Algorithm::HS384).unwrap_err().contains("at least 48 bytes"));
    assert!(Keys::of_secret(&[b'x'; 31], &ALL).unwrap_err().contains("at least 32 bytes"));
    assert!(Keys::of_secret(&[b'x'; 99], &[Algorithm::RS256]).unwrap_err().contains("none of the algorithms"));
    let private = armour("PRIVATE KEY", b"x");
    assert!(Keys::of_file(&private, &ALL).unwrap_err().contains("it is a private key"));
    assert!(Keys::of_file(&pem(b"nonsense"), &ALL).unwrap_err().contains("no public key in PEM"));
    for (json, why) in [
        ("{", "it is no JSON"),
        ("{}", "no array \"keys\""),
        (r#"{"keys": 7}"#, "no array \"keys\""),
        (r#"{"keys": []}"#, "none of its 0 keys"),
        (r#"{"keys": [{"kty": "oct", "k": "c2hvcnQ"}]}"#, "none of its 1 keys"),
        (r#"{"keys": [{"kty": "EC", "crv": "P-256", "x": "AAAA", "y": "AAAA"}]}"#, "none of its 1 keys"),
        (r#"{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}]}"#, "none of its 1 keys"),
    ] {
        let refused = Keys::of_file(json.as_bytes(), &ALL).unwrap_err();
        assert!(refused.contains(why), "{json}: {refused}");
    }
    // keys for encryption, and keys of unknown kinds, are passed over
    let (.., jwk) = pairs().remove(0);
    let (mut encrypts, mut wraps) = (jwk.clone(), jwk.clone());
    encrypts["use"] = json!("enc");
    wraps["key_ops"] = json!(["wrapKey"]);
    let set = |keys: Value| Keys::of_set(json!({ "keys": keys }).to_string().as_bytes(), &ALL).map(|_| ());
    assert!(set(json!([encrypts])).is_err() && set(json!([wraps])).is_err());
    assert!(set(json!([{"kty": "new"}, 7, encrypts, jwk])).is_ok());
    assert!(set(json!(vec![jwk; 65])).unwrap_err().contains("more than 64"));
}

#[test]
fn names_of_algorithms_are_checked() {
    assert_eq!(algorithm("ES256"), Ok(Algorithm::ES256));
    for wrong in ["none", "es256", "HS1", ""] {
        assert!(algorithm(wrong).unwrap_err().contains("is no algorithm of these"), "{wrong}");
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
        let keys = Keys::of_secret(SECRET, &[Algorithm::HS256]).unwrap();
        proptest::prop_assert!(verify(&bytes, &keys, &rules(&[Algorithm::HS256]), NOW).is_err());
        let header = part(&json!({"alg": "HS256"}));
        let token = format!("{header}.{}.x", URL_SAFE_NO_PAD.encode(&bytes));
        proptest::prop_assert!(verify(token.as_bytes(), &keys, &rules(&[Algorithm::HS256]), NOW).is_err());
        let _ = Keys::of_file(&bytes, &ALL);
    }
}
