//! What was counted, as the dashboard and `drover status` tell it: sums since the server began, of which two in a row
//! give what happened in between. Without the server's own pages, so that looking does not count.
//!
//! Neighbour: `exposition`, which tells the same cells to programs for monitoring.

use super::cells::{Histogram, OfRoute, BOUNDS, STATUSES};
use super::exposition::resident_memory;
use super::refusal::Refusal;
use super::{Metrics, Route};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// requests that have ended
    pub requests: u64,
    /// of these, by what came of them: `2xx`, `gone` for clients that left
    pub by_status: BTreeMap<String, u64>,
    /// requests that have not ended, WebSockets among them
    pub open: u64,
    /// responses that come piece by piece and have not ended
    pub streams: u64,
    /// WebSockets that are open
    pub websockets: u64,
    /// requests that the server has answered with an error by itself, by cause, where there were any
    pub refusals: BTreeMap<String, u64>,
    /// workers that were replaced or died, by reason, where there were any
    pub restarts: BTreeMap<String, u64>,
    /// bytes from clients
    pub received: u64,
    /// bytes to clients
    pub sent: u64,
    /// upper bounds of the buckets of all times, in seconds; one more bucket is for what took longer
    pub bounds: Vec<f64>,
    /// requests by the time until their client had the response
    pub duration: Vec<u64>,
    /// requests by their wait for a worker
    pub queue: Vec<u64>,
    /// the routes whose requests took most time in all, that with most of it first
    pub routes: Vec<RouteFigures>,
    /// resident memory of the server's process, in bytes
    pub memory: u64,
}

/// The requests of one route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RouteFigures {
    /// its pattern
    pub route: String,
    /// requests that have ended
    pub requests: u64,
    /// of these, with a status of 500 and above
    pub errors: u64,
    /// what they took in all
    pub seconds: f64,
    /// requests by the time until their client had the response
    pub duration: Vec<u64>,
}

/// Routes that are told of.
const MOST: usize = 30;
/// Where errors of the server's side stand among the statuses.
const FAILED: usize = 4;

impl Metrics {
    /// What was counted until now.
    pub fn figures(&self) -> Figures {
        let mut figures = Figures {
            open: self.open(|c| &c.begun, |c| &c.ended),
            streams: self.open(|c| &c.streams, |c| &c.ended_streams),
            websockets: self.open(|c| &c.websockets, |c| &c.ended_websockets),
            received: self.sum(|c| &c.received),
            sent: self.sum(|c| &c.sent),
            bounds: BOUNDS.iter().map(|micros| *micros as f64 / 1e6).collect(),
            duration: vec![0; BOUNDS.len() + 1],
            queue: vec![0; BOUNDS.len() + 1],
            memory: resident_memory().unwrap_or(0),
            ..Figures::default()
        };
        let known = |name: &str, n: u64| (n > 0).then(|| (name.to_owned(), n));
        let refused = |why: &Refusal| known(why.name(), self.sum(|c| &c.refusals[*why as usize]));
        figures.refusals = Refusal::ALL.iter().filter_map(refused).collect();
        figures.restarts = self.workers.by_reason().filter_map(|(name, n)| known(name, n)).collect();
        let mut by_status = [0; STATUSES.len()];
        for (i, name) in self.routes.names().into_iter().enumerate() {
            if i == Route::SERVER.index() {
                continue;
            }
            let of_threads: Vec<&OfRoute> =
                self.threads.iter().filter_map(|cells| Some(&**cells.routes.get(i)?.get()?)).collect();
            let mut route =
                RouteFigures { route: name.to_string(), duration: vec![0; BOUNDS.len() + 1], ..Default::default() };
            for of_route in of_threads {
                for by_method in &of_route.requests {
                    for (status, count) in by_method.iter().enumerate() {
                        by_status[status] += count.get();
                        route.requests += count.get();
                        route.errors += if status == FAILED { count.get() } else { 0 };
                    }
                }
                add(&mut route.duration, &of_route.duration);
                add(&mut figures.duration, &of_route.duration);
                add(&mut figures.queue, &of_route.queue);
                route.seconds += of_route.duration.nanoseconds.get() as f64 / 1e9;
            }
            figures.requests += route.requests;
            if route.requests > 0 {
                figures.routes.push(route);
            }
        }
        figures.by_status = STATUSES.iter().zip(by_status).filter_map(|(name, n)| known(name, n)).collect();
        figures.routes.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        figures.routes.truncate(MOST);
        figures
    }
}

fn add(sums: &mut [u64], histogram: &Histogram) {
    sums.iter_mut().zip(&histogram.buckets).for_each(|(sum, count)| *sum += count.get());
}

