//! What a scrape is told: the figures of all threads, added up, as OpenMetrics or in the text format of Prometheus.
//!
//! The library writes OpenMetrics only. The text format says the same in other words, so it is made of that.

use super::cells::{Count, Histogram, OfRoute, BOUNDS, METHODS, STATUSES};
use super::refusal::Refusal;
use super::{Cells, Metrics};
use crate::status::WorkerState;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{text, DescriptorEncoder, EncodeLabelSet, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// How it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposition {
    /// OpenMetrics 1.0
    OpenMetrics,
    /// version 0.0.4 of the text format of Prometheus
    Text,
}

impl Exposition {
    /// The one that a client wants which says this in its `Accept`.
    pub fn wanted(accept: &str) -> Self {
        let media_type = |range: &str| range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if accept.split(',').any(|range| media_type(range) == "application/openmetrics-text") {
            Exposition::OpenMetrics
        } else {
            Exposition::Text
        }
    }

    /// Its media type.
    pub fn content_type(self) -> &'static str {
        match self {
            Exposition::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Exposition::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// What is so at the moment, as others count it.
#[derive(Debug, Clone, Default)]
pub struct Gauges {
    /// connections that are open
    pub connections: usize,
    /// requests that wait for a worker
    pub waiting: usize,
    /// most that may
    pub max_queue: usize,
    /// entries of `dr_state()`, and bytes that they take
    pub state: (u64, u64),
    /// short requests that had a worker while long ones had all others
    pub passed: u64,
    /// batches that workers were given of what had waited, and requests in them
    pub batches: (u64, u64),
    /// jobs of each kind, by the names of their states
    pub jobs: Vec<(String, [(&'static str, u64); 6])>,
    /// attempts at jobs of a kind that have ended, by what came of them
    pub attempts: BTreeMap<(String, &'static str), u64>,
    /// version of the program
    pub version: &'static str,
}

impl Metrics {
    /// All figures as they are now.
    pub fn expose(self: &Arc<Self>, gauges: Gauges, how: Exposition) -> String {
        let mut registry = Registry::with_prefix("drover");
        registry.register_collector(Box::new(Scrape { metrics: self.clone(), gauges }));
        let mut all = String::new();
        // writing to a string does not fail
        let _ = text::encode(&mut all, &registry);
        match how {
            Exposition::OpenMetrics => all,
            Exposition::Text => as_text(&all),
        }
    }

    pub(super) fn sum(&self, of: impl Fn(&Cells) -> &Count) -> u64 {
        self.threads.iter().map(|cells| of(cells).get()).sum()
    }

    /// How many have begun and not ended. Sums `ended` first: otherwise it could exceed `begun`.
    pub(super) fn open(&self, begun: impl Fn(&Cells) -> &Count, ended: impl Fn(&Cells) -> &Count) -> u64 {
        let ended = self.sum(ended);
        self.sum(begun).saturating_sub(ended)
    }
}

/// OpenMetrics as version 0.0.4 of the text format: a counter has the name of its samples, units are not told, and the
/// end is the end.
fn as_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut lines = open_metrics.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            let total = if next.starts_with("# TYPE ") && next.ends_with(" counter") { "_total" } else { "" };
            text.extend(["# HELP ", name, total, " ", help, "\n"]);
        } else if let Some(name) = line.strip_prefix("# TYPE ").and_then(|rest| rest.strip_suffix(" counter")) {
            text.extend(["# TYPE ", name, "_total counter\n"]);
        } else if !line.starts_with("# UNIT ") && line != "# EOF" {
            text.extend([line, "\n"]);
        }
    }
    text
}

struct Scrape {
    metrics: Arc<Metrics>,
    gauges: Gauges,
}

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(encoder);
        self.requests(&mut page)?;
        self.connections(&mut page)?;
        self.workers(&mut page)?;
        self.process(&mut page)
    }
}

impl Scrape {
    fn requests(&self, page: &mut Page<'_>) -> fmt::Result {
        let (metrics, gauges) = (&self.metrics, &self.gauges);
        let names = metrics.routes.names();
        let routes: Vec<(&str, Vec<&OfRoute>)> = names
            .iter()
            .enumerate()
            .map(|(i, name)| {
                let of_threads = metrics.threads.iter().filter_map(|cells| cells.routes.get(i)?.get());
                (&**name, of_threads.map(|of_route| &**of_route).collect::<Vec<_>>())
            })
            .filter(|(_, of_threads)| !of_threads.is_empty())
            .collect();
        let requests = routes.iter().flat_map(|(name, of_threads)| {
            METHODS.iter().enumerate().flat_map(move |(m, method)| {
                STATUSES.iter().enumerate().map(move |(s, status)| {
                    let n: u64 = of_threads.iter().map(|of_route| of_route.requests[m][s].get()).sum();
                    ([("route", *name), ("method", *method), ("status", *status)], n)
                })
            })
        });
        page.counters("requests", "Requests that have ended.", None, requests.filter(|(_, n)| *n > 0))?;
        let mut histogram = |name, help, of: fn(&OfRoute) -> &Histogram| {
            let each = routes.iter().map(|(name, of_threads)| {
                ([("route", *name)], of_threads.iter().map(|of_route| of(of_route)).collect::<Vec<_>>())
            });
            page.histograms(name, help, each)
        };
        let (duration, queue) = ("request_duration", "request_queue");
        histogram(duration, "From the head of a request until its client had the response.", |of| &of.duration)?;
        histogram(queue, "Of that, until its handler had begun: the wait for a worker.", |of| &of.queue)?;
        histogram("request_handler", "Of that, in its handler.", |of| &of.handler)?;
        histogram("request_write", "Of that, sending the response.", |of| &of.write)?;
        let open = metrics.open(|c| &c.begun, |c| &c.ended);
        page.gauge("requests_open", "Requests that have not ended, WebSockets among them.", None, open)?;
        let cut_short = [(NO_LABELS, metrics.sum(|c| &c.cut_short))];
        page.counters("responses_cut_short", "Responses that were not sent whole.", None, cut_short)?;
        let refused = |why: &Refusal| ([("cause", why.name())], metrics.sum(|c| &c.refusals[*why as usize]));
        let refusals = Refusal::ALL.iter().map(refused);
        page.counters("refusals", "Requests that the server has answered with an error by itself.", None, refusals)?;
        let spans = metrics.spans.by_result().map(|(result, n)| ([("result", result)], n));
        page.counters("spans", "Requests that were to be told to a collector of traces.", None, spans)?;
        page.gauge("queue_requests", "Requests that wait for a worker.", None, gauges.waiting as u64)?;
        let most = gauges.max_queue as u64;
        page.gauge("queue_max_requests", "Most requests that may wait: the setting max_queue.", None, most)?;
        let (entries, bytes) = gauges.state;
        page.gauge("state_entries", "Values that dr_state() has for all workers.", None, entries)?;
        page.gauge("state", "Memory that they take.", Some(&Unit::Bytes), bytes)?;
        let passed = [(NO_LABELS, gauges.passed)];
        page.counters(
            "passed_requests",
            "Short requests answered while long ones had all other workers.",
            None,
            passed,
        )?;
        let (batches, batched) = gauges.batches;
        page.counters("batches", "Batches of requests that had waited.", None, [(NO_LABELS, batches)])?;
        page.counters("batched_requests", "Requests in them.", None, [(NO_LABELS, batched)])?;
        let jobs = gauges.jobs.iter().flat_map(|(kind, states)| {
            states.iter().map(move |(state, n)| ([("kind", &**kind), ("state", *state)], *n as f64))
        });
        page.gauges("jobs", "Jobs that are kept, by what they do.", None, jobs)?;
        let attempts = gauges.attempts.iter();
        let attempts = attempts.map(|((kind, end), n)| ([("kind", &**kind), ("end", *end)], *n));
        page.counters("job_attempts", "Attempts at jobs that have ended, by what came of them.", None, attempts)
    }

