//! Jobs by the clock: the request is made here. A turn is the time at which it begins, so that it is the same for a
//! server that starts anew, and later than all turns of a schedule that was there before.

use crate::config::JobConfig;
use ::jobs::{NewJob, Store, StoreError};
use croner::parser::{CronParser, Seconds, Year};
use croner::Cron;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use std::num::NonZeroU64;
use std::time::Duration;
use wire::RequestHead;

/// A clock that is set forward is noticed within this.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The schedule of a kind of job.
pub struct Schedule {
    job: NewJob,
    when: When,
}

/// When turns begin.
enum When {
    /// at whole multiples of this since 1970, in ms
    Every(NonZeroU64),
    /// at these times of day, there
    Cron(Box<Cron>, TimeZone),
}

impl Schedule {
    /// That of this kind, if it has one.
    ///
    /// # Errors
    /// See [`check_cron`].
    pub fn new(config: &JobConfig) -> Result<Option<Self>, String> {
        let ms = config.every.and_then(|seconds| NonZeroU64::new((seconds * 1000.0) as u64));
        let when = match (&config.cron, ms) {
            (Some(line), _) => {
                let (cron, zone) = read(line, config.tz.as_deref().unwrap_or("UTC"))?;
                When::Cron(Box::new(cron), zone)
            }
            (None, Some(ms)) => When::Every(ms),
            (None, None) => return Ok(None),
        };
        // its kind is its method and its path, which has no placeholders
        let path = config.kind.split_once(' ').map_or("/", |(_, path)| path).as_bytes();
        let mut request = Vec::new();
        let head = RequestHead { method: b"POST", target: path, path, ..RequestHead::default() };
        head.encode(&[] as &[&[u8]], std::iter::empty, &mut request);
        let (kind, priority) = (config.kind.clone(), config.priority as i32);
        Ok(Some(Schedule { job: NewJob { kind, request, priority, ..NewJob::default() }, when }))
    }

    /// Has the store have the job of now.
    pub fn take_turn(&self, store: &mut Store, now: u64) -> Result<(), StoreError> {
        match self.when.turn(now) {
            Some(turn) => store.take_turn(&self.job, turn, now).map(|_| ()),
            None => Ok(()),
        }
    }

    /// How long until the next turn, or until the clock is to be looked at.
    pub fn wait(&self, now: u64) -> Duration {
        let next = self.when.next(now).map(|next| Duration::from_millis(next.saturating_sub(now)));
        next.map_or(LOOK_AGAIN, |next| next.min(LOOK_AGAIN))
    }
}

impl When {
    /// Since when it is the turn that it is now, in ms since 1970.
    fn turn(&self, now: u64) -> Option<u64> {
        match self {
            When::Every(ms) => Some(now - now % *ms),
            When::Cron(cron, zone) => {
                cron.find_previous_occurrence(&local(now, zone)?, true).ok().and_then(|at| ms(&at))
            }
        }
    }

    /// When the next one begins.
    fn next(&self, now: u64) -> Option<u64> {
        match self {
            When::Every(ms) => Some(now - now % *ms + ms.get()),
            When::Cron(cron, zone) => cron.find_next_occurrence(&local(now, zone)?, false).ok().and_then(|at| ms(&at)),
        }
    }
}

fn local(now: u64, zone: &TimeZone) -> Option<Zoned> {
    Timestamp::from_millisecond(now.try_into().ok()?).ok().map(|at| at.to_zoned(zone.clone()))
}

fn ms(at: &Zoned) -> Option<u64> {
    at.timestamp().as_millisecond().try_into().ok()
}

/// Whether this is a line of cron, in a time zone that is known here.
///
/// # Errors
/// A text that says what is wrong with the line or the zone.
pub fn check_cron(line: &str, zone: &str) -> Result<(), String> {
    read(line, zone).map(|_| ())
}

