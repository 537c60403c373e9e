//! The access log: a line for each request that ended, and for bytes that were refused.
//!
//! A line is formatted on the request's I/O thread and kept there; lines go to the log's writer together, when there
//! are enough of them and as often as the thread looks at its clocks. So a request costs no system call, and a slow
//! disk delays no request.

use exchange::Trace;
use http::header::{REFERER, USER_AGENT};
use httpd::{date, watch_closely, Fields, Head, Version};
use observe::{quote, Log, Screen};
use rustix::time::{clock_gettime, ClockId};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A thread hands its lines over when they come to this many bytes.
const ENOUGH: usize = 16 << 10;

/// Room for one more line, unless it is a very long one.
const LONG_LINE: usize = 1 << 10;

thread_local! {
    /// lines of this I/O thread that are not the writer's yet
    static LINES: RefCell<String> = const { RefCell::new(String::new()) };
}

/// How a line is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessLogFormat {
    /// as web servers have it, for the tools that read theirs
    #[default]
    Combined,
    /// an object of JSON
    Json,
}

/// See the module.
pub struct AccessLog {
    out: Log,
    format: AccessLogFormat,
}

/// What is told of a request.
pub struct Entry<'a> {
    pub id: u64,
    /// when it came
    pub at: SystemTime,
    pub remote_addr: &'a str,
    /// `None` for bytes that were no request
    pub head: Option<&'a Head>,
    /// what a trusted proxy calls it
    pub given_id: Option<&'a str>,
    pub status: u16,
    /// of the response's body, that were sent
    pub bytes: u64,
    /// whether the client took the whole response
    pub whole: bool,
    pub until_answer: Duration,
    /// of that, in its handler; zero when a worker has not said so
    pub handler: Duration,
    /// from then on until the client had the response, or had left
    pub write: Duration,
    /// why there was no other response; empty when that needs no reason
    pub reason: &'a str,
}

impl AccessLog {
    /// Writes to `"stderr"` or to the file of a path; `None` for `"none"`.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(target: &str, format: AccessLogFormat, screen: Screen) -> io::Result<Option<Self>> {
        Ok((target != "none").then(|| Log::open(target, screen)).transpose()?.map(|out| AccessLog { out, format }))
    }

    /// Adds a line.
    pub fn write(&self, entry: &Entry<'_>) {
        LINES.with_borrow_mut(|lines| {
            if lines.is_empty() {
                lines.reserve(ENOUGH + LONG_LINE);
                // the next look at the clocks hands it over
                watch_closely();
            }
            match self.format {
                AccessLogFormat::Combined => combined(entry, lines),
                AccessLogFormat::Json => json(entry, lines),
            }
            lines.push('\n');
            if lines.len() >= ENOUGH {
                self.out.lines(std::mem::take(lines));
            }
        });
    }

    /// Hands this thread's lines over.
    pub fn flush(&self) {
        LINES.with_borrow_mut(|lines| {
            if !lines.is_empty() {
                self.out.lines(std::mem::take(lines));
            }
        });
    }

    /// The time now, as exactly as a line says it.
    pub fn now(&self) -> SystemTime {
        match self.format {
            AccessLogFormat::Json => SystemTime::now(),
            AccessLogFormat::Combined => {
                // a few ms behind, and read much faster
                let now = clock_gettime(ClockId::RealtimeCoarse);
                UNIX_EPOCH + Duration::from_secs(now.tv_sec.try_into().unwrap_or(0))
            }
        }
    }

    /// The log behind it.
    pub fn log(&self) -> &Log {
        &self.out
    }
}

impl Drop for AccessLog {
    fn drop(&mut self) {
        self.out.close();
    }
}