    fn connections(&self, page: &mut Page<'_>) -> fmt::Result {
        let metrics = &self.metrics;
        let sum = |of: fn(&Cells) -> &Count| [(NO_LABELS, metrics.sum(of))];
        page.counters("connections", "Connections that were accepted.", None, sum(|c| &c.connections))?;
        page.gauge("connections_open", "Connections that are open.", None, self.gauges.connections as u64)?;
        let bytes = Some(&Unit::Bytes);
        page.counters("received", "Bytes that came from clients, with TLS.", bytes, sum(|c| &c.received))?;
        page.counters("sent", "Bytes that went to clients, with TLS.", bytes, sum(|c| &c.sent))?;
        let result = |result, n| ([("result", result)], n);
        let handshakes =
            [result("ok", metrics.sum(|c| &c.handshakes)), result("failed", metrics.sum(|c| &c.failed_handshakes))];
        page.counters("tls_handshakes", "Handshakes of TLS.", None, handshakes)?;
        page.counters("streams", "Responses that handlers make piece by piece.", None, sum(|c| &c.streams))?;
        let open = metrics.open(|c| &c.streams, |c| &c.ended_streams);
        page.gauge("streams_open", "Such responses that have not ended.", None, open)?;
        page.counters("websockets", "WebSockets that were opened.", None, sum(|c| &c.websockets))?;
        let open = metrics.open(|c| &c.websockets, |c| &c.ended_websockets);
        page.gauge("websockets_open", "WebSockets that are open.", None, open)
    }

