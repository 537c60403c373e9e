//! The log: one line for each event, written by a thread of its own so that a slow disk or terminal never holds up a
//! request. When the writer falls behind, lines are dropped and counted.
//!
//! Never a body, an `Authorization` or a `Cookie`; control characters are escaped, so a line is a line whatever a client sent.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, SyncSender, TrySendError};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::SystemTime;

/// Lines that may wait for the writer. At 200 bytes a line: 800 kB.
const WAITING: usize = 4096;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// news
    Info,
    /// a client did something wrong
    Warn,
    /// a handler or the server did
    Error,
}

impl Level {
    /// By the number that others give it: 0 news, 1 a client's fault, 2 and above a handler's or the server's.
    pub fn from_number(number: u32) -> Self {
        match number {
            0 => Level::Info,
            1 => Level::Warn,
            _ => Level::Error,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Level::Info => "INFO",
            Level::Warn => "WARN",
            Level::Error => "ERROR",
        }
    }
}

/// Handle to the log; cheap to clone. The writer ends, with everything written, when `close` is called.
#[derive(Debug, Clone)]
pub struct Log(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    lines: Mutex<Option<SyncSender<String>>>,
    dropped: AtomicU64,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Log {
    /// Opens the log: `"stderr"`, `"none"`, or the path of a file to append to.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(target: &str) -> io::Result<Self> {
        let out: Box<dyn Write + Send> = match target {
            "none" => return Ok(Log(None)),
            "stderr" => Box::new(io::stderr()),
            path => Box::new(OpenOptions::new().create(true).append(true).open(path)?),
        };
        let (lines, waiting) = sync_channel::<String>(WAITING);
        let writer = std::thread::Builder::new().name("drover-log".into()).spawn(move || {
            let mut out = out;
            for line in waiting {
                // nowhere left to complain when the log itself cannot be written
                let _ = out.write_all(line.as_bytes());
            }
            let _ = out.flush();
        })?;
        Ok(Log(Some(Arc::new(Inner {
            lines: Mutex::new(Some(lines)),
            dropped: AtomicU64::new(0),
            writer: Mutex::new(Some(writer)),
        }))))
    }

    /// Logs one event.
    pub fn line(&self, level: Level, text: &str) {
        let Some(inner) = &self.0 else { return };
        let Ok(lines) = inner.lines.lock() else { return };
        let Some(lines) = lines.as_ref() else { return };
        let dropped = inner.dropped.swap(0, Ordering::Relaxed);
        let mut line = format!("{} drover {} ", humantime::format_rfc3339_millis(SystemTime::now()), level.name());
        if dropped > 0 {
            let _ = write!(line, "({dropped} lines dropped before this one) ");
        }
        escape_into(text, &mut line);
        line.push('\n');
        if let Err(TrySendError::Full(_)) = lines.try_send(line) {
            inner.dropped.fetch_add(dropped + 1, Ordering::Relaxed);
        }
    }

    /// Writes what waits and ends the writer.
    pub fn close(&self) {
        let Some(inner) = &self.0 else { return };
        if let Ok(mut lines) = inner.lines.lock() {
            *lines = None;
        }
        let writer = inner.writer.lock().ok().and_then(|mut w| w.take());
        if let Some(writer) = writer {
            let _ = writer.join();
        }
    }
}

fn escape_into(text: &str, line: &mut String) {
    for c in text.chars() {
        match c {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            // C0, DEL, C1, and the separators that some terminals take for a line end
            c if c.is_control() || c == '\u{2028}' || c == '\u{2029}' => {
                let _ = write!(line, "\\u{{{:x}}}", c as u32);
            }
            c => line.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let log = Log::open(path.to_str().unwrap()).unwrap();
        log.line(Level::Warn, "GET /\r\nINJECTED \u{1b}[31m\u{85}");
        log.close();
        log.line(Level::Warn, "after the end: nowhere");
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.lines().count(), 1);
        assert!(text.ends_with("drover WARN GET /\\r\\nINJECTED \\u{1b}[31m\\u{85}\n"), "{text}");
    }
}