fn read(line: &str, zone: &str) -> Result<(Cron, TimeZone), String> {
    let zone = TimeZone::get(zone).map_err(|_| format!("there is no time zone {zone:?} on this machine"))?;
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let cron = parser.parse(line).map_err(|e| e.to_string())?;
    match cron.find_next_occurrence(&Timestamp::UNIX_EPOCH.to_zoned(zone.clone()), true) {
        Ok(_) => Ok((cron, zone)),
        Err(_) => Err("that never comes".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::JobPart;
    use ::jobs::{Bounds, Place, Room};
    use wire::Request;

    const HOUR: u64 = 3_600_000;

    fn config(every: Option<f64>, cron: Option<(&str, &str)>) -> JobConfig {
        JobConfig {
            private: false,
            part: JobPart::Accept,
            kind: "POST /reports".to_owned(),
            retries: 0.0,
            backoff: 0.0,
            keep: 1.0,
            at_once: None,
            priority: 0.0,
            every,
            cron: cron.map(|(line, _)| line.to_owned()),
            tz: cron.map(|(_, zone)| zone.to_owned()),
        }
    }

    fn every(seconds: f64) -> Schedule {
        Schedule::new(&config(Some(seconds), None)).unwrap().unwrap()
    }

    fn cron(line: &str, zone: &str) -> Schedule {
        Schedule::new(&config(None, Some((line, zone)))).unwrap().unwrap()
    }

    fn at(text: &str) -> u64 {
        text.parse::<Timestamp>().unwrap().as_millisecond() as u64
    }

    #[test]
    fn a_turn_is_a_request_to_the_path() {
        assert!(Schedule::new(&config(None, None)).unwrap().is_none());
        let hourly = every(3600.0);
        let mut store = Store::open(&Place::Memory, Bounds { unfinished: 9, bytes: u64::MAX }, Duration::ZERO).unwrap();
        hourly.take_turn(&mut store, 5 * HOUR + 1).unwrap();
        hourly.take_turn(&mut store, 6 * HOUR - 1).unwrap();
        assert_eq!(store.unfinished(), 0);
        hourly.take_turn(&mut store, 6 * HOUR).unwrap();
        let rooms = [Room { kind: "POST /reports".to_owned(), free: 9 }];
        let attempts = store.claim(&rooms, 9, 6 * HOUR).unwrap();
        let request = Request::decode(&attempts[0].request).unwrap();
        assert_eq!((request.head.method, request.head.path), (&b"POST"[..], &b"/reports"[..]));
    }

    #[test]
    fn another_schedule_goes_on_where_the_one_before_was() {
        let mut store = Store::open(&Place::Memory, Bounds { unfinished: 9, bytes: u64::MAX }, Duration::ZERO).unwrap();
        let morning = at("2026-11-28T06:00:00Z");
        every(60.0).take_turn(&mut store, morning).unwrap();
        let daily = cron("0 6 * * *", "UTC");
        daily.take_turn(&mut store, morning + HOUR).unwrap();
        assert_eq!(store.unfinished(), 0, "that turn has passed");
        daily.take_turn(&mut store, morning + 24 * HOUR).unwrap();
        assert_eq!(store.unfinished(), 1);
    }

    #[test]
    fn the_next_turn_is_waited_for_and_the_clock_is_looked_at() {
        let (often, seldom) = (every(2.0), every(86_400.0));
        assert_eq!(often.wait(1_500), Duration::from_millis(500));
        assert_eq!(often.wait(2_000), Duration::from_secs(2));
        assert_eq!(seldom.wait(1), LOOK_AGAIN);
        let hourly = cron("0 * * * *", "UTC");
        assert_eq!(hourly.wait(HOUR - 10_000), Duration::from_secs(10));
        assert_eq!(hourly.wait(HOUR), LOOK_AGAIN);
    }

    #[test]
    fn a_line_of_cron_is_read_in_its_time_zone_through_changes_of_the_clock() {
        let office = cron("30 8 * * MON-FRI", "Europe/Berlin");
        // a Friday; then the Monday after the clock has gone back
        assert_eq!(office.when.turn(at("2026-10-23T06:30:00Z")), Some(at("2026-10-23T06:30:00Z")));
        assert_eq!(office.when.turn(at("2026-10-23T06:29:59Z")), Some(at("2026-10-22T06:30:00Z")));
        assert_eq!(office.when.next(at("2026-10-23T06:30:00Z")), Some(at("2026-10-26T07:30:00Z")));
        // 2:30 is not there when it goes forward, and there twice when it goes back
        let night = cron("30 2 * * *", "Europe/Berlin");
        let mut runs = Vec::new();
        for from in ["2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"] {
            let next = night.when.next(at(from)).unwrap();
            runs.push((next - at(from)) / 60_000);
            let after = night.when.next(next).unwrap();
            assert_eq!(night.when.turn(after - 1), Some(next), "{from}");
            assert!(after - next > 22 * HOUR, "{from}: twice in a night");
        }
        // at 3:00, the first moment after the gap; and at the first 2:30
        assert_eq!(runs, [13 * 60, 12 * 60 + 30]);
    }

    #[test]
    fn what_is_no_line_of_cron_or_no_zone_is_told() {
        for line in ["*/5 * * * *", "0 6 * * 1-5", "0 0 1 JAN *", "@daily", "0 0 29 2 *", "0 0 L * *"] {
            assert_eq!(check_cron(line, "America/New_York"), Ok(()), "{line}");
        }
        for line in ["", "* * * *", "60 * * * *", "0 24 * * *", "* * * * * *", "soon", "0 0 30 2 *", "*/0 * * * *"] {
            assert!(check_cron(line, "UTC").is_err(), "{line}");
        }
        assert_eq!(check_cron("0 0 30 2 *", "UTC"), Err("that never comes".to_owned()));
        let zone = check_cron("@daily", "Europe/Atlantis");
        assert_eq!(zone, Err("there is no time zone \"Europe/Atlantis\" on this machine".to_owned()));
    }
}
