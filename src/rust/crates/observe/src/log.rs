//! The log: one line for each event, written by a thread of its own so that a slow disk or terminal never holds up a
//! request. When the writer falls behind, lines are dropped and counted. Of what clients do wrong, which they can do as
//! often as they like, a few lines a second are written, and the others counted.
//!
//! A file that was moved or removed, as programs that rotate logs do, is opened again by its name: when [`Log::reopen`]
//! says so, and within a second of the next line.
//!
//! Never a body, an `Authorization` or a `Cookie`. How a record reads is in `look`.

use crate::console::Console;
use crate::look::{Format, Look};
use crate::recent::{Recent, RecentError};
use crate::record::{Level, Record};
use exchange::now;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// Lines that may wait for the writer. At 200 bytes a line: 800 kB.
const WAITING: usize = 4096;

/// Lines about clients that may come at once, and the ms for which each of them counts: 10 a second, or 200 MB a day.
const CLIENTS_AT_ONCE: u64 = 100;
const CLIENT_COUNTS_FOR: u64 = 100;
/// The writer says how many it has left out when so much time has passed since the first line.
const SUM_UP_AFTER: Duration = Duration::from_secs(1);

/// Between two looks whether the file is still where it was.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// Standard error, where people read it.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    /// what takes its place in an interactive session
    pub console: Option<Console>,
    /// whether colours are wanted, if it is a terminal
    pub colours: bool,
}

/// How records are written, and which.
#[derive(Debug, Clone, Copy, Default)]
pub struct Manner {
    /// for people or for programs
    pub format: Format,
    /// those below are left out
    pub least: Level,
}

/// Handle to the log; cheap to clone. The writer ends, with everything written, when `close` is called.
#[derive(Debug, Clone)]
pub struct Log {
    inner: Arc<Inner>,
    /// the app that says it, where there are several
    app: Option<Arc<str>>,
}

#[derive(Debug)]
struct Inner {
    /// those below are neither written nor kept
    least: Level,
    /// `None` when nothing is written
    lines: Mutex<Option<SyncSender<Item>>>,
    dropped: AtomicU64,
    clients: Arc<Allowance>,
    writer: Mutex<Option<JoinHandle<()>>>,
    recent: Recent,
    on_error: RwLock<Vec<OnError>>,
}

/// Is told of errors, by the threads that log them.
struct OnError(Box<dyn Fn(&RecentError) + Send + Sync>);

impl fmt::Debug for OnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnError")
    }
}

/// What the writer is given.
#[derive(Debug)]
enum Item {
    Record(Record),
    /// as they are
    Lines(String),
    Reopen,
}

/// Where lines go.
enum Target {
    Stderr(Look),
    /// of an interactive session
    Console(Console, Look),
    File {
        file: File,
        path: PathBuf,
        looked: Instant,
        look: Look,
    },
}

impl Target {
    fn open(target: &str, screen: Screen, format: Format) -> io::Result<Self> {
        let look = |for_people| if format == Format::Json { Look::Json } else { for_people };
        match screen.console {
            Some(console) if target == "stderr" => {
                return Ok(Target::Console(console, look(Look::screen(screen.colours))));
            }
            None if target == "stderr" => return Ok(Target::Stderr(look(Look::of_stderr(screen.colours)))),
            _ => {}
        }
        let path = PathBuf::from(target);
        Ok(Target::File { file: append_to(&path)?, path, looked: Instant::now(), look: look(Look::Line) })
    }

    /// How records look there.
    fn look(&self) -> Look {
        match self {
            Target::Stderr(look) | Target::Console(_, look) | Target::File { look, .. } => *look,
        }
    }

    fn write(&mut self, text: String) {
        // nowhere left to complain when the log itself cannot be written
        let _ = match self {
            Target::Stderr(_) => io::stderr().write_all(text.as_bytes()),
            Target::Console(console, _) => {
                console.write(text);
                Ok(())
            }
            Target::File { looked, .. } => {
                if looked.elapsed() >= LOOK_AFTER {
                    self.reopen();
                }
                let Target::File { file, .. } = self else { return };
                file.write_all(text.as_bytes())
            }
        };
    }

