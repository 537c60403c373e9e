//! Which version of a file there is, and whether a request is about it (RFC 9110 sections 8.8 and 13).

use super::root::Opened;
use bytes::Bytes;
use grammar::hex;
use http::header::{ETAG, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED};
use http::{HeaderMap, HeaderName, HeaderValue};
use httpd::{ascii, Fields, ResponseFields};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What the conditions of a request come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// answer as if there were none
    Proceed,
    /// 304
    NotModified,
    /// 412
    Failed,
}

/// The validators of one representation.
pub(crate) struct Validators {
    etag: HeaderValue,
    /// whole seconds, never later than `now`; none for a time before 1970
    modified: Option<SystemTime>,
    now: SystemTime,
}

impl Validators {
    /// Those of an open file: a strong ETag from inode, size and modification time, unless `own` headers of the app say
    /// otherwise.
    pub(super) fn new(opened: &Opened, own: &HeaderMap, now: SystemTime) -> Validators {
        let etag = own.get(ETAG).cloned().unwrap_or_else(|| etag(opened));
        let modified = match own.get(LAST_MODIFIED) {
            Some(value) => parse_date(value.as_bytes()),
            None => modified(opened, now),
        };
        Validators { etag, modified, now }
    }

    /// Those of a response that was made, as its fields have them; none without an `ETag`.
    pub(crate) fn of_response(fields: &ResponseFields, now: SystemTime) -> Option<Validators> {
        let etag = HeaderValue::from_bytes(fields.get(&ETAG)?).ok()?;
        Some(Validators { etag, modified: fields.get(&LAST_MODIFIED).and_then(parse_date), now })
    }

    /// Writes `ETag` and `Last-Modified`.
    pub(super) fn write(&self, headers: &mut HeaderMap) {
        self.write_etag(headers);
        if let Some(date) = self.modified.filter(|_| !headers.contains_key(LAST_MODIFIED)) {
            if let Ok(value) = HeaderValue::try_from(httpdate::fmt_http_date(date)) {
                headers.insert(LAST_MODIFIED, value);
            }
        }
    }

    /// Writes `ETag`, which is all that a 304 needs.
    pub(super) fn write_etag(&self, headers: &mut HeaderMap) {
        headers.insert(ETAG, self.etag.clone());
    }

    /// Judges the conditions of a GET or HEAD in the order of section 13.2.2, steps 1 to 4. A date that cannot be read
    /// is no condition.
    pub(crate) fn judge(&self, request: &Fields) -> Verdict {
        let after = |name: &HeaderName, test: fn(SystemTime, SystemTime) -> bool| {
            let date = request.get(name).and_then(parse_date);
            self.modified.zip(date).is_some_and(|(modified, date)| test(modified, date))
        };
        if request.get(&IF_MATCH).is_some() {
            if !self.is_listed(request, &IF_MATCH, Comparison::Strong) {
                return Verdict::Failed;
            }
        } else if after(&IF_UNMODIFIED_SINCE, |modified, date| modified > date) {
            return Verdict::Failed;
        }
        let unchanged = if request.get(&IF_NONE_MATCH).is_some() {
            self.is_listed(request, &IF_NONE_MATCH, Comparison::Weak)
        } else {
            after(&IF_MODIFIED_SINCE, |modified, date| modified <= date)
        };
        if unchanged {
            Verdict::NotModified
        } else {
            Verdict::Proceed
        }
    }

    /// Step 5: whether a `Range` may be followed. A date counts only when the file cannot have changed again in the
    /// same second (section 8.8.2.2), and must be exactly the one that was sent.
    pub(super) fn allows_range(&self, request: &Fields) -> bool {
        let Some(condition) = request.get(&IF_RANGE) else {
            return true;
        };
        if condition.contains(&b'"') {
            return matches!(next_tag(condition), Some((tag, rest))
                if rest.is_empty() && self.equals(tag, Comparison::Strong));
        }
        let date = parse_date(condition);
        date.is_some() && date == self.modified && date.is_some_and(|date| self.now > date + Duration::from_secs(1))
    }

