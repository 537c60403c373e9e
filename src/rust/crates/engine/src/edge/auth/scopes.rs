//! What clients may do: the scopes of users, tokens and keys, and those that a policy asks for.

use super::challenge::lacks_scope;
use super::config::{AuthConfig, Scopes};
use httpd::Failure;
use identity::Who;
use std::sync::Arc;

/// What a policy asks for.
#[derive(Debug)]
pub struct Needs {
    scopes: Vec<String>,
    failure: Failure,
}

impl Needs {
    /// Of this policy.
    ///
    /// # Errors
    /// When a scope cannot be in a header field.
    pub fn new(config: &AuthConfig) -> Result<Self, String> {
        Ok(Needs { scopes: config.scope.clone(), failure: lacks_scope(config)? })
    }

    /// This client, whose credentials are right.
    ///
    /// # Errors
    /// When it may not do this.
    pub fn judge(&self, who: Arc<Who>) -> Result<Arc<Who>, Failure> {
        if who.has_scopes(&self.scopes) {
            Ok(who)
        } else {
            Err(self.failure.clone())
        }
    }
}

/// Whether all that have scopes are known.
///
/// # Errors
/// A text that names one that is not.
pub fn check(scopes: &Scopes, known: impl Fn(&str) -> bool) -> Result<(), String> {
    match scopes.keys().find(|name| !known(name)) {
        Some(name) => Err(format!("`scopes` has {name:?}, which has no secret")),
        None => Ok(()),
    }
}
