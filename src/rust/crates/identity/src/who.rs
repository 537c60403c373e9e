//! A client's identity, once that is known: what a handler gets to read. Neighbours: the modules that establish it.

use serde_json::{Map, Value};

/// How a client has proved its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// name and password (RFC 7617)
    Basic,
    /// a token that was handed out (RFC 6750)
    Bearer,
    /// a token that names its bearer itself (RFC 7519)
    Jwt,
    /// a key in a header field of its own
    Key,
    /// at a provider of OpenID Connect, by a browser
    Oidc,
}

impl Scheme {
    /// As handlers read it.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Basic => "basic",
            Scheme::Bearer => "bearer",
            Scheme::Jwt => "jwt",
            Scheme::Key => "key",
            Scheme::Oidc => "oidc",
        }
    }
}

/// See the module.
#[derive(Debug, PartialEq)]
pub struct Who {
    /// the name that it goes by: of a user, of a token, or the claim `sub`, which a token may lack
    user: Option<String>,
    claims: Map<String, Value>,
    /// what it may do, in words of the app
    scopes: Vec<String>,
    json: Vec<u8>,
}

impl Who {
    /// A client whose name is in a list, with these scopes.
    pub fn named(scheme: Scheme, user: &str, scopes: Vec<String>) -> Self {
        Who::new(scheme, Some(user.to_owned()), None, scopes)
    }

    /// A client of whom somebody else claims this: the bearer of a JSON Web Token, or a user who has logged in.
    pub(crate) fn of_claims(scheme: Scheme, claims: Map<String, Value>) -> Self {
        let user = claims.get("sub").and_then(Value::as_str).map(str::to_owned);
        // RFC 8693, section 4.2
        let scopes = claims.get("scope").and_then(Value::as_str).unwrap_or_default();
        let scopes = scopes.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
        Who::new(scheme, user, Some(claims), scopes)
    }

    /// A user who has logged in at a provider, which claims this of them: an object of JSON. `None` if it is none.
    pub fn of_login(claims: &[u8]) -> Option<Self> {
        Some(Who::of_claims(Scheme::Oidc, serde_json::from_slice(claims).ok()?))
    }

    fn new(scheme: Scheme, user: Option<String>, claims: Option<Map<String, Value>>, scopes: Vec<String>) -> Self {
        let mut known = Map::new();
        known.insert("scheme".into(), scheme.name().into());
        known.insert("user".into(), user.clone().into());
        if let Some(claims) = &claims {
            known.insert("claims".into(), claims.clone().into());
        }
        if !scopes.is_empty() {
            known.insert("scopes".into(), scopes.clone().into());
        }
        let json = Value::Object(known).to_string().into_bytes();
        Who { user, claims: claims.unwrap_or_default(), scopes, json }
    }

    /// The name that it goes by.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// A claim, which counts requests; that of the subject is the name of a user or token, too. Nothing for what is no
    /// string, number or boolean.
    pub fn claim(&self, name: &str) -> Option<String> {
        match self.claims.get(name) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Some(value.to_string()),
            Some(_) => None,
            None => self.user.clone().filter(|_| name == "sub"),
        }
    }

    /// Whether it has all of these scopes.
    pub fn has_scopes(&self, needed: &[String]) -> bool {
        needed.iter().all(|scope| self.scopes.contains(scope))
    }

    /// All that somebody else claims of it.
    pub(crate) fn claims(&self) -> &Map<String, Value> {
        &self.claims
    }

    /// All of it, as an object of JSON: scheme, user and, where there are any, scopes and what somebody else claims.
    pub fn json(&self) -> &[u8] {
        &self.json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_claims_and_all_is_told() {
        let ci = Who::named(Scheme::Key, "c\"i", Vec::new());
        assert_eq!(ci.json(), br#"{"scheme":"key","user":"c\"i"}"#);
        assert_eq!((ci.claim("sub").as_deref(), ci.claim("aud"), ci.user()), (Some("c\"i"), None, Some("c\"i")));
        let Ok(Value::Object(claims)) = serde_json::from_str(r#"{"sub":"a","n":7,"list":[1]}"#) else { panic!() };
        let a = Who::of_claims(Scheme::Jwt, claims);
        assert_eq!(a.json(), br#"{"claims":{"list":[1],"n":7,"sub":"a"},"scheme":"jwt","user":"a"}"#);
        assert_eq!((a.claim("sub").unwrap(), a.claim("n").unwrap(), a.claim("list")), ("a".into(), "7".into(), None));
        let b = Who::named(Scheme::Basic, "b", vec!["read".into()]);
        assert_eq!(b.json(), br#"{"scheme":"basic","scopes":["read"],"user":"b"}"#);
        assert_eq!(Who::of_claims(Scheme::Oidc, Map::new()).json(), br#"{"claims":{},"scheme":"oidc","user":null}"#);
    }

    #[test]
    fn all_scopes_that_are_needed_must_be_there() {
        let has = |scope: &str, needed: &[&str]| {
            let claims = Map::from_iter([("scope".to_owned(), Value::from(scope))]);
            let needed: Vec<String> = needed.iter().map(|one| (*one).to_owned()).collect();
            Who::of_claims(Scheme::Jwt, claims).has_scopes(&needed)
        };
        assert!(has("", &[]) && has("read", &["read"]) && has("x a:b  read", &["read", "a:b"]));
        for scope in ["", "read", "a:b", "reader a:b", "READ a:b", "read,a:b", "read\ta:b"] {
            assert!(!has(scope, &["read", "a:b"]), "{scope}");
        }
        assert!(!has("", &[""]) && !Who::of_claims(Scheme::Jwt, Map::new()).has_scopes(&["read".to_owned()]));
    }
}