    fn workers(&self, page: &mut Page<'_>) -> fmt::Result {
        let workers = self.metrics.workers.now();
        let states = WorkerState::ALL.map(|state| {
            let n = workers.iter().filter(|worker| worker.state == state).count();
            ([("state", state.name())], n as f64)
        });
        page.gauges("workers", "Workers by what they do.", None, states)?;
        let memory = workers.iter().enumerate();
        let memory = memory.map(|(i, worker)| ([("worker", (i + 1).to_string())], worker.memory as f64));
        let help = "Resident memory of each worker, the oldest first, with what it shares with others.";
        page.gauges("worker_memory", help, Some(&Unit::Bytes), memory)?;
        let heap = workers.iter().enumerate().filter(|(_, worker)| worker.heap > 0);
        let heap = heap.map(|(i, worker)| ([("worker", (i + 1).to_string())], worker.heap as f64));
        let help = "What each worker has allocated: R's objects, and what libraries hold.";
        page.gauges("worker_heap", help, Some(&Unit::Bytes), heap)?;
        let (collections, seconds) = self.metrics.workers.collections();
        let help = "Garbage collections of R, in all workers.";
        page.counters("gc_collections", help, None, [(NO_LABELS, collections)])?;
        let help = "Time that workers have spent on them.";
        page.counters("gc", help, Some(&Unit::Seconds), [(NO_LABELS, seconds)])?;
        let restarts = self.metrics.workers.by_reason().map(|(reason, n)| ([("reason", reason)], n));
        page.counters("worker_restarts", "Workers that were replaced, or died.", None, restarts)
    }

