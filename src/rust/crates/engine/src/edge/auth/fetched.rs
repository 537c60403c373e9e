//! What an app has fetched from identity providers: sets of keys, and what providers say of themselves. The next app
//! takes over what it asks for, too, so that a reload needs no provider.

use super::config::JwksConfig;
use super::jwks::{KeySet, KeySets};
use super::oidc::Providers;
use identity::jwt::Algorithm;
use identity::oidc::Provider;
use observe::Log;
use std::path::Path;
use std::sync::Arc;

/// See the module.
#[derive(Debug, Default)]
pub struct Fetched {
    sets: KeySets,
    providers: Providers,
}

/// What an app fetches, beside what the one before has.
pub struct Fetching<'a> {
    pub own: &'a mut Fetched,
    pub before: Option<&'a Fetched>,
    /// for what becomes of sets of keys later
    pub log: &'a Log,
}

impl Fetching<'_> {
    /// A set of keys at an address.
    ///
    /// # Errors
    /// A text that says why it cannot be had.
    pub fn keys(&mut self, config: &JwksConfig, algorithms: &[Algorithm]) -> Result<Arc<KeySet>, String> {
        self.own.sets.get(config, algorithms, self.before.map(|before| &before.sets), self.log)
    }

    /// A provider; `ca` has the authorities that it is trusted by.
    ///
    /// # Errors
    /// A text that says why it is none.
    pub fn provider(&mut self, issuer: &str, ca: Option<&Path>) -> Result<Arc<Provider>, String> {
        self.own.providers.get(issuer, ca, self.before.map(|before| &before.providers))
    }
}
