//! Tokens and keys that were handed out: in `Authorization`, or in a field of their own.

use super::config::{KeyConfig, TokensConfig};
use super::files::read_text;
use super::scopes::check;
use super::{Said, Sent};
use identity::{Named, Scheme, Who};
use std::sync::Arc;

/// See the module.
#[derive(Debug)]
pub struct Tokens {
    /// the field, in lower case; `None` for `Authorization: Bearer`
    field: Option<String>,
    tokens: Named,
    /// by their numbers
    whose: Vec<Arc<Who>>,
}

impl Tokens {
    /// In `Authorization`.
    ///
    /// # Errors
    /// A text that says what is wrong with a token, or with the file.
    pub fn of_bearers(config: &TokensConfig) -> Result<Self, String> {
        Tokens::new(None, Scheme::Bearer, config)
    }

    /// In a field of their own.
    ///
    /// # Errors
    /// As for the others.
    pub fn of_keys(config: &KeyConfig) -> Result<Self, String> {
        Tokens::new(Some(config.header.clone()), Scheme::Key, &config.keys)
    }

    fn new(field: Option<String>, scheme: Scheme, config: &TokensConfig) -> Result<Self, String> {
        let text = config.file.as_deref().map(read_text).transpose()?.unwrap_or_default();
        let of_file = |e: String| match &config.file {
            Some(file) => format!("{}: {e}", file.display()),
            None => e,
        };
        let own = config.tokens.iter().map(|token| (token.name.as_str(), token.value.as_str()));
        let tokens = Named::new(own.chain(Named::read_lines(&text).map_err(of_file)?))?;
        check(&config.scopes, |name| tokens.names().any(|one| one == name))?;
        let scopes_of = |name| config.scopes.get(name).cloned().unwrap_or_default();
        let whose: Vec<_> = tokens.names().map(|name| Arc::new(Who::named(scheme, name, scopes_of(name)))).collect();
        if whose.is_empty() {
            return Err("there must be at least one token".to_owned());
        }
        Ok(Tokens { field, tokens, whose })
    }

    /// The field of their own.
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }

    pub(super) fn judge(&self, sent: &Sent<'_>) -> Said {
        let token = match &self.field {
            None => sent.with("Bearer"),
            Some(field) => {
                let mut all = sent.head.fields.named(field.as_bytes());
                let first = all.next();
                if all.next().is_some() {
                    return Said::Wrong("there are several keys");
                }
                first
            }
        };
        let Some(token) = token else { return Said::Nothing };
        match self.tokens.find(token) {
            Some(at) => Said::Is(self.whose[at].clone()),
            None if self.field.is_some() => Said::Wrong("the key is unknown"),
            None => Said::Wrong("the token is unknown"),
        }
    }
}
