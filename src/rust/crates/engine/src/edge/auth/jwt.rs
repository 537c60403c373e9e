//! JSON Web Tokens. One that was found to be right is remembered by a keyed hash, and its times are looked at again
//! with each request.

use super::config::JwtConfig;
use super::fetched::Fetching;
use super::files::read_secrets;
use super::jwks::{is_public, KeySet, Versioned};
use super::{Said, Sent};
use identity::jwt::{algorithm, verify, Algorithm, Claims, Keys, Refused, Rules};
use identity::Remembered;
use std::sync::Arc;

/// Tokens that are remembered at a time.
const REMEMBERED: usize = 8192;

/// See the module.
#[derive(Debug)]
pub struct Jwt {
    /// of files, and a secret
    keys: Keys,
    /// and at an address
    set: Option<Arc<KeySet>>,
    rules: Rules,
    /// by which version of the set they were found to be right
    known: Remembered<(u64, Claims)>,
}

impl Jwt {
    /// Of this configuration.
    ///
    /// # Errors
    /// A text that says what is wrong with it, or with a file.
    pub fn new(config: &JwtConfig, fetching: &mut Fetching<'_>) -> Result<Self, String> {
        let algorithms = config.algorithms.iter().map(|name| algorithm(name)).collect::<Result<Vec<Algorithm>, _>>()?;
        let mut keys = Keys::default();
        for file in &config.files {
            let of_file = Keys::of_file(&read_secrets(file)?.0, &algorithms);
            keys = keys.and(of_file.map_err(|e| format!("{}: {e}", file.display()))?);
        }
        if let Some(secret) = &config.secret {
            keys = keys.and(Keys::of_secret(secret.as_bytes(), &algorithms)?);
        }
        // a secret is not to be had at an address by all
        let public: Vec<_> = algorithms.iter().copied().filter(|one| is_public(*one)).collect();
        let set = config.jwks.as_ref().map(|jwks| fetching.keys(jwks, &public)).transpose()?;
        let rules = Rules {
            algorithms,
            issuers: config.issuers.clone(),
            audiences: config.audiences.clone(),
            required: config.required.clone(),
            leeway: config.leeway as u64,
        };
        Ok(Jwt { keys, set, rules, known: Remembered::new(REMEMBERED) })
    }

    pub(super) fn judge(&self, sent: &Sent<'_>, now: u64) -> Said {
        let Some(token) = sent.with("Bearer") else { return Said::Nothing };
        let trace = self.known.trace(&[token]);
        let set = self.set.as_ref().map(|set| set.keys());
        let version = set.as_ref().map_or(0, |set| set.version);
        let known = self.known.get(&trace).filter(|(by, _)| *by == version);
        let claims = match known {
            Some((_, claims)) => claims.hold(now).map(|()| claims),
            None => self.verify(token, set.as_deref(), now).inspect(|claims| {
                let is_over = |(by, other): &(u64, Claims)| *by != version || other.hold(now).is_err();
                self.known.put(trace, (version, claims.clone()), is_over);
            }),
        };
        match claims {
            Ok(claims) => Said::Is(claims.who),
            Err(Refused::Invalid(why)) => Said::Wrong(why),
            Err(Refused::UnknownKey) => {
                if let Some(set) = &self.set {
                    set.ask();
                }
                Said::Wrong("no key is known that it could be signed with")
            }
        }
    }

    fn verify(&self, token: &[u8], set: Option<&Versioned>, now: u64) -> Result<Claims, Refused> {
        match (verify(token, &self.keys, &self.rules, now), set) {
            // no key of ours fits: one of the set may
            (Err(Refused::UnknownKey), Some(set)) => verify(token, &set.keys, &self.rules, now),
            (verified, _) => verified,
        }
    }
}
