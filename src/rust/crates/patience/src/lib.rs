//! Waiting, in tests: for what is to come, and for how long. `tests/lib/wait.R` is the same for R.
//!
//! A wait that ends early costs nothing, so its end is far away: 30 s, and more where other programs keep the
//! processors busy. How long something took is no test: what is to be shown is an order. One thing is held, another is
//! done, and the first is not over.
//!
//! Not for the server, which has clocks of its own: `exchange`.
#![forbid(unsafe_code)]

use std::future::Future;
use std::time::{Duration, Instant};

/// Seconds of a quiet machine after which what has not come does not come.
const SECONDS: u64 = 30;
/// Between two looks: the first, and the longest.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_millis(20);

/// How many times as long as on a quiet machine things may take by now, 1 to 8: from the part of the last ten seconds
/// in which some task waited for a processor. 2 where the system does not say.
pub fn slack() -> f64 {
    std::fs::read_to_string("/proc/pressure/cpu").ok().and_then(|text| waited(&text)).map_or(2.0, slack_of)
}

fn waited(text: &str) -> Option<f64> {
    let (percent, _) = text.strip_prefix("some avg10=")?.split_once(' ')?;
    percent.parse().ok()
}

fn slack_of(percent: f64) -> f64 {
    1.0 + 7.0 * percent.clamp(0.0, 100.0) / 100.0
}

/// `seconds` of a quiet machine, scaled to the load of this one.
pub fn patience(seconds: u64) -> Duration {
    Duration::from_secs(seconds).mul_f64(slack())
}

/// True as soon as `condition()` is, false when it is not within 30 s of a quiet machine.
pub fn within(mut condition: impl FnMut() -> bool) -> bool {
    find(Wait::of(SECONDS), || condition().then_some(())).is_some()
}

/// Waits until `condition()` is true; panics with `what` when that does not come.
#[track_caller]
pub fn until(what: &str, condition: impl FnMut() -> bool) {
    assert!(within(condition), "it does not come: {what}");
}

/// Waits for something, and gives it; panics with `what` when it does not come.
#[track_caller]
pub fn until_some<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    find(Wait::of(SECONDS), look).unwrap_or_else(|| panic!("it does not come: {what}"))
}

/// The same as [`until`] where others run on the thread meanwhile; `pause` is how it waits, such as
/// `tokio::time::sleep`.
pub async fn until_async<P: Future<Output = ()>>(
    what: &str,
    pause: impl Fn(Duration) -> P,
    mut condition: impl FnMut() -> bool,
) {
    let mut wait = Wait::of(SECONDS);
    while !condition() {
        let time = wait.next();
        assert!(time.is_some() || condition(), "it does not come: {what}");
        pause(time.unwrap_or_default()).await;
    }
}

fn find<T>(mut wait: Wait, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        match wait.next() {
            Some(time) => std::thread::sleep(time),
            // it may have come since, while this thread waited for a processor
            None => return look(),
        }
    }
}

/// The pauses of one wait. It looks less often the longer it takes, as looking has its price.
struct Wait {
    began: Instant,
    seconds: u64,
    patience: Duration,
}

impl Wait {
    fn of(seconds: u64) -> Wait {
        Wait { began: Instant::now(), seconds, patience: Duration::from_secs(seconds) }
    }

    /// How long to pause before the next look; `None` when it is time to give up.
    fn next(&mut self) -> Option<Duration> {
        let waited = self.began.elapsed();
        // what the machine is like is asked only when it begins to matter
        if waited > self.patience {
            self.patience = patience(self.seconds);
        }
        (waited <= self.patience).then(|| pause_after(waited))
    }
}

fn pause_after(waited: Duration) -> Duration {
    (waited / 20).clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_loaded_the_machine_is_is_read() {
        let text = "some avg10=50.00 avg60=1.41 avg300=7.14 total=5416018614\nfull avg10=0.00 avg60=0.00 total=0\n";
        assert_eq!((waited(text), waited(""), waited("some avg10=x ")), (Some(50.0), None, None));
        assert_eq!([0.0, 50.0, 100.0, 101.0].map(slack_of), [1.0, 4.5, 8.0, 8.0]);
        assert!((1.0..=8.0).contains(&slack()));
        assert!(patience(10) >= Duration::from_secs(10) && patience(10) <= Duration::from_secs(80));
    }

    #[test]
    fn what_comes_is_given_and_ends_the_wait() {
        let mut looks = 0..;
        assert_eq!(until_some("the third", || looks.next().filter(|n| *n == 3)), 3);
        let mut looks = 0..;
        until("the third", || looks.next() == Some(3));
        assert_eq!(looks.next(), Some(4), "it is not looked at once more");
    }

    #[test]
    fn pauses_grow_to_an_end() {
        let pauses = [0, 100, 200, 400, 30_000].map(|ms| pause_after(Duration::from_millis(ms)).as_millis());
        assert_eq!(pauses, [1, 5, 10, 20, 20]);
    }

    #[test]
    fn it_ends_but_the_last_look_counts() {
        let over = || Wait::of(0);
        let mut looks = [None, Some(7)].into_iter();
        assert_eq!(find(over(), || looks.next().unwrap()), Some(7));
        let mut looks = [None, None::<u8>].into_iter();
        assert_eq!(find(over(), || looks.next().unwrap()), None);
    }
}