    /// Opens the file again if its path now names another file, or none. If that fails, the old file stays in use.
    fn reopen(&mut self) {
        let Target::File { file, path, looked, .. } = self else { return };
        *looked = Instant::now();
        let is_the_same = match (file.metadata(), fs::metadata(&*path)) {
            (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
            _ => false,
        };
        if is_the_same {
            return;
        }
        if let Ok(new) = append_to(path) {
            *file = new;
        }
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

/// How many lines about clients may be written.
#[derive(Debug, Default)]
struct Allowance {
    /// when those that were written count no more, on the clock of [`now`]
    counts_until: AtomicU64,
    left_out: AtomicU64,
}

impl Allowance {
    /// Whether another one may be.
    fn take(&self, now: u64) -> bool {
        let most = now + (CLIENTS_AT_ONCE - 1) * CLIENT_COUNTS_FOR;
        let next = |until: u64| (until <= most).then(|| until.max(now) + CLIENT_COUNTS_FOR);
        let may = self.counts_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok();
        if !may {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        may
    }

    /// What is to be said of those that were not written.
    fn sum_up(&self) -> Option<Record> {
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        (left_out > 0).then(|| {
            let most = 1000 / CLIENT_COUNTS_FOR;
            let text = format!("{left_out} more lines about clients left out: {most} a second are written");
            Record { at: SystemTime::now(), level: Level::Warn, dropped: 0, worker: None, text }
        })
    }
}

/// The writer thread. Writes the summary of left-out lines on time even if no further record arrives.
fn write_all(mut out: Target, lines: &Receiver<Item>, clients: &Allowance) {
    let mut sum_up_at = None;
    loop {
        let item = match sum_up_at {
            None => lines.recv().map_err(RecvTimeoutError::from),
            Some(at) => lines.recv_timeout(Instant::saturating_duration_since(&at, Instant::now())),
        };
        let now = Instant::now();
        let has_ended = matches!(item, Err(RecvTimeoutError::Disconnected));
        match item {
            Ok(Item::Record(record)) => {
                out.write(out.look().write(&record));
                sum_up_at.get_or_insert(now + SUM_UP_AFTER);
            }
            Ok(Item::Lines(text)) => {
                out.write(text);
                sum_up_at.get_or_insert(now + SUM_UP_AFTER);
            }
            Ok(Item::Reopen) => out.reopen(),
            Err(_) => {}
        }
        if has_ended || sum_up_at.is_some_and(|at| at <= now) {
            let sum = clients.sum_up();
            sum_up_at = sum.is_some().then(|| now + SUM_UP_AFTER);
            if let Some(record) = sum {
                out.write(out.look().write(&record));
            }
        }
        if has_ended {
            return;
        }
    }
}

impl Inner {
    fn new(
        least: Level,
        lines: Option<SyncSender<Item>>,
        clients: Arc<Allowance>,
        writer: Option<JoinHandle<()>>,
    ) -> Self {
        Inner {
            least,
            lines: Mutex::new(lines),
            dropped: AtomicU64::new(0),
            clients,
            writer: Mutex::new(writer),
            recent: Recent::default(),
            on_error: RwLock::default(),
        }
    }
}

impl Log {
    /// Opens the log: `"stderr"`, `"none"`, or the path of a file to append to. `screen` is about standard error.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(target: &str, screen: Screen) -> io::Result<Self> {
        Log::open_so(target, screen, Manner::default())
    }

    /// The same, with records that are written so.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open_so(target: &str, screen: Screen, manner: Manner) -> io::Result<Self> {
        if target == "none" {
            // errors are kept all the same: see `recent`
            return Ok(Log::with(Arc::new(Inner::new(Level::Error, None, Arc::default(), None))));
        }
        let out = Target::open(target, screen, manner.format)?;
        let (lines, waiting) = sync_channel(WAITING);
        let clients = Arc::<Allowance>::default();
        let counted = clients.clone();
        let writer =
            std::thread::Builder::new().name("drover-log".into()).spawn(move || write_all(out, &waiting, &counted))?;
        Ok(Log::with(Arc::new(Inner::new(manner.least, Some(lines), clients, Some(writer)))))
    }

    /// Logs what a client did wrong, or has it counted when there is too much of that.
    pub fn of_client(&self, text: impl FnOnce() -> String) {
        if self.inner.least <= Level::Warn && self.inner.clients.take(now()) {
            self.line(Level::Warn, &text());
        }
    }

    /// The same, and its records are those of one of several apps.
    pub fn of_app(&self, name: &str) -> Self {
        Log { inner: self.inner.clone(), app: Some(name.into()) }
    }

    /// Writes whole lines, as they are.
    pub fn lines(&self, text: String) {
        self.send(|_| Item::Lines(text));
    }

    /// Logs one event.
    pub fn line(&self, level: Level, text: &str) {
        self.record(level, None, text);
    }

    /// Logs what a worker process says.
    pub fn of_worker(&self, level: Level, pid: Option<i32>, text: &str) {
        self.record(level, pid, text);
    }

    fn with(inner: Arc<Inner>) -> Self {
        Log { inner, app: None }
    }

    fn record(&self, level: Level, worker: Option<i32>, text: &str) {
        if level < self.inner.least {
            return;
        }
        let text = self.app.as_ref().map_or_else(|| text.to_owned(), |app| format!("[{app}] {text}"));
        let record = |dropped| Record { at: SystemTime::now(), level, dropped, worker, text: text.clone() };
        if level == Level::Error {
            let error = self.inner.recent.add(&record(0));
            let told = self.inner.on_error.read().unwrap_or_else(PoisonError::into_inner);
            told.iter().for_each(|OnError(tell)| tell(&error));
        }
        self.send(|inner| Item::Record(record(inner.dropped.swap(0, Ordering::Relaxed))));
    }

    /// Has each error told as well, at once, by the thread that logs it.
    pub fn on_error(&self, tell: impl Fn(&RecentError) + Send + Sync + 'static) {
        let mut told = self.inner.on_error.write().unwrap_or_else(PoisonError::into_inner);
        told.push(OnError(Box::new(tell)));
    }

    /// The latest errors, oldest first: at most `most`, and no more than are kept.
    pub fn recent_errors(&self, most: usize) -> Vec<RecentError> {
        self.inner.recent.last(most)
    }

    /// Gives the writer an item, or counts it as dropped, with those that it was to tell of.
    fn send(&self, item: impl FnOnce(&Inner) -> Item) {
        let inner = &*self.inner;
        let Ok(lines) = inner.lines.lock() else { return };
        let Some(lines) = lines.as_ref() else { return };
        if let Err(TrySendError::Full(item)) = lines.try_send(item(inner)) {
            let dropped = if let Item::Record(record) = item { record.dropped } else { 0 };
            inner.dropped.fetch_add(dropped + 1, Ordering::Relaxed);
        }
    }

    /// Has a file opened again whose name is another one's by now, once what waits is written.
    pub fn reopen(&self) {
        let lines = self.inner.lines.lock().ok().and_then(|lines| lines.clone());
        if let Some(lines) = lines {
            // a full channel means lines to come, and the file is looked at with one of them
            let _ = lines.try_send(Item::Reopen);
        }
    }

    /// Writes what waits and ends the writer.
    pub fn close(&self) {
        if let Ok(mut lines) = self.inner.lines.lock() {
            *lines = None;
        }
        let writer = self.inner.writer.lock().ok().and_then(|mut w| w.take());
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use patience::until;

    #[test]
    fn a_record_is_a_line_of_a_file_and_nothing_after_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = Log::open(path.to_str().unwrap(), Screen::default()).unwrap();
        log.line(Level::Warn, "GET /\n\u{1f}f(x)");
        log.close();
        log.line(Level::Warn, "after the end: nowhere");
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.lines().count(), 1);
        assert!(text.ends_with("drover WARN GET /\\n trace=f(x)\n"), "{text}");
    }

    #[test]
    fn a_console_takes_the_place_of_standard_error_and_of_nothing_else() {
        let console = Console::new(|| {});
        let screen = Screen { console: Some(console.clone()), colours: false };
        let log = Log::open("stderr", screen.clone()).unwrap();
        log.line(Level::Warn, "heard");
        log.close();
        assert!(console.take().is_some_and(|text| text.contains("heard")));
        Log::open("none", screen).unwrap().line(Level::Warn, "not heard");
        assert_eq!(console.take(), None);
    }

    #[test]
    fn errors_are_kept_even_where_nothing_is_written() {
        let log = Log::open("none", Screen::default()).unwrap();
        log.line(Level::Warn, "a warning");
        log.of_worker(Level::Error, Some(4711), "an error");
        let kept = log.recent_errors(10);
        assert_eq!((kept.len(), kept[0].message.as_str(), kept[0].worker), (1, "an error", Some(4711)));
    }

    #[test]
    fn a_file_that_was_moved_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let (path, moved) = (dir.path().join("log"), dir.path().join("log.1"));
        let log = Log::open(path.to_str().unwrap(), Screen::default()).unwrap();
        log.line(Level::Info, "first");
        until("the first line", || !fs::read(&path).unwrap().is_empty());
        fs::rename(&path, &moved).unwrap();
        // told
        log.reopen();
        log.line(Level::Info, "second");
        log.reopen();
        log.line(Level::Info, "third");
        let lines = |path: &Path| fs::read_to_string(path).unwrap_or_default().lines().count();
        until("two more", || lines(&path) == 2);
        assert_eq!(lines(&moved), 1);
        // and not told, but within a second: the log's own clock
        fs::remove_file(&path).unwrap();
        std::thread::sleep(LOOK_AFTER);
        log.line(Level::Info, "fourth");
        log.close();
        assert_eq!(lines(&path), 1);
    }

