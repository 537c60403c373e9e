//! Names and passwords. A password that was right is remembered by a keyed hash, as finding out takes tens of
//! milliseconds; a wrong one is found out each time, with a bound on how many at a time, see `question`, and on how
//! many of one address, see `guesses`.

use super::config::{BasicConfig, Scopes};
use super::files::read_text;
use super::guesses::Guesses;
use super::question::{Heard, Question, HASHING};
use super::scopes::check;
use super::{Said, Sent};
use crate::edge::counts::Table;
use http::StatusCode;
use httpd::Failure;
use identity::{credentials, Remembered, Scheme, Users, Verifier, Who};
use std::cell::RefCell;
use std::sync::Arc;

/// Users that are remembered at a time.
const REMEMBERED: usize = 4096;

thread_local! {
    /// Of a thread for hashes; it goes with the thread, soon after the last password.
    static VERIFIER: RefCell<Verifier> = RefCell::default();
}

/// See the module.
#[derive(Debug)]
pub struct Basic {
    users: Users,
    scopes: Scopes,
    known: Arc<Remembered<Arc<Who>>>,
    /// `None` where any number may be wrong
    guesses: Option<Guesses>,
}

impl Basic {
    /// Of this configuration, with a table that wrong passwords are counted in.
    ///
    /// # Errors
    /// A text that says what is wrong with a user, with the file, or with the bound.
    pub fn new(config: &BasicConfig, table: impl FnOnce() -> Arc<Table>) -> Result<Self, String> {
        let text = config.file.as_deref().map(read_text).transpose()?.unwrap_or_default();
        let of_file = |e: String| match &config.file {
            Some(file) => format!("{}: {e}", file.display()),
            None => e,
        };
        let own = config.users.iter().map(|user| (user.name.as_str(), user.value.as_str()));
        let users = Users::new(own.chain(Users::read_lines(&text).map_err(of_file)?))?;
        check(&config.scopes, |name| users.hash_of(name).1)?;
        let guesses = config.max_failures.map(|most| Guesses::new(most, table())).transpose()?;
        Ok(Basic { users, scopes: config.scopes.clone(), known: Arc::new(Remembered::new(REMEMBERED)), guesses })
    }

    pub(super) fn judge(&self, sent: &Sent<'_>) -> Said {
        let Some(encoded) = sent.with("Basic") else { return Said::Nothing };
        let Some((name, password)) = credentials(encoded) else {
            return Said::Wrong("name and password cannot be read");
        };
        let (hash, exists) = self.users.hash_of(&name);
        let trace = self.known.trace(&[name.as_bytes(), &password, hash.as_bytes()]);
        if let Some(who) = self.known.get(&trace) {
            return Said::Is(who);
        }
        // `None` where guesses are not counted
        let begun = self.guesses.as_ref().map(|guesses| guesses.begin(sent.client.address.client()));
        let guess = match begun.transpose() {
            Ok(guess) => guess,
            Err(refusal) => return Said::Refused(refusal),
        };
        let (known, hash) = (self.known.clone(), hash.to_owned());
        let scopes = self.scopes.get(&*name).cloned().unwrap_or_default();
        let question = Question::ask(&HASHING, move || {
            // for unknown names, too: the time it takes must not tell a client which names exist
            if !VERIFIER.with_borrow_mut(|verifier| verifier.verify(&password, &hash)) || !exists {
                if let Some(guess) = guess {
                    guess.was_wrong();
                }
                return Heard::Nothing;
            }
            let who = Arc::new(Who::named(Scheme::Basic, &name, scopes));
            known.put(trace, who.clone(), |_| false);
            Heard::Is(who)
        });
        match question {
            Some(question) => Said::Ask(question),
            None => Said::Refused(
                Failure::new(StatusCode::SERVICE_UNAVAILABLE, "too many passwords wait to be checked")
                    .because("dr_auth_basic()"),
            ),
        }
    }
}