    fn is_listed(&self, request: &Fields, name: &HeaderName, comparison: Comparison) -> bool {
        request.all(name).any(|value| {
            let mut rest = value.trim_ascii();
            if rest == b"*" {
                return true;
            }
            while let Some((tag, after)) = next_tag(rest) {
                if self.equals(tag, comparison) {
                    return true;
                }
                rest = after;
            }
            false
        })
    }

    /// Section 8.8.3.2.
    fn equals(&self, tag: &[u8], comparison: Comparison) -> bool {
        let (ours, ours_weak) = opaque(self.etag.as_bytes());
        let (theirs, theirs_weak) = opaque(tag);
        ours == theirs && (comparison == Comparison::Weak || !(ours_weak || theirs_weak))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

fn etag(opened: &Opened) -> HeaderValue {
    let (seconds, nanoseconds) = opened.modified();
    // four numbers of at most 16 hexadecimal digits, three '-' and two quotes
    let mut text = Vec::with_capacity(72);
    let parts = [opened.stat.st_ino, opened.size(), seconds as u64, nanoseconds];
    for (number, before) in parts.into_iter().zip(*b"\"---") {
        text.push(before);
        hex::push(number, &mut text);
    }
    text.push(b'"');
    HeaderValue::from_maybe_shared(Bytes::from(text)).expect("digits are valid in a header")
}

fn modified(opened: &Opened, now: SystemTime) -> Option<SystemTime> {
    let seconds = u64::try_from(opened.modified().0).ok()?;
    let date = UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    // a date in the future must not be sent (section 8.8.2.1)
    Some(if date <= now { date } else { whole_seconds(now) })
}

fn whole_seconds(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UNIX_EPOCH + Duration::from_secs(since.as_secs())
}

fn parse_date(value: &[u8]) -> Option<SystemTime> {
    httpdate::parse_http_date(ascii(value)?).ok()
}

/// The first entity tag of a list and what follows it; `None` at the end and where the list is malformed.
fn next_tag(list: &[u8]) -> Option<(&[u8], &[u8])> {
    let start = list.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b','))?;
    let list = &list[start..];
    let open = if list.starts_with(b"W/") { 2 } else { 0 };
    if list.get(open) != Some(&b'"') {
        return None;
    }
    let close = open + 1 + list[open + 1..].iter().position(|byte| *byte == b'"')?;
    Some(list.split_at(close + 1))
}

