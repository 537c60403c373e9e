//! What an identity provider says of itself (OpenID Connect Discovery 1.0), and what it is sent: by the browser, in the
//! addresses of a login and a logout, and by the server, which exchanges a code for a token.

use super::attempt::Attempt;
use base64::engine::general_purpose::STANDARD;
use base64::Engine as _;
use percent_encoding::{utf8_percent_encode, AsciiSet, NON_ALPHANUMERIC};
use serde::Deserialize;

/// Where a provider says what it is, by its name.
pub fn discovery_url(issuer: &str) -> String {
    format!("{}/.well-known/openid-configuration", issuer.strip_suffix('/').unwrap_or(issuer))
}

/// See the module. Of what the document says, that which is used.
#[derive(Debug, Clone, Deserialize)]
pub struct Provider {
    /// its name, which is an address
    pub issuer: String,
    /// where browsers log in
    pub authorization_endpoint: String,
    /// where codes are exchanged
    pub token_endpoint: String,
    /// its keys
    pub jwks_uri: String,
    /// more about users than a token says
    #[serde(default)]
    pub userinfo_endpoint: Option<String>,
    /// where browsers log out (RP-Initiated Logout 1.0)
    #[serde(default)]
    pub end_session_endpoint: Option<String>,
    #[serde(default = "usual_methods")]
    token_endpoint_auth_methods_supported: Vec<String>,
    /// whether it says in its answers who it is (RFC 9207)
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

const BASIC: &str = "client_secret_basic";
const POST: &str = "client_secret_post";

/// Discovery 1.0, section 3.
fn usual_methods() -> Vec<String> {
    vec![BASIC.to_owned()]
}

/// How a server is known at a provider.
#[derive(Debug, Clone, Copy)]
pub struct Client<'a> {
    /// its name
    pub id: &'a str,
    /// what proves it
    pub secret: &'a str,
    /// where the provider sends the browser back to
    pub redirect_uri: &'a str,
}

/// What a provider gives for a code, as far as it is used.
#[derive(Deserialize)]
pub struct Tokens {
    /// whom the code was for
    pub id_token: String,
    /// what userinfo is to be had with
    pub access_token: String,
}

impl Tokens {
    /// Of the answer of a provider, which has this status.
    ///
    /// # Errors
    /// A text that says why there are none, with the provider's code (RFC 6749 section 5.2), and no secret.
    pub fn of_answer(status: u16, body: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Refused {
            error: String,
        }
        if status == 200 {
            return serde_json::from_slice(body).map_err(|_| "there is no id_token and access_token".to_owned());
        }
        let code =
            serde_json::from_slice(body).map_or_else(|_| String::new(), |Refused { error }| format!(": {error}"));
        Err(format!("it is answered with {status}{code}"))
    }
}

impl Provider {
    /// What a provider of this name says.
    ///
    /// # Errors
    /// A text that says what is wrong with it.
    pub fn of_document(json: &[u8], issuer: &str) -> Result<Self, String> {
        let provider: Provider =
            serde_json::from_slice(json).map_err(|e| format!("it does not describe itself: {e}"))?;
        // section 4.3: another name is another provider, or one that was put in its place
        if provider.issuer != issuer {
            return Err(format!("its issuer is {:?}, not {issuer:?}", provider.issuer));
        }
        if !provider.takes(BASIC) && !provider.takes(POST) {
            return Err(format!("it takes client secrets neither as {BASIC} nor as {POST}"));
        }
        Ok(provider)
    }

    fn takes(&self, method: &str) -> bool {
        self.token_endpoint_auth_methods_supported.iter().any(|one| one == method)
    }

    /// Whether an answer may be its own that says to be from this one: RFC 9207, against mix-ups of several providers.
    pub fn is_named(&self, iss: Option<&str>) -> bool {
        iss.map_or(!self.authorization_response_iss_parameter_supported, |iss| iss == self.issuer)
    }

    /// Where the browser is sent to log in. `scope` is what is asked for, with spaces.
    pub fn login_url(&self, client: Client<'_>, scope: &str, attempt: &Attempt) -> String {
        let challenge = attempt.challenge();
        with_query(
            &self.authorization_endpoint,
            &[
                ("response_type", "code"),
                ("client_id", client.id),
                ("redirect_uri", client.redirect_uri),
                ("scope", scope),
                ("state", &attempt.state),
                ("nonce", &attempt.nonce),
                ("code_challenge", &challenge),
                ("code_challenge_method", "S256"),
            ],
        )
    }

    /// Where the browser is sent to log out, and from there back to `back`; `None` if the provider has no such place.
    pub fn logout_url(&self, client_id: &str, back: &str) -> Option<String> {
        let place = self.end_session_endpoint.as_deref()?;
        Some(with_query(place, &[("client_id", client_id), ("post_logout_redirect_uri", back)]))
    }

