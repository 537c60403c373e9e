//! A login that has begun, of which the server remembers nothing. A cookie makes a browser known for ten minutes; what
//! the provider sends back with the browser (`state`) is sealed, says where the login is to lead, and is of use in that
//! browser only. So a login that an attacker has begun cannot be ended in the browser of a victim. What binds the code
//! and the token to this attempt (PKCE's verifier, the nonce) is derived from both, and never leaves the server.
//!
//! Several tabs may log in at the same time: they share the cookie, and each has a state of its own.

use crate::Sealer;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::{digest, hmac, rand};
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::Engine as _;

/// How long the user may take at the provider, in seconds.
const LASTS: u64 = 600;

/// Bytes of a hash that say which browser a state is for.
const MARK: usize = 16;

/// See the module.
#[derive(Debug)]
pub struct Attempts {
    browsers: Sealer,
    states: Sealer,
}

/// A login that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// what comes back with the browser
    pub state: String,
    /// what the token has to contain
    pub nonce: String,
    /// what shows the provider that the code was meant for this server
    pub verifier: String,
    /// where the login is to lead
    pub target: String,
}

impl Attempts {
    /// For a login whose cookie has this name.
    ///
    /// # Errors
    /// A text that says which key is wrong.
    pub fn new(name: &str, keys: &[Vec<u8>]) -> Result<Self, String> {
        // no name of a cookie has a colon: nothing that an app seals with the same key is taken for one of these
        let sealer = |kind: &str| Sealer::new(&format!("{kind}:{name}"), keys);
        Ok(Attempts { browsers: sealer("browser")?, states: sealer("state")? })
    }

    /// Begins one, in the browser that has this cookie, or in a new one. The second is the value of its cookie from now
    /// on, and how long that lasts. `None` when the system has no random bytes to give.
    pub fn begin(&self, cookie: Option<&[u8]>, target: &str, now: u64) -> Option<(Attempt, String, u64)> {
        let browser = match self.browser(cookie, now) {
            Some(known) => known,
            None => {
                let mut new = [0; 32];
                rand::fill(&mut new).ok()?;
                new.to_vec()
            }
        };
        let until = now.saturating_add(LASTS);
        let cookie = self.browsers.seal(&browser, until)?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, &browser);
        let mut text = mark(&key).to_vec();
        text.extend_from_slice(target.as_bytes());
        let state = self.states.seal(&text, until)?;
        Some((attempt(&key, state, target.to_owned()), cookie, LASTS))
    }

    /// The one that has come back with this state, to the browser with this cookie. `None` if it was not begun there,
    /// or has expired.
    pub fn resume(&self, cookie: Option<&[u8]>, state: &str, now: u64) -> Option<Attempt> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.browser(cookie, now)?);
        let text = self.states.open(state.as_bytes(), now)?;
        let (of_browser, target) = text.split_at_checked(MARK)?;
        verify_slices_are_equal(of_browser, &mark(&key)).ok()?;
        Some(attempt(&key, state.to_owned(), String::from_utf8(target.to_vec()).ok()?))
    }

    fn browser(&self, cookie: Option<&[u8]>, now: u64) -> Option<Vec<u8>> {
        self.browsers.open(cookie?, now)
    }
}

impl Attempt {
    /// What the provider is told of the verifier when the login begins (RFC 7636 section 4.2).
    pub fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, self.verifier.as_bytes()))
    }
}

/// Which browser a state is for.
fn mark(key: &hmac::Key) -> [u8; MARK] {
    let mut mark = [0; MARK];
    mark.copy_from_slice(&hmac::sign(key, b"browser").as_ref()[..MARK]);
    mark
}

fn attempt(key: &hmac::Key, state: String, target: String) -> Attempt {
    let derive = |what: &str| URL_SAFE_NO_PAD.encode(hmac::sign(key, format!("{what}:{state}").as_bytes()));
    Attempt { nonce: derive("nonce"), verifier: derive("verifier"), target, state }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn attempts(name: &str) -> Attempts {
        Attempts::new(name, &[vec![7; 32]]).unwrap()
    }

    #[test]
    fn what_is_begun_is_resumed_in_the_same_browser_until_it_expires() {
        let attempts = attempts("login");
        let (begun, cookie, lasts) = attempts.begin(None, "/a?b=ü", 1000).unwrap();
        let cookie = Some(cookie.as_bytes());
        assert_eq!(attempts.resume(cookie, &begun.state, 1000 + lasts - 1).as_ref(), Some(&begun));
        assert_eq!(begun.target, "/a?b=ü");
        assert_eq!(attempts.resume(cookie, &begun.state, 1000 + lasts), None, "it has expired");
        assert_eq!(attempts.resume(None, &begun.state, 1000), None, "the browser has no cookie");
        let (_, of_another, _) = attempts.begin(None, "/", 1000).unwrap();
        assert_eq!(attempts.resume(Some(of_another.as_bytes()), &begun.state, 1000), None, "it is another browser");
        for changed in ["", "x", &begun.state[1..], &format!("{}A", begun.state)] {
            assert_eq!(attempts.resume(cookie, changed, 1000), None, "{changed:?}");
        }
    }

    #[test]
    fn tabs_of_a_browser_share_its_cookie_and_nothing_else() {
        let attempts = attempts("login");
        let (one, first, _) = attempts.begin(None, "/one", 1000).unwrap();
        let (two, second, _) = attempts.begin(Some(first.as_bytes()), "/two", 1300).unwrap();
        assert!(one.state != two.state && one.nonce != two.nonce && one.verifier != two.verifier);
        for (begun, target) in [(&one, "/one"), (&two, "/two")] {
            let resumed = attempts.resume(Some(second.as_bytes()), &begun.state, 1400).unwrap();
            assert_eq!((&resumed, target), (begun, &*resumed.target));
        }
    }

    #[test]
    fn what_others_have_sealed_with_the_key_is_none() {
        let (ours, other) = (attempts("a"), attempts("b"));
        let (begun, cookie, _) = other.begin(None, "/", 1000).unwrap();
        assert_eq!(ours.resume(Some(cookie.as_bytes()), &begun.state, 1000), None);
        // nor is a session of the same name
        let session = Sealer::new("a", &[vec![7; 32]]).unwrap().seal(&[0; 32], 2000).unwrap();
        let (begun, _, _) = ours.begin(Some(session.as_bytes()), "/", 1000).unwrap();
        assert_eq!(ours.resume(Some(session.as_bytes()), &begun.state, 1000), None);
        assert_eq!(ours.resume(Some(begun.state.as_bytes()), &begun.state, 1000), None);
    }

    #[test]
    fn the_challenge_is_the_one_of_rfc_7636() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned();
        let text = String::new;
        let attempt = Attempt { state: text(), nonce: text(), target: text(), verifier };
        assert_eq!(attempt.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    proptest! {
        #[test]
        fn any_state_and_cookie_are_survived(state in ".{0,200}", cookie in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(attempts("a").resume(Some(&cookie), &state, 0), None);
        }
    }
}