/// `address - - [time] "request" status bytes "referer" "user agent"`: the combined format of Apache's and nginx's
/// logs.
fn combined(entry: &Entry<'_>, out: &mut String) {
    let date = date(entry.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
    let date = std::str::from_utf8(&date).unwrap_or_default();
    let part = |from: usize, to: usize| date.get(from..to).unwrap_or_default();
    let (day, month, year, time) = (part(5, 7), part(8, 11), part(12, 16), part(17, 25));
    // piece by piece: a formatter is half of what a request costs here
    out.extend([entry.remote_addr, " - - [", day, "/", month, "/", year, ":", time, " +0000] \""]);
    match entry.head {
        Some(head) => {
            escape(head.method.as_str().as_bytes(), out);
            out.push(' ');
            head.whole_target().into_iter().for_each(|part| escape(part.as_bytes(), out));
            out.extend([" ", protocol(head.version)]);
        }
        None => out.push('-'),
    }
    let (mut status, mut bytes) = (itoa::Buffer::new(), itoa::Buffer::new());
    out.extend(["\" ", status.format(entry.status), " ", bytes.format(entry.bytes), " \""]);
    let field = |name| entry.head.and_then(|head: &Head| head.fields.get(name)).unwrap_or(b"-");
    escape(field(&REFERER), out);
    out.push_str("\" \"");
    escape(field(&USER_AGENT), out);
    out.push('"');
}

/// As nginx escapes: what could end a field or a line is `\xHH`.
fn escape(text: &[u8], out: &mut String) {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if let Some(plain) = Some(text).filter(|text| text.iter().all(is_plain)) {
        return out.push_str(std::str::from_utf8(plain).unwrap_or_default());
    }
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' | '\\' | '\u{7f}'..='\u{9f}' | '\0'..='\x1f' => {
                    let _ = write!(out, "\\x{:02X}", c as u32);
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
}

fn json(entry: &Entry<'_>, out: &mut String) {
    let _ = write!(out, "{{\"time\":\"{}\"", humantime::format_rfc3339_millis(entry.at));
    let trace = Trace::new(entry.id, entry.head.and_then(Head::trace_parent)).id();
    let _ = write!(out, ",\"id\":\"{:016x}\",\"trace_id\":\"{trace}\"", entry.id);
    if let Some(given) = entry.given_id {
        text("request_id", given.as_bytes(), out);
    }
    text("remote_addr", entry.remote_addr.as_bytes(), out);
    if let Some(head) = entry.head {
        text("method", head.method.as_str().as_bytes(), out);
        text("target", head.whole_target().concat().as_bytes(), out);
        text("protocol", protocol(head.version).as_bytes(), out);
    }
    let _ = write!(out, ",\"status\":{},\"bytes\":{},\"whole\":{}", entry.status, entry.bytes, entry.whole);
    seconds("duration", entry.until_answer + entry.write, out);
    if !entry.handler.is_zero() {
        seconds("queue", entry.until_answer.saturating_sub(entry.handler), out);
        seconds("handler", entry.handler, out);
    }
    seconds("write", entry.write, out);
    let fields = entry.head.map(|head| &head.fields);
    let value = |name| fields.and_then(|fields: &Fields| fields.get(name));
    value(&REFERER).inspect(|referer| text("referer", referer, out));
    value(&USER_AGENT).inspect(|agent| text("user_agent", agent, out));
    if !entry.reason.is_empty() {
        text("reason", entry.reason.as_bytes(), out);
    }
    out.push('}');
}

fn seconds(name: &str, time: Duration, out: &mut String) {
    let _ = write!(out, ",\"{name}\":{:.6}", time.as_secs_f64());
}

fn text(name: &str, value: &[u8], out: &mut String) {
    let _ = write!(out, ",\"{name}\":");
    quote(&String::from_utf8_lossy(value), out);
}

fn protocol(version: Version) -> &'static str {
    match version {
        Version::Http10 => "HTTP/1.0",
        Version::Http11 => "HTTP/1.1",
        Version::Http2 => "HTTP/2.0",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry<'a>(head: Option<&'a Head>, reason: &'a str) -> Entry<'a> {
        let at = UNIX_EPOCH + Duration::from_millis(1_795_357_806_500);
        let ms = Duration::from_millis;
        let (until_answer, handler, write) = (ms(30), ms(10), ms(5));
        let (remote_addr, bytes) = ("192.0.2.1", 12);
        Entry {
            id: 255,
            at,
            remote_addr,
            head,
            given_id: None,
            status: 200,
            bytes,
            whole: true,
            until_answer,
            handler,
            write,
            reason,
        }
    }

    fn head() -> Head {
        let request = http::Request::get("http://h/a%20b?q=1").header(USER_AGENT, "x\"\\\t").body(()).unwrap();
        Head::from_http2(&request.into_parts().0)
    }

    #[test]
    fn combined_lines_are_those_that_tools_read() {
        let mut line = String::new();
        combined(&entry(Some(&head()), ""), &mut line);
        let expected =
            "192.0.2.1 - - [22/Nov/2026:14:30:06 +0000] \"GET /a%20b?q=1 HTTP/2.0\" 200 12 \"-\" \"x\\x22\\x5C\\x09\"";
        assert_eq!(line, expected);
        line.clear();
        combined(&entry(None, "no request"), &mut line);
        assert_eq!(line, "192.0.2.1 - - [22/Nov/2026:14:30:06 +0000] \"-\" 200 12 \"-\" \"-\"");
    }

    #[test]
    fn json_lines_say_more() {
        let mut line = String::new();
        json(&entry(Some(&head()), "why"), &mut line);
        let expected = "{\"time\":\"2026-11-22T14:30:06.500Z\",\"id\":\"00000000000000ff\",\
            \"trace_id\":\"TRACE\",\"remote_addr\":\"192.0.2.1\",\
            \"method\":\"GET\",\"target\":\"/a%20b?q=1\",\"protocol\":\"HTTP/2.0\",\"status\":200,\"bytes\":12,\"whole\":true,\
            \"duration\":0.035000,\"queue\":0.020000,\"handler\":0.010000,\"write\":0.005000,\"user_agent\":\"x\\\"\\\\\\u0009\",\
            \"reason\":\"why\"}";
        assert_eq!(line, expected.replace("TRACE", &Trace::new(255, None).id()));
    }
}
