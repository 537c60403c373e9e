//! Notices renewed certificates: a task looks at their files now and then, and reads them again when they have changed
//! and are no longer being written. So no signal is needed, which the program that renews them may not be allowed to
//! send.

use super::{Tls, TlsSettings};
use observe::Log;
use rustix::fs::stat;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(10);

/// What tells a file from one that took its place, or was written anew: device, number, size, and when.
pub type Stamp = (u64, u64, i64, i64, u64);

/// Of each file, as far as there is one.
pub fn stamps(settings: &TlsSettings) -> Vec<Option<Stamp>> {
    let stamp = |file| {
        let of = stat(file).ok()?;
        Some((of.st_dev, of.st_ino, of.st_size, of.st_mtime, of.st_mtime_nsec as u64))
    };
    settings.files().map(stamp).collect()
}

/// The task, of one I/O thread. Runs as long as that.
pub async fn watch(tls: Arc<Tls>, log: Log) {
    let mut before = tls.seen().clone();
    loop {
        tokio::time::sleep(EVERY).await;
        let now = stamps(&tls.settings);
        let is_still = std::mem::replace(&mut before, now) == before;
        if is_still && before != *tls.seen() {
            let (tls, log) = (tls.clone(), log.clone());
            // keys take a while to be checked, and connections are not to wait for that
            let _ = tokio::task::spawn_blocking(move || tls.reload(&log)).await;
        }
    }
}
