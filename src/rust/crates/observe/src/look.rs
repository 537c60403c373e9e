//! How a record of the log is written: one line for files and pipes, which programs read; at a terminal or a console,
//! which people read, local time, colours, and the lines of a message and its traceback under each other.

use crate::record::{Level, Record, CALL};
use chrono::{DateTime, Local};
use std::fmt::Write as _;
use std::io::{self, IsTerminal};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// a line is a line, whatever a client sent
    Line,
    /// for people; lines after the first are indented, so that none can be taken for a record
    Screen { colours: bool },
}

impl Look {
    /// For people, with colours if standard error is a terminal and they are wanted there.
    pub fn screen(colours: bool) -> Self {
        Look::Screen { colours: colours && io::stderr().is_terminal() }
    }

    /// For standard error.
    pub fn of_stderr(colours: bool) -> Self {
        if io::stderr().is_terminal() {
            Look::screen(colours)
        } else {
            Look::Line
        }
    }

    /// The record as it is written, with its line end.
    pub fn write(self, record: &Record) -> String {
        match self {
            Look::Line => line(record),
            Look::Screen { colours } => lines(record, colours),
        }
    }
}

fn line(record: &Record) -> String {
    let time = humantime::format_rfc3339_millis(record.at);
    let mut out = format!("{time} drover {} ", record.level.name());
    note_dropped(record, &mut out);
    let mut calls = record.text.split(CALL);
    escape_into(calls.next().unwrap_or_default(), &mut out);
    for (i, call) in calls.enumerate() {
        out.push_str(if i == 0 { " trace=" } else { " > " });
        escape_into(call, &mut out);
    }
    out.push('\n');
    out
}

/// Of a line that follows another one of the same record.
const INDENT: &str = "\n    ";

fn lines(record: &Record, colours: bool) -> String {
    let time = DateTime::<Local>::from(record.at).format("%Y-%m-%d %H:%M:%S%.3f");
    let (faint, loud, plain) = match record.level {
        _ if !colours => ("", "", ""),
        Level::Info => ("\x1b[2m", "", "\x1b[0m"),
        Level::Warn => ("\x1b[2m", "\x1b[33m", "\x1b[0m"),
        Level::Error => ("\x1b[2m", "\x1b[1;31m", "\x1b[0m"),
    };
    let mut out = format!("{faint}{time} drover{plain} {loud}{}{plain} ", record.level.name());
    note_dropped(record, &mut out);
    for (i, line) in record.text.split([CALL, '\n']).filter(|line| !line.trim().is_empty()).enumerate() {
        if i > 0 {
            out.push_str(INDENT);
        }
        escape_into(line, &mut out);
    }
    out.push('\n');
    out
}

fn note_dropped(record: &Record, out: &mut String) {
    if record.dropped > 0 {
        let _ = write!(out, "({} lines dropped before this one) ", record.dropped);
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
    use std::time::SystemTime;

    fn record(text: &str) -> Record {
        Record { at: SystemTime::UNIX_EPOCH, level: Level::Error, dropped: 0, text: text.to_owned() }
    }

    #[test]
    fn a_line_stays_a_line() {
        let text = Look::Line.write(&record("GET /\r\nINJECTED \u{1b}[31m\u{85}\u{1f}f(x) at a.R:1\u{1f}g()"));
        let expected = "GET /\\r\\nINJECTED \\u{1b}[31m\\u{85} trace=f(x) at a.R:1 > g()\n";
        assert_eq!(text, format!("1970-01-01T00:00:00.000Z drover ERROR {expected}"));
    }

    #[test]
    fn people_read_lines_and_none_is_taken_for_a_record() {
        let text =
            Look::Screen { colours: false }.write(&record("first\n2026 drover INFO forged\n\n\u{1b}[31m\u{1f}f(x)"));
        let local = DateTime::<Local>::from(SystemTime::UNIX_EPOCH).format("%Y-%m-%d %H:%M:%S.000");
        let expected = "first\n    2026 drover INFO forged\n    \\u{1b}[31m\n    f(x)\n";
        assert_eq!(text, format!("{local} drover ERROR {expected}"));
        let coloured = Look::Screen { colours: true }.write(&record("first"));
        assert_eq!(coloured, format!("\x1b[2m{local} drover\x1b[0m \x1b[1;31mERROR\x1b[0m first\n"));
    }

    #[test]
    fn what_was_dropped_is_told() {
        let dropped = Record { dropped: 3, ..record("late") };
        for look in [Look::Line, Look::Screen { colours: false }] {
            assert!(look.write(&dropped).ends_with("ERROR (3 lines dropped before this one) late\n"));
        }
    }
}