    /// What is sent to the provider for a code: a form, and the field `Authorization`, if it is to have one.
    pub fn exchange(&self, client: Client<'_>, code: &str, attempt: &Attempt) -> (String, Option<String>) {
        let mut pairs = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", client.redirect_uri),
            ("code_verifier", &attempt.verifier),
        ];
        if self.takes(BASIC) {
            // RFC 6749, section 2.3.1: both are encoded as in forms before
            let both = format!("{}:{}", encoded(client.id), encoded(client.secret));
            return (form(&pairs), Some(format!("Basic {}", STANDARD.encode(both))));
        }
        pairs.extend([("client_id", client.id), ("client_secret", client.secret)]);
        (form(&pairs), None)
    }
}

/// What RFC 3986 reserves nothing of is left as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn encoded(text: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(text, ENCODED)
}

fn form(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    pairs.join("&")
}

/// An address that may have a query (RFC 6749 section 3.1), with these in it.
fn with_query(address: &str, pairs: &[(&str, &str)]) -> String {
    let between = if address.contains('?') { '&' } else { '?' };
    format!("{address}{between}{}", form(pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUER: &str = "https://id.example/realm";

    fn document(more: &str) -> String {
        format!(
            "{{\"issuer\":\"{ISSUER}\",\"authorization_endpoint\":\"https://id.example/auth?tenant=1\",\
             \"token_endpoint\":\"https://id.example/token\",\"jwks_uri\":\"https://id.example/keys\"{more}}}"
        )
    }

    fn provider(more: &str) -> Provider {
        Provider::of_document(document(more).as_bytes(), ISSUER).unwrap()
    }

    fn attempt() -> Attempt {
        let text = str::to_owned;
        Attempt { state: text("st"), nonce: text("no"), verifier: text("ve"), target: text("/") }
    }

    const CLIENT: Client<'_> =
        Client { id: "app 1", secret: "s:é", redirect_uri: "https://app.example/login/callback" };

    #[test]
    fn a_provider_is_who_it_is_said_to_be() {
        for (json, issuer, why) in [
            (document(""), "https://other.example", "its issuer is \"https://id.example/realm\""),
            (document(""), "https://id.example/realm/", "its issuer is"),
            ("<html>".to_owned(), ISSUER, "it does not describe itself"),
            (format!("{{\"issuer\":\"{ISSUER}\"}}"), ISSUER, "missing field"),
            (document(",\"token_endpoint_auth_methods_supported\":[\"private_key_jwt\"]"), ISSUER, "it takes client"),
        ] {
            let error = Provider::of_document(json.as_bytes(), issuer).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(discovery_url(ISSUER), "https://id.example/realm/.well-known/openid-configuration");
        assert_eq!(discovery_url("https://id.example/"), "https://id.example/.well-known/openid-configuration");
    }

    #[test]
    fn an_answer_of_another_provider_is_none_of_this_one() {
        let (silent, named) = (provider(""), provider(",\"authorization_response_iss_parameter_supported\":true"));
        for (iss, of_silent, of_named) in
            [(None, true, false), (Some(ISSUER), true, true), (Some("https://evil.example"), false, false)]
        {
            assert_eq!((silent.is_named(iss), named.is_named(iss)), (of_silent, of_named), "{iss:?}");
        }
    }

    #[test]
    fn addresses_and_forms_have_what_the_protocol_says() {
        let url = provider("").login_url(CLIENT, "openid email", &attempt());
        assert_eq!(
            url,
            format!(
                "https://id.example/auth?tenant=1&response_type=code&client_id=app%201&\
                 redirect_uri=https%3A%2F%2Fapp.example%2Flogin%2Fcallback&scope=openid%20email&state=st&nonce=no&\
                 code_challenge={}&code_challenge_method=S256",
                attempt().challenge()
            )
        );
        let (form, by_field) = provider("").exchange(CLIENT, "c&d", &attempt());
        let common = "grant_type=authorization_code&code=c%26d&\
                      redirect_uri=https%3A%2F%2Fapp.example%2Flogin%2Fcallback&code_verifier=ve";
        assert_eq!(form, common);
        assert_eq!(by_field.unwrap(), format!("Basic {}", STANDARD.encode("app%201:s%3A%C3%A9")));
        let by_post = provider(",\"token_endpoint_auth_methods_supported\":[\"client_secret_post\"]");
        let (form, by_field) = by_post.exchange(CLIENT, "c&d", &attempt());
        assert_eq!(form, format!("{common}&client_id=app%201&client_secret=s%3A%C3%A9"));
        assert_eq!(by_field, None);
        assert_eq!(provider("").logout_url("app", "https://app.example/"), None);
        let leaves = provider(",\"end_session_endpoint\":\"https://id.example/out\"");
        assert_eq!(
            leaves.logout_url("app", "https://app.example/").unwrap(),
            "https://id.example/out?client_id=app&post_logout_redirect_uri=https%3A%2F%2Fapp.example%2F"
        );
    }
}
