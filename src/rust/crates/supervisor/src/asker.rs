//! Who waits for the report of a worker. Neighbour: `inspection`, by which it comes.

use std::fmt;
use std::time::Instant;

/// Whoever waits for a report: called once, with the report, which is the worker's JSON, or with why there is none.
pub type Tell = Box<dyn FnOnce(Result<String, String>) + Send>;

/// The way back to whoever asked, who hears in any case.
pub struct Asker(Option<Tell>);

impl Asker {
    /// The one that is told so.
    pub fn new(tell: Tell) -> Self {
        Asker(Some(tell))
    }

    /// Tells how it went.
    pub(crate) fn say(mut self, outcome: Result<String, String>) {
        if let Some(tell) = self.0.take() {
            tell(outcome);
        }
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        if let Some(tell) = self.0.take() {
            tell(Err("the worker has ended, or is about to".to_owned()));
        }
    }
}

impl fmt::Debug for Asker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asker")
    }
}

/// An inspection that a worker has been asked for.
#[derive(Debug)]
pub struct UnderWay {
    /// the server's name for it
    pub number: u32,
    /// who waits for it
    pub asker: Asker,
    /// what of it has come
    pub report: Vec<u8>,
    /// when it is given up
    pub deadline: Instant,
}