    fn process(&self, page: &mut Page<'_>) -> fmt::Result {
        let version = [([("version", self.gauges.version)], 1.0)];
        page.gauges("build_info", "The version of the server.", None, version)?;
        let (seconds, bytes) = (Some(&Unit::Seconds), Some(&Unit::Bytes));
        if let Some(memory) = resident_memory() {
            page.gauge("process_memory", "Resident memory of the server's process.", bytes, memory)?;
        }
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let used = used.tv_sec as f64 + used.tv_nsec as f64 / 1e9;
        page.counters(
            "process_cpu",
            "CPU time of the server's process, without workers.",
            seconds,
            [(NO_LABELS, used)],
        )?;
        let began = self.metrics.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        page.gauges("process_start_time", "When the server began, since 1970.", seconds, [(NO_LABELS, began)])
    }
}

/// This process's resident memory in bytes, with all that it shares.
pub fn resident_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Of a metric without labels.
const NO_LABELS: [(&str, &str); 0] = [];

/// The page that is being written.
struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn counters<L, N>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        each: impl IntoIterator<Item = (L, N)>,
    ) -> fmt::Result
    where
        L: EncodeLabelSet,
        N: prometheus_client::encoding::EncodeCounterValue,
    {
        let mut metric = self.0.encode_descriptor(name, help, unit, MetricType::Counter)?;
        for (labels, n) in each {
            metric.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&n, None)?;
        }
        Ok(())
    }

    fn gauges<L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<&Unit>,
        each: impl IntoIterator<Item = (L, f64)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, unit, MetricType::Gauge)?;
        for (labels, value) in each {
            metric.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    fn gauge(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: u64) -> fmt::Result {
        self.gauges(name, help, unit, [(NO_LABELS, value as f64)])
    }

    fn histograms<'h, L: EncodeLabelSet>(
        &mut self,
        name: &str,
        help: &str,
        each: impl IntoIterator<Item = (L, Vec<&'h Histogram>)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for (labels, of_threads) in each {
            let bounds = BOUNDS.iter().map(|micros| *micros as f64 / 1e6).chain([f64::INFINITY]);
            let of_bucket = |i: usize| of_threads.iter().map(|histogram| histogram.buckets[i].get()).sum::<u64>();
            let buckets: Vec<(f64, u64)> = bounds.enumerate().map(|(i, bound)| (bound, of_bucket(i))).collect();
            let count = buckets.iter().map(|(_, n)| n).sum();
            let nanoseconds: u64 = of_threads.iter().map(|histogram| histogram.nanoseconds.get()).sum();
            let sum = nanoseconds as f64 / 1e9;
            metric.encode_family(&labels)?.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{count, Counted, Phases, Route};
    use super::*;
    use std::time::Duration;

    fn exposed(how: Exposition) -> String {
        let metrics = Arc::new(Metrics::new(2));
        let hostile = metrics.routes.place("/a\"b\\{c}");
        let ms = Duration::from_millis;
        let phases = Some(Phases { until_answer: ms(30), handler: Some(ms(20)), write: ms(1) });
        let request = Counted { route: hostile, method: "GET", status: Some(200), whole: true, phases };
        let gone = Counted { route: Route::NONE, method: "BREW", status: None, whole: false, phases: None };
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let metrics = metrics.clone();
                std::thread::spawn(move || {
                    metrics.count_here(thread);
                    count(|cells| cells.request(&request));
                    count(|cells| cells.request(&gone));
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // this thread has no cells
        count(|cells| cells.request(&request));
        metrics.expose(Gauges { version: "1.2.3", ..Gauges::default() }, how)
    }

    #[test]
    fn threads_are_added_up_and_quotes_in_a_pattern_end_no_label() {
        let text = exposed(Exposition::OpenMetrics);
        let line = r#"drover_requests_total{route="/a\"b\\{c}",method="GET",status="2xx"} 2"#;
        assert!(text.lines().any(|l| l == line), "{text}");
        let line = r#"drover_requests_total{route="(none)",method="other",status="gone"} 2"#;
        assert!(text.lines().any(|l| l == line), "{text}");
        assert!(text.contains("# TYPE drover_requests counter\n") && text.ends_with("# EOF\n"), "{text}");
        assert!(text.contains("# UNIT drover_request_queue_seconds seconds\n"), "{text}");
        assert!(text.contains(r#"drover_build_info{version="1.2.3"} 1.0"#), "{text}");
    }

    #[test]
    fn a_time_is_in_the_bucket_of_the_next_bound() {
        let text = exposed(Exposition::OpenMetrics);
        let buckets = |name: &str| -> Vec<u64> {
            let of_name = |line: &&str| line.starts_with(name) && line.contains("/a");
            text.lines().filter(of_name).map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect()
        };
        // 20 ms: at most 25 ms, the seventh bound
        assert_eq!(buckets("drover_request_handler_seconds_bucket"), [vec![0; 6], vec![2; 11]].concat());
        // 10 ms is at most 10 ms
        assert_eq!(buckets("drover_request_queue_seconds_bucket"), [vec![0; 5], vec![2; 12]].concat());
        assert!(text.contains(r#"drover_request_duration_seconds_sum{route="/a\"b\\{c}"} 0.062"#), "{text}");
    }

    #[test]
    fn the_text_format_has_the_same_in_other_words() {
        let text = exposed(Exposition::Text);
        assert!(text.contains("# HELP drover_requests_total Requests that have ended.\n"), "{text}");
        assert!(text.contains("# TYPE drover_requests_total counter\n"), "{text}");
        assert!(text.contains("# TYPE drover_request_queue_seconds histogram\n"), "{text}");
        assert!(!text.contains("# UNIT") && !text.contains("# EOF"), "{text}");
    }

    #[test]
    fn open_metrics_is_for_clients_that_ask_for_it() {
        let scraper = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        assert_eq!(Exposition::wanted(scraper), Exposition::OpenMetrics);
        assert_eq!(Exposition::wanted("text/html, */*"), Exposition::Text);
        assert_eq!(Exposition::wanted(""), Exposition::Text);
    }
}
