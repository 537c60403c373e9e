//! One event of the log, how bad it is, and what its text is made of.

use exchange::Trace;
use serde::{Deserialize, Serialize};
use std::time::SystemTime;

/// Before each call of a traceback in a record's text, after all else. R's side has the same: `R/error-answer.R`.
pub const CALL: char = '\u{1f}';
/// Before each field of a record, after the message: a name, and `:` and text, or `=` and a number, `true`, `false` or
/// `null`. R's side has the same: `R/log.R`.
pub const FIELD: char = '\u{1e}';
/// The field with the trace that the client's own field names; others get no name of this kind.
const TRACE: &str = "@trace";
/// Longest name of a field.
const LONGEST_NAME: usize = 64;

/// One event.
#[derive(Debug)]
pub struct Record {
    pub at: SystemTime,
    pub level: Level,
    /// records before it that were not written
    pub dropped: u64,
    /// the worker process that says so
    pub worker: Option<i32>,
    /// the message, of one line or several, fields, each after a [`FIELD`], and the calls that led to it, each after a
    /// [`CALL`]
    pub text: String,
}

/// The parts of a record's text.
pub(crate) struct Parts<'r> {
    /// without the name of a request that it begins with
    pub message: &'r str,
    /// the request that it is about
    pub request: Option<u64>,
    /// the trace of that, where the client has named one
    pub trace: Option<&'r str>,
    pub fields: Vec<(&'r str, Value<'r>)>,
    pub calls: Vec<&'r str>,
}

/// What a field says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<'r> {
    Text(&'r str),
    /// as JSON has it
    Literal(&'r str),
}

impl Record {
    pub(crate) fn parts(&self) -> Parts<'_> {
        let mut calls = self.text.split(CALL);
        let mut fields = calls.next().unwrap_or_default().split(FIELD);
        let message = fields.next().unwrap_or_default();
        let (mut trace, mut known) = (None, Vec::new());
        for field in fields {
            match field.strip_prefix(TRACE).and_then(|rest| rest.strip_prefix(':')) {
                Some(id) => trace = Some(id),
                None => known.extend(named(field)),
            }
        }
        let request = request_of(message);
        let message = request.map_or(message, |_| &message[REQUEST.len() + DIGITS + 1..]);
        Parts { message, request, trace, fields: known, calls: calls.collect() }
    }
}

/// A message about a request begins with this, the request's id in `DIGITS` digits, and a space.
const REQUEST: &str = "id=";
const DIGITS: usize = 16;

fn request_of(message: &str) -> Option<u64> {
    let (digits, rest) = message.strip_prefix(REQUEST)?.split_at_checked(DIGITS)?;
    let is_hex = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    u64::from_str_radix(digits, 16).ok().filter(|_| is_hex && rest.starts_with(' '))
}

/// Name and value of a field; `None` for one that is none, as a worker that has lost its memory may send.
fn named(field: &str) -> Option<(&str, Value<'_>)> {
    let at = field.find([':', '='])?;
    let (name, value) = (&field[..at], &field[at + 1..]);
    let is_in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.len() <= LONGEST_NAME;
    let is_literal = field.as_bytes()[at] == b'=' && is_literal(value);
    let value = if is_literal { Value::Literal(value) } else { Value::Text(value) };
    (is_name && name.bytes().all(is_in_name)).then_some((name, value))
}

/// Whether it is a number, `true`, `false` or `null`, as JSON has them.
fn is_literal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let looks = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.ends_with(|c: char| c.is_ascii_digit())
        && !(digits.len() > 1 && digits.starts_with('0') && digits.as_bytes()[1].is_ascii_digit())
        && !digits.contains(".e")
        && !digits.contains(".E");
    matches!(text, "true" | "false" | "null") || (looks && text.parse::<f64>().is_ok_and(f64::is_finite))
}

/// The same text about a request, with the trace that it came with, and with what a proxy calls it.
pub fn with_names(mut text: String, trace: &Trace, request_id: Option<&str>) -> String {
    if trace.parent_id().is_some() {
        text = with_trace(text, &trace.id());
    }
    match request_id {
        Some(id) => with_field(text, &format!("request_id:{id}")),
        None => text,
    }
}

