//! Jobs that nobody asks for, by the clock: the request is made here.

use super::JobRoute;
use ::jobs::{NewJob, Store, StoreError};
use std::time::Duration;
use wire::{BodyRef, RequestHead};

/// A clock that is set forward is noticed within this.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// A kind of job with a schedule.
pub struct Scheduled {
    job: NewJob,
    /// in ms
    every: u64,
}

impl Scheduled {
    /// Of a route that accepts jobs, if it has one.
    pub fn new(job: &JobRoute) -> Option<Self> {
        let every = job.every?;
        // its kind is its method and its path, which has no placeholders
        let path = job.kind.split_once(' ').map_or("/", |(_, path)| path);
        let mut request = Vec::new();
        let head = RequestHead {
            id: 0,
            route: 0,
            flags: 0,
            remote_port: 0,
            method: b"POST",
            target: path.as_bytes(),
            path: path.as_bytes(),
            base_path: b"",
            job: b"",
            remote_addr: b"",
            tls: b"",
            auth: b"",
            session: b"",
            terms: b"",
            body: BodyRef::Inline(b""),
        };
        head.encode(&[] as &[&[u8]], std::iter::empty, &mut request);
        let job = NewJob { kind: job.kind.clone(), request, priority: job.priority, ..NewJob::default() };
        Some(Scheduled { job, every })
    }

    /// Has the store have the job of now.
    pub fn take_turn(&self, store: &mut Store, now: u64) -> Result<(), StoreError> {
        store.take_turn(&self.job, now / self.every, now).map(|_| ())
    }

    /// How long until the next turn, or until the clock is to be looked at.
    pub fn wait(&self, now: u64) -> Duration {
        Duration::from_millis(self.every - now % self.every).min(LOOK_AGAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{JobConfig, JobPart};
    use ::jobs::{Place, Room};
    use wire::Request;

    fn of(every: Option<f64>) -> Option<Scheduled> {
        let (kind, at_once) = ("POST /reports".to_owned(), None);
        let config = JobConfig {
            part: JobPart::Accept,
            kind,
            retries: 0.0,
            backoff: 0.0,
            keep: 1.0,
            at_once,
            priority: 0.0,
            every,
        };
        Scheduled::new(&JobRoute::new(&config, &crate::jobs::secrets(&[])))
    }

    #[test]
    fn a_turn_is_a_request_to_the_path() {
        assert!(of(None).is_none() && of(Some(0.0)).is_none());
        let hourly = of(Some(3600.0)).unwrap();
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
        let (often, seldom) = (of(Some(2.0)).unwrap(), of(Some(86_400.0)).unwrap());
        assert_eq!(often.wait(1_500), Duration::from_millis(500));
        assert_eq!(often.wait(2_000), Duration::from_secs(2));
        assert_eq!(seldom.wait(1), LOOK_AGAIN);
    }
}
