//! Jobs that nobody asks for, by the clock: the request is made here.

use ::jobs::{NewJob, Store, StoreError};
use std::num::NonZeroU64;
use std::time::Duration;
use wire::RequestHead;

/// A clock that is set forward is noticed within this.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The schedule of a kind of job.
pub struct Schedule {
    job: NewJob,
    /// in ms
    every: NonZeroU64,
}

impl Schedule {
    pub fn new(every: NonZeroU64, kind: &str, priority: i32) -> Self {
        // its kind is its method and its path, which has no placeholders
        let path = kind.split_once(' ').map_or("/", |(_, path)| path);
        let mut request = Vec::new();
        let path = path.as_bytes();
        let head = RequestHead { method: b"POST", target: path, path, ..RequestHead::default() };
        head.encode(&[] as &[&[u8]], std::iter::empty, &mut request);
        let job = NewJob { kind: kind.to_owned(), request, priority, ..NewJob::default() };
        Schedule { job, every }
    }

    /// Has the store have the job of now.
    pub fn take_turn(&self, store: &mut Store, now: u64) -> Result<(), StoreError> {
        store.take_turn(&self.job, now / self.every, now).map(|_| ())
    }

    /// How long until the next turn, or until the clock is to be looked at.
    pub fn wait(&self, now: u64) -> Duration {
        Duration::from_millis(self.every.get() - now % self.every).min(LOOK_AGAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::jobs::{Place, Room};
    use wire::Request;

    fn every(seconds: u64) -> Schedule {
        Schedule::new(NonZeroU64::new(1000 * seconds).unwrap(), "POST /reports", 0)
    }

    #[test]
    fn a_turn_is_a_request_to_the_path() {
        let hourly = every(3600);
        let mut store = Store::open(&Place::Memory, 9, Duration::ZERO).unwrap();
        let hour = 3_600_000;
        hourly.take_turn(&mut store, 5 * hour + 1).unwrap();
        hourly.take_turn(&mut store, 6 * hour - 1).unwrap();
        assert_eq!(store.unfinished(), 0);
        hourly.take_turn(&mut store, 6 * hour).unwrap();
        let rooms = [Room { kind: "POST /reports".to_owned(), free: 9 }];
        let attempts = store.claim(&rooms, 9, 6 * hour).unwrap();
        let request = Request::decode(&attempts[0].request).unwrap();
        assert_eq!((request.head.method, request.head.path), (&b"POST"[..], &b"/reports"[..]));
    }

    #[test]
    fn the_next_turn_is_waited_for_and_the_clock_is_looked_at() {
        let (often, seldom) = (every(2), every(86_400));
        assert_eq!(often.wait(1_500), Duration::from_millis(500));
        assert_eq!(often.wait(2_000), Duration::from_secs(2));
        assert_eq!(seldom.wait(1), LOOK_AGAIN);
    }
}
