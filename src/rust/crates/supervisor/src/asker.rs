//! The caller that waits for a worker's report. Neighbour: `inspection`, which delivers the report.

use std::fmt;
use std::time::Instant;

/// Receives a report: called once, with the worker's JSON, or with the reason why there is none.
pub type OnOutcome = Box<dyn FnOnce(Result<String, String>) + Send>;

/// The way back to the caller, which gets an outcome in any case.
pub struct Asker(Option<OnOutcome>);

impl Asker {
    /// For the caller that receives the outcome by `reply`.
    pub fn new(reply: OnOutcome) -> Self {
        Asker(Some(reply))
    }

    /// Tells how it went.
    pub(crate) fn say(mut self, outcome: Result<String, String>) {
        if let Some(reply) = self.0.take() {
            reply(outcome);
        }
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        if let Some(reply) = self.0.take() {
            reply(Err("the worker has ended, or is about to".to_owned()));
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
    /// the caller that waits for it
    pub asker: Asker,
    /// what of it has come
    pub report: Vec<u8>,
    /// when it is given up
    pub deadline: Instant,
}
