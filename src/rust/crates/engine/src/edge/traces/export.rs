//! The thread that sends spans to a collector, many at a time. When there is no answer, or another one than 200, they
//! are dropped and counted, and the next are not tried before a pause; the log says so once, and when it works again.

use super::span::{self, Span};
use super::target::Target;
use crate::edge::fetch::{Plain, Source};
use observe::metrics::{Metrics, Routes};
use observe::{Level, Log};
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most spans that wait to be sent, some 2 MB: further ones are dropped.
const MOST_WAITING: usize = 4096;
/// Spans of one request to the collector.
const MOST_AT_ONCE: usize = 512;
/// The longest that a span waits for others to be sent with.
const EVERY: Duration = Duration::from_secs(1);
/// Pauses after a failure: the first, doubled with each up to the last.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// What the last spans have when the server ends.
const AT_THE_END: Duration = Duration::from_secs(2);

/// Where requests leave their spans. The last are sent when this is dropped.
#[derive(Debug)]
pub struct Traces {
    spans: Option<SyncSender<Span>>,
    ended: Mutex<Receiver<()>>,
    metrics: Option<Arc<Metrics>>,
    /// what has the patterns of routes
    pub routes: Arc<Routes>,
}

impl Traces {
    /// Sends to this target from now on.
    ///
    /// # Errors
    /// A text that says what is wrong with the target, or with the system.
    pub fn start(target: Target, log: Log, metrics: Option<Arc<Metrics>>) -> Result<Traces, String> {
        let source = Source::new(&target.url, target.ca.as_deref(), Plain::Anywhere)?;
        let (spans, waiting) = sync_channel(MOST_WAITING);
        let (done, ended) = sync_channel(1);
        let exporter = Exporter { target, source, log, metrics: metrics.clone(), failures: 0, lost: 0, again_at: None };
        std::thread::Builder::new()
            .name("drover-traces".into())
            .spawn(move || {
                exporter.run(&waiting);
                // fails when the server no longer waits
                let _ = done.send(());
            })
            .map_err(|e| e.to_string())?;
        let routes = metrics.as_ref().map(|metrics| metrics.routes.clone()).unwrap_or_default();
        Ok(Traces { spans: Some(spans), ended: Mutex::new(ended), metrics, routes })
    }

    /// Leaves a span, which never waits: it is dropped and counted when there is no room.
    pub fn add(&self, span: Span) {
        let left = self.spans.as_ref().is_some_and(|spans| spans.try_send(span).is_ok());
        if let Some(metrics) = self.metrics.as_ref().filter(|_| !left) {
            metrics.spans.dropped(1);
        }
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        self.spans = None;
        // an error means that the collector takes too long: what it has not taken is lost
        let _ = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner).recv_timeout(AT_THE_END);
    }
}

struct Exporter {
    target: Target,
    source: Source,
    log: Log,
    metrics: Option<Arc<Metrics>>,
    /// since it worked last
    failures: u32,
    /// spans that were dropped since then
    lost: u64,
    /// not before, after a failure
    again_at: Option<Instant>,
}

impl Exporter {
    fn run(mut self, waiting: &Receiver<Span>) {
        while let Ok(first) = waiting.recv() {
            let mut batch = vec![first];
            let until = Instant::now() + EVERY;
            let mut ends = false;
            while batch.len() < MOST_AT_ONCE {
                match waiting.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(span) => batch.push(span),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => {
                        ends = true;
                        break;
                    }
                }
            }
            self.send(&batch, ends);
        }
    }

    fn send(&mut self, batch: &[Span], ends: bool) {
        let n = batch.len() as u64;
        if !ends && self.again_at.is_some_and(|at| at > Instant::now()) {
            return self.drop(n);
        }
        match self.source.post(&span::request(&self.target.resource, batch), &self.target.headers) {
            Ok(()) => {
                if self.failures > 0 {
                    let text = format!("traces are sent again; {} spans were dropped", self.lost);
                    self.log.line(Level::Info, &text);
                }
                (self.failures, self.lost, self.again_at) = (0, 0, None);
                if let Some(metrics) = &self.metrics {
                    metrics.spans.exported(n);
                }
            }
            Err(why) => {
                if self.failures == 0 {
                    self.log.line(Level::Warn, &format!("traces cannot be sent, and are dropped: {why}"));
                }
                let pause = PAUSE.0 * 2u32.pow(self.failures.min(5));
                self.again_at = Some(Instant::now() + pause.min(PAUSE.1));
                self.failures += 1;
                self.drop(n);
            }
        }
    }

    fn drop(&mut self, n: u64) {
        self.lost += n;
        if let Some(metrics) = &self.metrics {
            metrics.spans.dropped(n);
        }
    }
}

/// The traces of a server: `None` where nothing is to be sent.
///
/// # Errors
/// What is wrong with the setting. Variables that are wrong are told in the log: they may be meant for others.
pub fn of_server(
    setting: Option<&str>,
    variables: &BTreeMap<String, String>,
    log: &Log,
    metrics: Option<&Arc<Metrics>>,
) -> io::Result<Option<Traces>> {
    if let Err(why) = exchange::Sampler::install(variables) {
        log.line(Level::Warn, &why);
    }
    let found = Target::find(setting, |name| variables.get(name).cloned());
    let started =
        found.and_then(|target| target.map(|target| Traces::start(target, log.clone(), metrics.cloned())).transpose());
    match started {
        Err(why) if setting.is_none() => {
            log.line(Level::Warn, &format!("traces are not sent: {why}"));
            Ok(None)
        }
        started => started.map_err(io::Error::other),
    }
}
