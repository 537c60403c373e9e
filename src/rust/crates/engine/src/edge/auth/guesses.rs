//! How many passwords one address may guess. Each one that is to be checked counts before that, so that many at once
//! are no more than one after the other; what was right is not counted after all. The counting is `admission::rate`'s,
//! the counts are in `edge/counts.rs`. Not for passwords that are remembered, nor for other credentials: a token has
//! too many bytes to be guessed.

use crate::edge::counts::{Charge, Memory, Store, Table};
use crate::edge::limits;
use admission::rate::{Algorithm, Rate};
use exchange::now;
use httpd::Failure;
use std::sync::Arc;

/// In ms: a bucket of guesses that is used up is full again after it.
const WINDOW: u64 = 60_000;

/// See the module.
#[derive(Debug)]
pub struct Guesses {
    rate: Rate,
    /// of one limit
    counts: Arc<Memory>,
    /// for the log
    because: String,
}

/// A password that is being checked. Dropped, it is not counted: it was right, or nobody has looked at it.
#[derive(Debug)]
pub struct Guess {
    counts: Arc<Memory>,
    charge: Charge,
    was_wrong: bool,
}

impl Guesses {
    /// At most so many wrong ones within a minute.
    ///
    /// # Errors
    /// A text that says that it is out of bounds.
    pub fn new(max_failures: f64, table: Arc<Table>) -> Result<Self, String> {
        let rate = Rate::new(Algorithm::TokenBucket, max_failures as u64, WINDOW);
        Ok(Guesses {
            rate: rate.map_err(|e| format!("max_failures: {e}"))?,
            counts: Arc::new(Memory::new(vec![table])),
            because: format!("over `max_failures` = {max_failures} of dr_auth_basic()"),
        })
    }

    /// One more, of the client that has this address: see [`httpd::RemoteAddress::client`].
    ///
    /// # Errors
    /// The refusal, when there were too many.
    pub fn begin(&self, address: u64) -> Result<Guess, Failure> {
        let key = self.counts.table(0).key(address);
        let charge = Charge { limit: 0, rate: self.rate, key, cost: 1 };
        match self.counts.admit(&[charge], now())[0] {
            Ok(_) => Ok(Guess { counts: self.counts.clone(), charge, was_wrong: false }),
            Err(refused) => Err(limits::refusal(&self.because, refused.retry)),
        }
    }
}

impl Guess {
    /// It counts.
    pub fn was_wrong(mut self) {
        self.was_wrong = true;
    }
}

impl Drop for Guess {
    fn drop(&mut self) {
        if !self.was_wrong {
            self.counts.give_back(&self.charge, now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exchange::set_now;
    use http::header::RETRY_AFTER;

    fn guesses(max_failures: f64) -> Guesses {
        Guesses::new(max_failures, Arc::new(Table::new(true))).unwrap()
    }

    /// Whether a wrong one was looked at.
    fn is_wrong(guesses: &Guesses, address: u64) -> bool {
        guesses.begin(address).map(Guess::was_wrong).is_ok()
    }

    #[test]
    fn wrong_ones_of_an_address_count_and_come_back_within_a_minute() {
        set_now(1_000_000);
        let guesses = guesses(3.0);
        assert_eq!([1; 4].map(|address| is_wrong(&guesses, address)), [true, true, true, false]);
        assert!(is_wrong(&guesses, 2), "another address");
        let refused = guesses.begin(1).unwrap_err();
        assert_eq!(
            (refused.status.as_u16(), &refused.because[..]),
            (429, "over `max_failures` = 3 of dr_auth_basic()")
        );
        assert_eq!(refused.fields.get(&RETRY_AFTER), Some(&b"20"[..]));
        set_now(1_019_999);
        assert!(!is_wrong(&guesses, 1));
        set_now(1_020_000);
        assert_eq!([1; 2].map(|address| is_wrong(&guesses, address)), [true, false]);
        set_now(1_080_000);
        assert_eq!([1; 4].map(|address| is_wrong(&guesses, address)), [true, true, true, false]);
    }

    #[test]
    fn right_ones_do_not_count_however_many_there_are() {
        set_now(1_000_000);
        let guesses = guesses(1.0);
        for _ in 0..1000 {
            assert!(guesses.begin(1).is_ok());
        }
        assert!(is_wrong(&guesses, 1) && guesses.begin(1).is_err());
    }

    #[test]
    fn those_that_are_being_checked_count() {
        set_now(1_000_000);
        let guesses = guesses(2.0);
        let checked = [(); 3].map(|()| guesses.begin(1).ok());
        assert_eq!(checked.each_ref().map(Option::is_some), [true, true, false]);
        // they were right
        drop(checked);
        let _one = guesses.begin(1).unwrap();
        assert_eq!([1; 2].map(|address| is_wrong(&guesses, address)), [true, false]);
    }

    #[test]
    fn of_a_million_wrong_ones_within_an_hour_few_are_checked() {
        set_now(1_000_000);
        let guesses = guesses(10.0);
        let checked = (0..1_000_000).filter(|n| {
            set_now(1_000_000 + n * 3600 / 1000);
            is_wrong(&guesses, 1)
        });
        // a minute's at once, and what comes in the rest of the hour: the last ms of it is short of one more
        assert_eq!(checked.count(), 10 + 599);
    }

    #[test]
    fn a_bound_out_of_bounds_is_told() {
        let told = |bound| Guesses::new(bound, Arc::new(Table::new(true))).unwrap_err();
        assert!(told(0.0).starts_with("max_failures: capacity must be in 1..100000000, not 0"), "{}", told(0.0));
    }
}
