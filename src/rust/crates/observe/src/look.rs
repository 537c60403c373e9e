//! How a record of the log is written: one line for files and pipes; at a terminal or a console, which people read,
//! local time, colours, and the lines of a message and its traceback under each other; for programs, an object of JSON.

use crate::json::quote;
use crate::record::{about_no_request, Level, Parts, Record, Value};
use exchange::Trace;
use jiff::tz::TimeZone;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Write as _};
use std::io::{self, IsTerminal};
use std::time::SystemTime;

/// What the log is written for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// people
    #[default]
    Text,
    /// programs
    Json,
}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// one line for each record: control characters from clients are escaped
    Line,
    /// for programs: an object of JSON on each line
    Json,
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
            Look::Json => json(record),
            Look::Screen { colours } => lines(record, colours),
        }
    }
}

fn line(record: &Record) -> String {
    let time = humantime::format_rfc3339_millis(record.at);
    let mut out = format!("{time} drover {} ", record.level.name());
    note_dropped(record, &mut out);
    let parts = record.parts();
    note_request(&parts, &mut out);
    escape_into(parts.message, &mut out);
    note_fields(record, &parts, &mut out);
    for (i, call) in parts.calls.iter().enumerate() {
        out.push_str(if i == 0 { " trace=" } else { " > " });
        escape_into(call, &mut out);
    }
    out.push('\n');
    out
}

fn note_request(parts: &Parts<'_>, out: &mut String) {
    if let Some(id) = parts.request {
        let _ = write!(out, "id={id:016x} ");
    }
}

/// What is known beside the message, as `name=value`.
fn note_fields(record: &Record, parts: &Parts<'_>, out: &mut String) {
    for (name, value) in &parts.fields {
        let _ = write!(out, " {name}=");
        match value {
            Value::Literal(literal) => out.push_str(literal),
            Value::Text(text) => quote(text, out),
        }
    }
    if let Some(pid) = record.worker {
        let _ = write!(out, " worker={pid}");
    }
    if let Some(trace) = parts.trace {
        out.push_str(" trace_id=");
        escape_into(trace, out);
    }
}

/// A log record as one line of JSON, for code without a log that writes to the same stream.
pub fn json_line(level: Level, text: &str) -> String {
    json(&Record { at: SystemTime::now(), level, dropped: 0, worker: None, text: about_no_request(text) })
}

fn json(record: &Record) -> String {
    let parts = record.parts();
    let mut out = format!("{{\"time\":\"{}\"", humantime::format_rfc3339_millis(record.at));
    let _ = write!(out, ",\"level\":\"{}\",\"message\":", record.level.name().to_ascii_lowercase());
    quote(parts.message, &mut out);
    if let Some(id) = parts.request {
        let _ = write!(out, ",\"id\":\"{id:016x}\",\"trace_id\":");
        quote(&parts.trace.map_or_else(|| Trace::new(id, None).id(), str::to_owned), &mut out);
    }
    if let Some(pid) = record.worker {
        let _ = write!(out, ",\"worker\":{pid}");
    }
    if !parts.fields.is_empty() {
        json_fields(&parts, &mut out);
    }
    for (i, call) in parts.calls.iter().enumerate() {
        out.push_str(if i == 0 { ",\"calls\":[" } else { "," });
        quote(call, &mut out);
    }
    out.push_str(if parts.calls.is_empty() { "" } else { "]" });
    if record.dropped > 0 {
        let _ = write!(out, ",\"dropped\":{}", record.dropped);
    }
    out.push_str("}\n");
    out
}

/// The last one of a name counts: programs differ in what they make of two.
fn json_fields(parts: &Parts<'_>, out: &mut String) {
    let mut between = ",\"fields\":{";
    for (i, (name, value)) in parts.fields.iter().enumerate() {
        if parts.fields[i + 1..].iter().any(|(other, _)| other == name) {
            continue;
        }
        out.push_str(between);
        between = ",";
        quote(name, out);
        out.push(':');
        match value {
            Value::Literal(literal) => out.push_str(literal),
            Value::Text(text) => quote(text, out),
        }
    }
    out.push('}');
}

