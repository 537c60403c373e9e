//! TLS for the server's own listener: its certificates and keys, and how they are read anew. Not for what is said on a
//! connection: that is `TlsStream`, which stands between a socket and the transport.
//!
//! `settings` is what it is told, `files` reads, `config` makes of it what the library needs, `names` chooses a
//! certificate, `agreed` is what handlers are told, `dev` makes certificates for development.

mod agreed;
mod config;
mod dev;
mod files;
mod names;
mod settings;
mod stream;
mod watch;

pub use agreed::Agreed;
pub use dev::{self_signed, SelfSigned};
pub use settings::{ClientAuth, MinVersion, TlsSettings};
pub use stream::TlsStream;
pub use watch::watch;

use crate::client::RemoteAddress;
use crate::places::{Place, Places};
use http::HeaderValue;
use observe::{Level, Log};
use rustls::ServerConfig;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use watch::Stamp;

/// Of the connections that there may be, this part may be in handshakes: the others are for clients that have one
/// behind them.
const IN_HANDSHAKES: usize = 2;
/// And of these one address may have this part, though not less than a browser or two need.
const OF_ONE: usize = 4;
const LEAST_OF_ONE: usize = 32;

/// See the module.
pub struct Tls {
    settings: TlsSettings,
    /// for handshakes that begin
    config: RwLock<Arc<ServerConfig>>,
    /// what the files were like when they were read
    seen: Mutex<Vec<Option<Stamp>>>,
    handshakes: Arc<AtomicUsize>,
    /// of one address
    by_address: Arc<Places>,
    most_handshakes: usize,
    /// what browsers are told, if anything
    hsts: Option<HeaderValue>,
}

/// A handshake that is under way, until dropped.
pub struct Handshake {
    all: Arc<AtomicUsize>,
    _of_one: Option<Place>,
}

impl Drop for Handshake {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Relaxed);
    }
}

impl Tls {
    /// Reads all files.
    ///
    /// # Errors
    /// The setting, the file, and what is wrong with it.
    pub fn open(settings: TlsSettings, max_connections: usize, log: &Log) -> Result<Tls, String> {
        let seen = Mutex::new(watch::stamps(&settings));
        let ready = config::read(&settings)?;
        warn(log, &ready.warnings);
        let most_handshakes = (max_connections / IN_HANDSHAKES).max(1);
        let seconds = Some(settings.hsts as u64).filter(|_| settings.hsts > 0.0);
        let hsts = seconds.and_then(|seconds| HeaderValue::try_from(format!("max-age={seconds}")).ok());
        let config = RwLock::new(ready.config);
        let by_address = Places::new((most_handshakes / OF_ONE).max(LEAST_OF_ONE));
        Ok(Tls { settings, config, seen, handshakes: Arc::default(), by_address, most_handshakes, hsts })
    }

    /// Reads all files anew, for handshakes from now on. When anything is wrong with any of them, all stays as it was,
    /// and the log says why.
    pub fn reload(&self, log: &Log) {
        // before they are read: what changes meanwhile is seen the next time
        let stamps = watch::stamps(&self.settings);
        let changed = *self.seen() != stamps;
        *self.seen() = stamps;
        match config::read(&self.settings) {
            Ok(ready) => {
                warn(log, &ready.warnings);
                *self.config.write().unwrap_or_else(PoisonError::into_inner) = ready.config;
                if changed {
                    log.line(Level::Info, "TLS: the certificates are those in the files as they are now");
                }
            }
            Err(why) => log.line(Level::Error, &format!("TLS: the certificates from before are kept: {why}")),
        }
    }

    /// The value of `Strict-Transport-Security`, if browsers are to come by TLS only.
    pub fn hsts(&self) -> Option<&HeaderValue> {
        self.hsts.as_ref()
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Vec<Option<Stamp>>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn config(&self) -> Arc<ServerConfig> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A place for a handshake; `None` when as many are under way as there may be, of all or of this address.
    pub fn handshake(&self, of: Option<&RemoteAddress>) -> Option<Handshake> {
        let of_one = of.map(|address| self.by_address.take(address).ok_or(())).transpose().ok()?;
        let one_more = |n| (n < self.most_handshakes).then_some(n + 1);
        self.handshakes.fetch_update(Relaxed, Relaxed, one_more).ok()?;
        Some(Handshake { all: self.handshakes.clone(), _of_one: of_one })
    }

    /// Whether half of the places for handshakes are taken: then each gets less time.
    pub fn is_crowded(&self) -> bool {
        2 * self.handshakes.load(Relaxed) > self.most_handshakes
    }
}

fn warn(log: &Log, warnings: &[String]) {
    warnings.iter().for_each(|text| log.line(Level::Warn, text));
}
