//! Sets of keys at an address (RFC 7517), as identity providers have them. The first is fetched when the app is loaded,
//! and without it the app is not; then a thread fetches it again and again. A set that cannot be had, or has no key,
//! does not take the place of the one before.
//!
//! A set outlives the generation of the app that has asked for it, as long as the next one asks for the same.

use super::config::JwksConfig;
use crate::edge::fetch::{Plain, Source};
use identity::jwt::{Algorithm, Keys};
use observe::{Level, Log};
use std::fmt;
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Between two times that a set is fetched because of tokens with keys that it does not have: anybody can send those.
const GAP: Duration = Duration::from_secs(10);

/// A set at an address.
pub struct KeySet {
    config: JwksConfig,
    algorithms: Vec<Algorithm>,
    source: Source,
    keys: RwLock<Arc<Versioned>>,
    /// asks for the set to be fetched; the thread ends when it is gone
    asks: SyncSender<()>,
}

/// Keys, and the how manieth they are: what was found to be right by others has to be looked at again.
pub struct Versioned {
    pub version: u64,
    pub keys: Keys,
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySet").field("url", &self.config.url).finish_non_exhaustive()
    }
}

/// The sets of an app.
#[derive(Debug, Default)]
pub struct KeySets(Vec<Arc<KeySet>>);

impl KeySets {
    /// The set of this configuration: that of this app, or of the one before, or else it is fetched.
    ///
    /// # Errors
    /// A text that says why it cannot be had.
    pub fn get(
        &mut self,
        config: &JwksConfig,
        algorithms: &[Algorithm],
        before: Option<&KeySets>,
        log: &Log,
    ) -> Result<Arc<KeySet>, String> {
        let known = before.into_iter().flat_map(|before| &before.0).chain(&self.0);
        let same = known.into_iter().find(|set| set.config == *config && set.algorithms == algorithms).cloned();
        let set = same.map_or_else(|| KeySet::fetch(config, algorithms, log), Ok)?;
        self.0.push(set.clone());
        Ok(set)
    }
}

impl KeySet {
    fn fetch(config: &JwksConfig, algorithms: &[Algorithm], log: &Log) -> Result<Arc<Self>, String> {
        let source = Source::new(&config.url, config.ca.as_deref(), Plain::ThisMachine)?;
        let keys = keys_from(&source, &config.url, algorithms)?;
        // one wish is as good as several
        let (asks, asked) = sync_channel(1);
        let set = Arc::new(KeySet {
            config: config.clone(),
            algorithms: algorithms.to_vec(),
            source,
            keys: RwLock::new(Arc::new(Versioned { version: 0, keys })),
            asks,
        });
        let (known, log) = (Arc::downgrade(&set), log.clone());
        let refresh = Duration::from_secs_f64(config.refresh);
        let run = move || keep_fresh(&known, &asked, refresh, &log);
        let thread = thread::Builder::new().name("drover-jwks".to_owned()).spawn(run);
        thread.map_err(|e| format!("a thread cannot be started: {e}"))?;
        Ok(set)
    }

    /// The keys now.
    pub fn keys(&self) -> Arc<Versioned> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The keys that are there now, which are fetched: for threads that may wait.
    ///
    /// # Errors
    /// A text that says why they cannot be had; those from before are kept.
    pub fn renew(&self) -> Result<Arc<Versioned>, String> {
        let keys = keys_from(&self.source, &self.config.url, &self.algorithms)?;
        let mut current = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(Versioned { version: current.version + 1, keys });
        Ok(current.clone())
    }

    /// A token names a key that is not among them: it may be there by now.
    pub fn ask(&self) {
        // when it is full, that was asked before
        let _ = self.asks.try_send(());
    }
}

fn keys_from(source: &Source, url: &str, algorithms: &[Algorithm]) -> Result<Keys, String> {
    Keys::of_set(&source.fetch()?, algorithms).map_err(|e| format!("{url}: {e}"))
}

/// Fetches the set in time, and when it is asked for, as long as somebody has it.
fn keep_fresh(known: &Weak<KeySet>, asked: &Receiver<()>, refresh: Duration, log: &Log) {
    let mut last = Instant::now();
    let mut due = last + refresh;
    let mut failed = false;
    loop {
        let wait = due.saturating_duration_since(Instant::now());
        match asked.recv_timeout(wait) {
            // however many ask: when it is time, it is fetched
            Ok(()) if !wait.is_zero() => {
                due = due.min(last + GAP);
                continue;
            }
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let Some(set) = known.upgrade() else { return };
        let renewed = set.renew();
        last = Instant::now();
        match renewed {
            Ok(_) => {
                due = last + refresh;
                if std::mem::take(&mut failed) {
                    log.line(Level::Info, &format!("{}: its keys can be had again", set.config.url));
                }
            }
            Err(why) => {
                // soon again, as keys may be about to change
                due = last + refresh.min(6 * GAP);
                failed = true;
                log.line(Level::Warn, &format!("the keys from before are kept: {why}"));
            }
        }
    }
}

/// Whether a key with which signatures of this algorithm are checked cannot make them: such keys may be had by all.
pub fn is_public(algorithm: Algorithm) -> bool {
    !matches!(algorithm, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512)
}
