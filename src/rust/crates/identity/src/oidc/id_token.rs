//! What a provider says of a user: an ID token (OpenID Connect Core 1.0 section 3.1.3.7), a JSON Web Token that was
//! made for this server, by this provider, for this attempt.

use super::attempt::Attempt;
use crate::jwt::{verify, Algorithm, Keys, Refused, Rules};
use serde_json::{Map, Value};

/// What ID tokens have to be.
#[derive(Debug)]
pub struct IdTokens {
    rules: Rules,
    client_id: String,
}

/// Claims that are for the protocol, and of no use to an app.
const OF_THE_PROTOCOL: [&str; 5] = ["nonce", "at_hash", "c_hash", "s_hash", "azp"];

impl IdTokens {
    /// Those of this issuer for this client; `leeway` is in seconds.
    pub fn new(issuer: &str, client_id: &str, algorithms: Vec<Algorithm>, leeway: u64) -> Self {
        let rules = Rules {
            algorithms,
            issuers: vec![issuer.to_owned()],
            audiences: vec![client_id.to_owned()],
            required: ["sub", "exp", "iat", "nonce"].map(String::from).to_vec(),
            leeway,
        };
        IdTokens { rules, client_id: client_id.to_owned() }
    }

    /// The user of a token that answers this attempt. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn user(&self, token: &str, keys: &Keys, attempt: &Attempt, now: u64) -> Result<User, Refused> {
        let claims = verify(token.as_bytes(), keys, &self.rules, now)?.who.claims().clone();
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("nonce") != Some(&attempt.nonce) {
            return Err(Refused::Invalid("the token is of another login"));
        }
        let is_for_several = claims.get("aud").and_then(Value::as_array).is_some_and(|aud| aud.len() > 1);
        if (is_for_several || claims.contains_key("azp")) && text("azp") != Some(&self.client_id) {
            return Err(Refused::Invalid("the token was made for another client"));
        }
        Ok(User(claims))
    }
}

/// Who has logged in, as the provider says.
#[derive(Debug, Clone, PartialEq)]
pub struct User(Map<String, Value>);

impl User {
    /// Adds what userinfo says (OpenID Connect Core section 5.3.2). What the token says goes before, as it is signed.
    ///
    /// # Errors
    /// Why it is not of this user.
    pub fn add(&mut self, userinfo: &[u8]) -> Result<(), &'static str> {
        let more: Map<String, Value> = serde_json::from_slice(userinfo).map_err(|_| "userinfo is no object of JSON")?;
        if more.get("sub") != self.0.get("sub") {
            return Err("userinfo is of another user");
        }
        for (name, value) in more {
            self.0.entry(name).or_insert(value);
        }
        Ok(())
    }

    /// The claims that are kept, as JSON: these, or all but those of the protocol.
    pub fn kept(mut self, names: Option<&[String]>) -> String {
        self.0.retain(|name, _| match names {
            // without it nobody would be logged in
            Some(names) => name == "sub" || names.contains(name),
            None => !OF_THE_PROTOCOL.contains(&name.as_str()),
        });
        Value::Object(self.0).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use base64::Engine as _;
    use jsonwebtoken::{crypto, EncodingKey};

    const NOW: u64 = 1000;

    fn attempt() -> Attempt {
        let text = str::to_owned;
        Attempt { state: text("st"), nonce: text("no"), verifier: text("ve"), target: text("/") }
    }

    fn user(text: &str) -> Result<User, Refused> {
        let secret = [b'k'; 32];
        let keys = Keys::of_secret(&secret, &[Algorithm::HS256]).unwrap();
        let message = format!("{}.{}", URL_SAFE_NO_PAD.encode("{\"alg\":\"HS256\"}"), URL_SAFE_NO_PAD.encode(text));
        let key = EncodingKey::from_secret(&secret);
        let signature = crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
        let tokens = IdTokens::new("https://id.example", "app", vec![Algorithm::HS256], 0);
        tokens.user(&format!("{message}.{signature}"), &keys, &attempt(), NOW)
    }

    const RIGHT: &str = r#"{"iss":"https://id.example","aud":"app","sub":"ada","exp":2000,"iat":900,"nonce":"no"}"#;

    #[test]
    fn a_token_is_for_this_client_and_this_login() {
        assert_eq!(user(RIGHT).unwrap().0["sub"], "ada");
        for (from, to, why) in [
            ("\"no\"", "\"other\"", "the token is of another login"),
            (",\"nonce\":\"no\"", "", "a claim is missing"),
            (",\"iat\":900", "", "a claim is missing"),
            (",\"exp\":2000", "", "a claim is missing"),
            ("\"sub\":\"ada\",", "", "a claim is missing"),
            ("\"sub\":\"ada\"", "\"sub\":7", "a claim has the wrong type"),
            ("2000", "1000", "the token has expired"),
            ("id.example", "evil.example", "the token is of another issuer"),
            ("\"app\"", "\"other\"", "the token is meant for others"),
            ("\"app\"", "[\"app\",\"other\"]", "the token was made for another client"),
            ("\"app\"", "[\"app\",\"other\"],\"azp\":\"other\"", "the token was made for another client"),
            ("\"app\"", "\"app\",\"azp\":\"other\"", "the token was made for another client"),
            ("\"app\"", "\"app\",\"azp\":null", "the token was made for another client"),
        ] {
            assert_eq!(user(&RIGHT.replacen(from, to, 1)), Err(Refused::Invalid(why)), "{from} {to}");
        }
        for (from, to) in [
            ("\"app\"", "[\"app\"]"),
            ("\"app\"", "[\"app\",\"other\"],\"azp\":\"app\""),
            ("\"ada\"", "\"ada\",\"x\":[]"),
        ] {
            assert!(user(&RIGHT.replacen(from, to, 1)).is_ok(), "{from} {to}");
        }
    }

    #[test]
    fn claims_of_the_protocol_are_not_kept() {
        let ada = user(&RIGHT.replacen("\"ada\"", "\"ada\",\"email\":\"a@b\",\"azp\":\"app\"", 1)).unwrap();
        let all = r#"{"aud":"app","email":"a@b","exp":2000,"iat":900,"iss":"https://id.example","sub":"ada"}"#;
        assert_eq!(ada.clone().kept(None), all);
        assert_eq!(ada.kept(Some(&["email".to_owned()])), r#"{"email":"a@b","sub":"ada"}"#);
    }

    #[test]
    fn userinfo_is_of_the_same_user_and_says_no_less() {
        let mut ada = user(RIGHT).unwrap();
        for (wrong, why) in [
            (r#"{"sub":"bob"}"#, "userinfo is of another user"),
            ("{}", "userinfo is of another user"),
            ("[]", "userinfo is no object of JSON"),
            ("a.b.c", "userinfo is no object of JSON"),
        ] {
            assert_eq!(ada.add(wrong.as_bytes()), Err(why), "{wrong}");
        }
        ada.add(br#"{"sub":"ada","iss":"other","groups":["staff"]}"#).unwrap();
        let names = ["iss", "groups"].map(String::from);
        assert_eq!(ada.kept(Some(&names)), r#"{"groups":["staff"],"iss":"https://id.example","sub":"ada"}"#);
    }
}