    /// How many lines of those about clients were written, and how many the log says it has left out.
    fn written_and_left_out(text: &str) -> (u64, u64) {
        let left_out = |line: &str| {
            let (_, rest) = line.split_once("drover WARN ")?;
            rest.split_once(" more lines about clients left out: 10 a second are written")?.0.parse::<u64>().ok()
        };
        let left_out: Vec<_> = text.lines().map(left_out).collect();
        (left_out.iter().filter(|n| n.is_none()).count() as u64, left_out.iter().flatten().sum())
    }

    #[test]
    fn of_what_clients_do_a_few_lines_are_written_and_the_others_counted() {
        const ALL: u64 = 20_000;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = Log::open(path.to_str().unwrap(), Screen::default()).unwrap();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let log = log.clone();
                std::thread::spawn(move || (0..ALL / 4).for_each(|_| log.of_client(|| "wrong".to_owned())))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let text = || std::fs::read_to_string(&path).unwrap();
        // without anything else being logged
        until("all are written or counted", || {
            let (written, left_out) = written_and_left_out(&text());
            written + left_out >= ALL
        });
        let (written, left_out) = written_and_left_out(&text());
        assert_eq!(written + left_out, ALL);
        // ten a second: it may have taken twenty
        assert!((CLIENTS_AT_ONCE..CLIENTS_AT_ONCE + 200).contains(&written), "{written}");
        // what others say is not held up by it, nor is what was left out forgotten at the end
        (0..1000).for_each(|_| log.of_client(|| "wrong".to_owned()));
        log.line(Level::Warn, "heard");
        log.close();
        assert!(text().contains("drover WARN heard\n"));
        let (written, left_out) = written_and_left_out(&text());
        assert_eq!(written + left_out, ALL + 1000 + 1);
    }

    #[test]
    fn after_a_while_lines_about_clients_may_come_at_once_again() {
        let allowance = Allowance::default();
        let taken = |now| (0..1000).filter(|_| allowance.take(now)).count() as u64;
        let now = 1_000_000;
        assert_eq!(taken(now), CLIENTS_AT_ONCE);
        assert_eq!((taken(now), taken(now + 99), taken(now + 100), taken(now + 1100)), (0, 0, 1, 10));
        assert_eq!(taken(now + 1_000_000), CLIENTS_AT_ONCE);
    }
}