/// The tag without its mark of weakness, and whether it had one.
fn opaque(tag: &[u8]) -> (&[u8], bool) {
    match tag.strip_prefix(b"W/") {
        Some(opaque) => (opaque, true),
        None => (tag, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Failed, NotModified, Proceed};

    const BEFORE: &str = "Thu, 01 Jan 2026 00:00:00 GMT";
    const EXACTLY: &str = "Fri, 02 Jan 2026 00:00:00 GMT";
    const AFTER: &str = "Sat, 03 Jan 2026 00:00:00 GMT";

    fn validators(etag: &'static str, seconds_ago: u64) -> Validators {
        let modified = httpdate::parse_http_date(EXACTLY).unwrap();
        Validators {
            etag: HeaderValue::from_static(etag),
            modified: Some(modified),
            now: modified + Duration::from_secs(seconds_ago),
        }
    }

    fn headers(pairs: &[(HeaderName, &str)]) -> Fields {
        pairs.iter().map(|(name, value)| (name, value)).collect()
    }

    #[test]
    fn precedence_as_in_section_13_2_2() {
        let table: [(&[(HeaderName, &str)], Verdict); 30] = [
            (&[], Proceed),
            (&[(IF_MATCH, "\"a\"")], Proceed),
            (&[(IF_MATCH, "*")], Proceed),
            (&[(IF_MATCH, "\"b\", \"a\"")], Proceed),
            (&[(IF_MATCH, "\"b\""), (IF_MATCH, "\"a\"")], Proceed),
            (&[(IF_MATCH, "\"b\"")], Failed),
            (&[(IF_MATCH, "W/\"a\"")], Failed),
            (&[(IF_MATCH, "a")], Failed),
            // If-Match makes If-Unmodified-Since void, either way
            (&[(IF_MATCH, "\"a\""), (IF_UNMODIFIED_SINCE, BEFORE)], Proceed),
            (&[(IF_MATCH, "\"b\""), (IF_UNMODIFIED_SINCE, AFTER)], Failed),
            (&[(IF_UNMODIFIED_SINCE, BEFORE)], Failed),
            (&[(IF_UNMODIFIED_SINCE, EXACTLY)], Proceed),
            (&[(IF_UNMODIFIED_SINCE, AFTER)], Proceed),
            (&[(IF_UNMODIFIED_SINCE, "yesterday")], Proceed),
            (&[(IF_NONE_MATCH, "\"a\"")], NotModified),
            (&[(IF_NONE_MATCH, "W/\"a\"")], NotModified),
            (&[(IF_NONE_MATCH, "*")], NotModified),
            (&[(IF_NONE_MATCH, "\"b,\" ,\tW/\"a\"")], NotModified),
            (&[(IF_NONE_MATCH, "\"b\"")], Proceed),
            (&[(IF_NONE_MATCH, "\"A\"")], Proceed),
            (&[(IF_NONE_MATCH, "\"a")], Proceed),
            // If-None-Match makes If-Modified-Since void, either way
            (&[(IF_NONE_MATCH, "\"b\""), (IF_MODIFIED_SINCE, AFTER)], Proceed),
            (&[(IF_NONE_MATCH, "\"a\""), (IF_MODIFIED_SINCE, BEFORE)], NotModified),
            (&[(IF_MODIFIED_SINCE, BEFORE)], Proceed),
            (&[(IF_MODIFIED_SINCE, EXACTLY)], NotModified),
            (&[(IF_MODIFIED_SINCE, AFTER)], NotModified),
            (&[(IF_MODIFIED_SINCE, "0")], Proceed),
            // the first pair is judged before the second
            (&[(IF_MATCH, "\"b\""), (IF_NONE_MATCH, "\"a\"")], Failed),
            (&[(IF_MATCH, "\"a\""), (IF_NONE_MATCH, "\"a\"")], NotModified),
            (&[(IF_UNMODIFIED_SINCE, BEFORE), (IF_MODIFIED_SINCE, AFTER)], Failed),
        ];
        for (pairs, verdict) in table {
            assert_eq!(validators("\"a\"", 60).judge(&headers(pairs)), verdict, "{pairs:?}");
        }
    }

    #[test]
    fn a_weak_tag_of_the_app_never_matches_strongly() {
        let weak = validators("W/\"a\"", 60);
        assert_eq!(weak.judge(&headers(&[(IF_NONE_MATCH, "\"a\"")])), NotModified);
        assert_eq!(weak.judge(&headers(&[(IF_MATCH, "W/\"a\"")])), Failed);
        assert!(!weak.allows_range(&headers(&[(IF_RANGE, "W/\"a\"")])));
    }

    #[test]
    fn if_range() {
        for (value, seconds_ago, allowed) in [
            ("\"a\"", 60, true),
            ("\"b\"", 60, false),
            ("W/\"a\"", 60, false),
            ("\"a\", \"b\"", 60, false),
            (EXACTLY, 60, true),
            (EXACTLY, 1, false),
            (AFTER, 60, false),
            (BEFORE, 60, false),
            ("tomorrow", 60, false),
        ] {
            let request = headers(&[(IF_RANGE, value)]);
            assert_eq!(validators("\"a\"", seconds_ago).allows_range(&request), allowed, "{value}");
        }
        assert!(validators("\"a\"", 0).allows_range(&Fields::default()));
    }
}