fn with_trace(text: String, trace: &str) -> String {
    with_field(text, &format!("{TRACE}:{trace}"))
}

/// The same text, with a field that reports the `lost` records before it.
pub fn with_lost(text: &str, lost: u64) -> String {
    with_field(text.to_owned(), &format!("lost={lost}"))
}

/// What was printed on this stream, as a record's text. Marks of ours in it are no such.
pub fn printed(text: &str, stream: &str) -> String {
    with_field(text.replace([FIELD, CALL], " "), &format!("stream:{stream}"))
}

fn with_field(mut text: String, field: &str) -> String {
    let at = text.find([FIELD, CALL]).unwrap_or(text.len());
    text.insert_str(at, &format!("{FIELD}{field}"));
    text
}

/// The same text, of a record that is about no request: it must not begin as if it were.
pub fn about_no_request(text: &str) -> String {
    let space = if text.starts_with(REQUEST) { " " } else { "" };
    format!("{space}{text}")
}

/// How bad it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// for debugging
    Debug,
    /// news
    #[default]
    Info,
    /// a client did something wrong
    Warn,
    /// a handler or the server did
    Error,
}

impl Level {
    /// The level of a number: 0 news, 1 a client's fault, 2 a handler's or the server's, 3 for debugging.
    pub fn from_number(number: u32) -> Self {
        match number {
            0 => Level::Info,
            1 => Level::Warn,
            3 => Level::Debug,
            _ => Level::Error,
        }
    }

    /// That number.
    pub fn number(self) -> u32 {
        match self {
            Level::Info => 0,
            Level::Warn => 1,
            Level::Error => 2,
            Level::Debug => 3,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Debug => "DEBUG",
            Level::Info => "INFO",
            Level::Warn => "WARN",
            Level::Error => "ERROR",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Record {
        Record { at: SystemTime::now(), level: Level::Info, dropped: 0, worker: None, text: text.to_owned() }
    }

    #[test]
    fn a_text_has_its_parts() {
        let text = with_trace("id=00000000000000ff GET /\u{1e}n=-1.5e3\u{1e}who:Ann=1\u{1f}f(x)\u{1f}g()".into(), "ab");
        let record = record(&text);
        let parts = record.parts();
        assert_eq!((parts.message, parts.request, parts.trace), ("GET /", Some(255), Some("ab")));
        assert_eq!(parts.fields, [("n", Value::Literal("-1.5e3")), ("who", Value::Text("Ann=1"))]);
        assert_eq!(parts.calls, ["f(x)", "g()"]);
    }

    #[test]
    fn what_is_no_field_is_left_out_and_what_is_no_literal_is_text() {
        let values = ["NaN", "1,\"x\":2", "+1", "01", "1.", ".5", "1e999", "", "TRUE", "inf", "1.e3"];
        for value in values {
            let record = record(&format!("m\u{1e}x={value}"));
            assert_eq!(record.parts().fields, [("x", Value::Text(value))], "{value}");
        }
        for value in ["0", "-0", "0.5", "12", "1e-3", "true", "false", "null"] {
            let record = record(&format!("m\u{1e}x={value}"));
            assert_eq!(record.parts().fields, [("x", Value::Literal(value))], "{value}");
        }
        for field in ["", "x", ":1", "1x:1", "a b:1", "a\"b:1", "@trace2:1"] {
            assert!(record(&format!("m\u{1e}{field}")).parts().fields.is_empty(), "{field}");
        }
    }

    #[test]
    fn only_the_server_says_which_request_it_is_about() {
        for text in ["id=00000000000000FF x", "id=ff x", "id=00000000000000ffx", " id=00000000000000ff x"] {
            assert_eq!(record(text).parts().request, None, "{text}");
        }
        assert_eq!(record(&about_no_request("id=00000000000000ff x")).parts().request, None);
    }
}