/// Of a line that follows another one of the same record.
const INDENT: &str = "\n    ";

/// A time as people here read it.
fn local(at: SystemTime) -> impl Display {
    let at = Timestamp::try_from(at).unwrap_or_default();
    at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S%.3f")
}

fn lines(record: &Record, colours: bool) -> String {
    let time = local(record.at);
    let (faint, loud, plain) = match record.level {
        _ if !colours => ("", "", ""),
        Level::Debug | Level::Info => ("\x1b[2m", "", "\x1b[0m"),
        Level::Warn => ("\x1b[2m", "\x1b[33m", "\x1b[0m"),
        Level::Error => ("\x1b[2m", "\x1b[1;31m", "\x1b[0m"),
    };
    let mut out = format!("{faint}{time} drover{plain} {loud}{}{plain} ", record.level.name());
    note_dropped(record, &mut out);
    let parts = record.parts();
    note_request(&parts, &mut out);
    let mut noted = String::new();
    note_fields(record, &parts, &mut noted);
    let lines = parts.message.split('\n').filter(|line| !line.trim().is_empty());
    for (i, line) in lines.enumerate() {
        if i > 0 {
            out.push_str(INDENT);
        }
        escape_into(line, &mut out);
    }
    out.push_str(&noted);
    for call in parts.calls.iter().flat_map(|call| call.split('\n')).filter(|line| !line.trim().is_empty()) {
        out.push_str(INDENT);
        escape_into(call, &mut out);
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
        Record { at: SystemTime::UNIX_EPOCH, level: Level::Error, dropped: 0, worker: None, text: text.to_owned() }
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
        let local = local(SystemTime::UNIX_EPOCH);
        let expected = "first\n    2026 drover INFO forged\n    \\u{1b}[31m\n    f(x)\n";
        assert_eq!(text, format!("{local} drover ERROR {expected}"));
        let coloured = Look::Screen { colours: true }.write(&record("first"));
        assert_eq!(coloured, format!("\x1b[2m{local} drover\x1b[0m \x1b[1;31mERROR\x1b[0m first\n"));
    }

    #[test]
    fn for_programs_a_record_is_one_object_whatever_is_in_it() {
        let text = "id=00000000000000ff GET /\r\n\"}\u{1b}[31m\u{1e}n=1\u{1e}who:a\"\nb\u{1e}n=2\u{1f}f(x)\u{1f}g()";
        let expected = "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"error\",\
            \"message\":\"GET /\\u000d\\u000a\\\"}\\u001b[31m\",\"id\":\"00000000000000ff\",\
            \"trace_id\":\"TRACE\",\"worker\":7,\"fields\":{\"who\":\"a\\\"\\u000ab\",\"n\":2},\
            \"calls\":[\"f(x)\",\"g()\"],\"dropped\":3}\n";
        let trace = Trace::new(255, None).id();
        let written = Look::Json.write(&Record { dropped: 3, worker: Some(7), ..record(text) });
        assert_eq!(written, expected.replace("TRACE", &trace));
        assert!(json_line(Level::Info, "id=00000000000000ff x").contains("\"message\":\" id=00000000000000ff x\""));
    }

    #[test]
    fn fields_and_the_worker_come_after_the_message() {
        let text = "late\u{1e}n=1\u{1e}who:a \"b\u{1f}f(x)";
        let line = Look::Line.write(&Record { worker: Some(7), ..record(text) });
        assert!(line.ends_with("ERROR late n=1 who=\"a \\\"b\" worker=7 trace=f(x)\n"), "{line}");
    }

    #[test]
    fn what_was_dropped_is_told() {
        let dropped = Record { dropped: 3, ..record("late") };
        for look in [Look::Line, Look::Screen { colours: false }] {
            assert!(look.write(&dropped).ends_with("ERROR (3 lines dropped before this one) late\n"));
        }
    }
}
