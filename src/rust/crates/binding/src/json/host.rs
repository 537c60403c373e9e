//! What reading asks of the process that makes R values of a text.

use super::value::JsonError;
use fields::guard::{CollisionGuard, Visit};
use fields::FieldError;
use std::ops::ControlFlow;

/// Visits all strings of something.
pub type Texts<'t> = dyn FnMut(&mut Visit) -> ControlFlow<()> + 't;

/// What reading asks of the process that makes R values of a text.
pub trait Host {
    /// Looks at strings that R is about to make: see [`CollisionGuard::check`].
    ///
    /// # Errors
    /// Strings that are not to be made.
    fn check(&mut self, max_collisions: usize, strings: &mut Texts) -> Result<(), FieldError>;

    /// Reads texts as dates: seconds since 1970, NaN where one is none; those that name no time zone are in UTC or in
    /// the session's. `None` when that could not be done at all.
    fn read_dates(&mut self, texts: &[&str], utc: bool) -> Option<Vec<f64>>;
}

/// A host without R, for tests: it counts strings, and no text is a date.
#[derive(Default)]
pub struct WithoutR(CollisionGuard);

impl Host for WithoutR {
    fn check(&mut self, max_collisions: usize, strings: &mut Texts) -> Result<(), FieldError> {
        self.0.check(max_collisions, strings)
    }

    fn read_dates(&mut self, texts: &[&str], _utc: bool) -> Option<Vec<f64>> {
        Some(vec![f64::NAN; texts.len()])
    }
}

/// A host, with the limit that holds for one text.
pub(super) struct Limited<'h> {
    pub host: &'h mut dyn Host,
    pub max_collisions: usize,
}

impl Limited<'_> {
    pub fn check(&mut self, strings: &mut Texts) -> Result<(), JsonError> {
        self.host.check(self.max_collisions, strings).map_err(|error| JsonError::new(error.to_string()))
    }
}
