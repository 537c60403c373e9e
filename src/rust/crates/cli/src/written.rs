//! Files beside an app that the app itself writes, or R, or the server. To load the app anew for such a change would
//! have it written again, for ever. They are told by their names, and where these say nothing by what they do: a file
//! that changes again and again as soon as the app has been loaded is the app's. Neighbour: `watch`, which asks.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Logs, databases, what editors and compilers leave.
const EXTENSIONS: [&str; 21] = [
    "out", "err", "pid", "lock", "sock", "tmp", "temp", "bak", "swp", "swo", "orig", "part", "sqlite", "sqlite3", "db",
    "db3", "duckdb", "wal", "o", "so", "dll",
];
/// Of a database that is open, and of editors.
const ENDINGS: [&str; 4] = ["-wal", "-shm", "-journal", "~"];
/// R's pictures when no device is open, what a crash leaves, and where a shell is told to write.
const NAMES: [&str; 3] = ["Rplots.pdf", "core", "log"];
/// Folders whose data are somebody's output.
const FOLDERS: [&str; 6] = ["log", "logs", "tmp", "temp", "cache", "uploads"];

/// Whether a file is written by a program, by its name and the folders that it is in below that of the app.
pub(crate) fn is_output(path: &Path) -> bool {
    let mut parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let Some(name) = parts.pop() else { return false };
    let lower = name.to_ascii_lowercase();
    let dotted: Vec<_> = lower.split('.').skip(1).collect();
    // access.log.1, too
    dotted.contains(&"log")
        || dotted.last().is_some_and(|extension| EXTENSIONS.contains(extension))
        || ENDINGS.iter().any(|ending| lower.ends_with(ending))
        || NAMES.contains(&&*name)
        || parts.iter().any(|folder| FOLDERS.contains(&&*folder.to_ascii_lowercase()))
}

/// A change that comes so soon after the app was loaded, or pages were, may have come of that. Pages ask for what is
/// new each second, and the handler of one takes its time.
const SOON: Duration = Duration::from_secs(5);
/// So often it has, without a pause.
const OFTEN: u32 = 3;

/// What is known of files by what they do. Shared by the thread that sees changes and the one that acts on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Habits(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// when the last change was dealt with; `None` while it is
    done: Option<Instant>,
    /// how often each has changed soon after that, since something changed later
    counts: HashMap<PathBuf, u32>,
    own: HashSet<PathBuf>,
}

impl Habits {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // no thread panics while holding the lock
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The app is being loaded.
    pub(crate) fn loads(&self) {
        self.lock().done = None;
    }

    /// It has been, or pages are to be.
    pub(crate) fn has_loaded(&self, at: Instant) {
        self.lock().done = Some(at);
    }

    /// Whether the app writes it.
    pub(crate) fn know(&self, path: &Path) -> bool {
        self.lock().own.contains(path)
    }

    /// Takes those that the app writes itself out of files that have changed. Those that this is said of for the first
    /// time.
    pub(crate) fn sift(&self, changed: &mut Vec<PathBuf>, at: Instant) -> Vec<PathBuf> {
        let state = &mut *self.lock();
        changed.retain(|path| !state.own.contains(path));
        if changed.is_empty() {
            return Vec::new();
        }
        if state.done.is_some_and(|done| at.saturating_duration_since(done) >= SOON) {
            state.counts.clear();
            return Vec::new();
        }
        let (own, others): (Vec<_>, Vec<_>) = std::mem::take(changed).into_iter().partition(|path| {
            let count = state.counts.entry(path.clone()).or_default();
            *count += 1;
            *count >= OFTEN
        });
        *changed = others;
        state.own.extend(own.iter().cloned());
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_write_is_told_by_its_name() {
        for output in [
            "a.log",
            "access.log.1",
            "app.LOG.gz",
            "data.sqlite",
            "data.sqlite-wal",
            "a.db-journal",
            "a.csv~",
            "x.tmp",
            "src/a.o",
            "Rplots.pdf",
            "log",
            "logs/a.csv",
            "cache/deep/a.rds",
        ] {
            assert!(is_output(Path::new(output)), "{output}");
        }
        for data in ["a.csv", "model.rds", "data/a.json", "logo", "catalog.txt", "README", "dialog.csv", "db.csv"] {
            assert!(!is_output(Path::new(data)), "{data}");
        }
    }

    #[test]
    fn what_changes_as_often_as_the_app_is_loaded_is_the_apps() {
        let habits = Habits::default();
        let (start, cache, data) = (Instant::now(), PathBuf::from("cache.rds"), PathBuf::from("data.csv"));
        let soon = |n: u32| start + Duration::from_secs(n.into());
        let sift = |names: &[&PathBuf], at| {
            let mut changed: Vec<PathBuf> = names.iter().copied().cloned().collect();
            let new = habits.sift(&mut changed, at);
            (changed, new)
        };
        // while it is loaded, and twice after that
        assert_eq!(sift(&[&cache], soon(0)), (vec![cache.clone()], vec![]));
        habits.has_loaded(soon(1));
        assert_eq!(sift(&[&cache, &data], soon(2)), (vec![cache.clone(), data.clone()], vec![]));
        habits.has_loaded(soon(3));
        assert_eq!(sift(&[&cache], soon(4)), (vec![], vec![cache.clone()]));
        assert_eq!(sift(&[&data, &cache], soon(4)), (vec![data.clone()], vec![]), "it stays so, and is told once");
        // a developer at work: changes in a row, but not as soon as the app is there
        for n in [20, 30, 40, 50, 60] {
            habits.has_loaded(soon(n));
            assert_eq!(sift(&[&data], soon(n + 6)).0, std::slice::from_ref(&data));
        }
        // two that take turns, and one that is known and says nothing of others
        let (one, other) = (PathBuf::from("one.rds"), PathBuf::from("other.rds"));
        for n in [70, 72, 74] {
            habits.has_loaded(soon(n));
            let is_last = n == 74;
            assert_eq!(sift(&[&one], soon(n + 1)).1.is_empty(), !is_last);
            assert_eq!(sift(&[&other, &cache], soon(n + 1)).1.is_empty(), !is_last);
            assert!(sift(&[&cache], soon(n + 1)).0.is_empty());
        }
        assert!(habits.know(&one) && habits.know(&other) && !habits.know(&data));
    }
}