impl Figures {
    /// What was counted since `before`.
    #[must_use]
    pub fn since(&self, before: &Figures) -> Figures {
        let less = |now: &[u64], then: &[u64]| {
            now.iter().enumerate().map(|(i, n)| n.saturating_sub(then.get(i).copied().unwrap_or(0))).collect()
        };
        let fewer = |now: &BTreeMap<String, u64>, then: &BTreeMap<String, u64>| {
            let left = now.iter().map(|(name, n)| (name.clone(), n.saturating_sub(*then.get(name).unwrap_or(&0))));
            left.filter(|(_, n)| *n > 0).collect()
        };
        let none = RouteFigures::default();
        let routes = self.routes.iter().map(|route| {
            let then = before.routes.iter().find(|then| then.route == route.route).unwrap_or(&none);
            RouteFigures {
                route: route.route.clone(),
                requests: route.requests.saturating_sub(then.requests),
                errors: route.errors.saturating_sub(then.errors),
                seconds: (route.seconds - then.seconds).max(0.0),
                duration: less(&route.duration, &then.duration),
            }
        });
        Figures {
            requests: self.requests.saturating_sub(before.requests),
            by_status: fewer(&self.by_status, &before.by_status),
            refusals: fewer(&self.refusals, &before.refusals),
            restarts: fewer(&self.restarts, &before.restarts),
            received: self.received.saturating_sub(before.received),
            sent: self.sent.saturating_sub(before.sent),
            duration: less(&self.duration, &before.duration),
            queue: less(&self.queue, &before.queue),
            routes: routes.collect(),
            ..self.clone()
        }
    }

    /// Below which time, in seconds, this part of the times in `buckets` is, 0 to 1: as far as buckets can tell, evenly
    /// within each. `None` without any.
    pub fn quantile(&self, buckets: &[u64], part: f64) -> Option<f64> {
        let all: u64 = buckets.iter().sum();
        let wanted = part * all as f64;
        let mut below = 0.0;
        for (i, n) in buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            let n = *n as f64;
            if below + n >= wanted {
                let from = if i == 0 { 0.0 } else { self.bounds[i - 1] };
                // of the last bucket only the beginning is known
                let to = self.bounds.get(i).copied().unwrap_or(from);
                return Some(from + (to - from) * ((wanted - below) / n).clamp(0.0, 1.0));
            }
            below += n;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{count, Counted, Phases, Restart};
    use std::sync::Arc;
    use std::time::Duration;

    fn counted(route: Route, status: u16, ms: u64) -> Counted<'static> {
        let until_answer = Duration::from_millis(ms);
        let phases = Some(Phases { until_answer, handler: Some(until_answer), write: Duration::ZERO });
        Counted { route, method: "GET", status: Some(status), whole: true, phases }
    }

    #[test]
    fn threads_are_added_up_and_the_servers_own_pages_are_left_out() {
        let metrics = Arc::new(Metrics::new(2));
        let (quick, slow) = (metrics.routes.place("/quick"), metrics.routes.place("/slow<b>"));
        metrics.workers.restarts(Restart::Signal);
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let metrics = metrics.clone();
                std::thread::spawn(move || {
                    metrics.count_here(thread);
                    for request in [counted(quick, 200, 1), counted(slow, 500, 400), counted(Route::SERVER, 200, 9)] {
                        count(|cells| cells.request(&request));
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let figures = metrics.figures();
        assert_eq!((figures.requests, figures.by_status["2xx"], figures.by_status["5xx"]), (4, 2, 2));
        assert_eq!(figures.restarts, BTreeMap::from([("signal".to_owned(), 1)]));
        let routes: Vec<_> = figures.routes.iter().map(|r| (r.route.as_str(), r.requests, r.errors)).collect();
        assert_eq!(routes, [("/slow<b>", 2, 2), ("/quick", 2, 0)], "the one that took most time is first");
        assert!((figures.routes[0].seconds - 0.8).abs() < 1e-6);
        assert!(figures.memory > 100_000);
        assert_eq!(figures.duration.iter().sum::<u64>(), 4);
    }

    #[test]
    fn two_in_a_row_give_what_happened_in_between() {
        let before = Figures { requests: 10, duration: vec![10, 0], sent: 5, websockets: 3, ..Figures::default() };
        let now = Figures { requests: 14, duration: vec![10, 4], sent: 9, websockets: 2, ..Figures::default() };
        let between = now.since(&before);
        assert_eq!((between.requests, between.sent, between.websockets), (4, 4, 2));
        assert_eq!(between.duration, [0, 4]);
    }

    #[test]
    fn a_quantile_is_within_its_bucket() {
        let figures = Figures { bounds: vec![0.001, 0.01, 0.1], ..Figures::default() };
        let quantile = |buckets: &[u64], part| figures.quantile(buckets, part);
        assert_eq!(quantile(&[0, 0, 0, 0], 0.5), None);
        assert_eq!(quantile(&[10, 0, 0, 0], 0.5), Some(0.0005));
        assert_eq!(quantile(&[90, 0, 10, 0], 0.9), Some(0.001));
        let p99 = quantile(&[90, 0, 10, 0], 0.99).unwrap();
        assert!(p99 > 0.09 && p99 < 0.1, "{p99}");
        assert_eq!(quantile(&[0, 0, 0, 5], 0.99), Some(0.1), "above the last bound nothing is known");
    }
}
