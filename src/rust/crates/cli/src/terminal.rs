//! What the program reports to its user: progress on standard error, results on standard output. A terminal may have
//! gone meanwhile: `eprintln!` would panic then.

use crate::exit::{Code, Error};
use engine::{json_line, Level};
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether standard error is a log for programs to read.
static FOR_PROGRAMS: AtomicBool = AtomicBool::new(false);

/// From now on lines are records of a log for programs, as those of the server are.
pub(crate) fn for_programs() {
    FOR_PROGRAMS.store(true, Relaxed);
}

/// A line of the program's.
pub(crate) fn say(text: &str) {
    write_line(Level::Info, "drover: ", text);
}

/// Why it ends.
pub(crate) fn fail(text: &str) {
    write_line(Level::Error, "drover: ", text);
}

/// A line that names its own speaker.
pub(crate) fn write(line: &str) {
    write_line(Level::Info, "", line);
}

fn write_line(level: Level, speaker: &str, text: &str) {
    let line = if FOR_PROGRAMS.load(Relaxed) { json_line(level, text) } else { format!("{speaker}{text}\n") };
    // nowhere left to complain
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Prints to standard output, which may be a pipe without a reader.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Error::new(Code::System, e.to_string())),
        _ => Ok(()),
    }
}

/// `1 worker`, `2 workers`
pub(crate) fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
