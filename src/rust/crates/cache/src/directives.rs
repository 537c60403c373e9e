//! `Cache-Control`, of requests and of responses (RFC 9111, section 5.2).

/// The directives that are known here. Times in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Directives {
    /// must not be kept
    pub no_store: bool,
    /// must not be used without asking again
    pub no_cache: bool,
    /// for one user only
    pub private: bool,
    /// for all, even where the request had credentials
    pub public: bool,
    /// must not be used when it is stale: `must-revalidate` or `proxy-revalidate`
    pub must_revalidate: bool,
    /// a request wants what is kept, or nothing
    pub only_if_cached: bool,
    /// fresh for so long; of a request, the highest age
    pub max_age: Option<u64>,
    /// the same for shared caches
    pub s_maxage: Option<u64>,
    /// RFC 5861
    pub stale_while_revalidate: Option<u64>,
    /// RFC 5861
    pub stale_if_error: Option<u64>,
    /// a request wants what stays fresh for so long
    pub min_fresh: Option<u64>,
}

/// Longer than anybody waits, and short enough to be added to others: 68 years, as the RFC has it (section 1.2.2).
const LONGEST: u64 = 1 << 31;

impl Directives {
    /// Reads the values of all fields of this name. Unknown directives are skipped; one that comes twice, or whose time
    /// is none, has the stricter meaning (section 4.2.1).
    pub fn read<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut read = Directives::default();
        for value in values {
            for (name, argument) in Elements(value) {
                read.add(name, argument);
            }
        }
        read
    }

    fn add(&mut self, name: &[u8], argument: Option<&[u8]>) {
        let name = name.to_ascii_lowercase();
        match &name[..] {
            b"no-store" => self.no_store = true,
            // those with names of fields are rare, and mean less than without
            b"no-cache" => self.no_cache = true,
            b"private" => self.private = true,
            b"public" => self.public = true,
            b"must-revalidate" | b"proxy-revalidate" => self.must_revalidate = true,
            b"only-if-cached" => self.only_if_cached = true,
            b"max-age" => shortest(&mut self.max_age, argument),
            b"s-maxage" => shortest(&mut self.s_maxage, argument),
            b"stale-while-revalidate" => shortest(&mut self.stale_while_revalidate, argument),
            b"stale-if-error" => shortest(&mut self.stale_if_error, argument),
            b"min-fresh" => {
                let seconds = argument.and_then(seconds).unwrap_or(LONGEST);
                self.min_fresh = Some(self.min_fresh.map_or(seconds, |known| known.max(seconds)));
            }
            _ => {}
        }
    }
}

/// A time that is none counts as 0.
fn shortest(known: &mut Option<u64>, argument: Option<&[u8]>) {
    let seconds = argument.and_then(seconds).unwrap_or(0);
    *known = Some(known.map_or(seconds, |known| known.min(seconds)));
}

/// Digits, and nothing else. What is too large for a number is very large.
fn seconds(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |sum: u64, digit: &u8| (sum * 10 + u64::from(digit - b'0')).min(LONGEST);
    Some(text.iter().fold(0, add))
}

/// The elements of a list: names, and what stands behind `=`, without quotes.
struct Elements<'a>(&'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = (&'a [u8], Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.0.is_empty() {
                return None;
            }
            let (mut quoted, mut escaped) = (false, false);
            let ends = self.0.iter().position(|&b| {
                match b {
                    _ if escaped => escaped = false,
                    b'\\' if quoted => escaped = true,
                    b'"' => quoted = !quoted,
                    b',' if !quoted => return true,
                    _ => {}
                }
                false
            });
            let (element, rest) = match ends {
                Some(at) => (&self.0[..at], &self.0[at + 1..]),
                None => (self.0, &[][..]),
            };
            self.0 = rest;
            let element = element.trim_ascii();
            if element.is_empty() {
                continue;
            }
            return Some(match element.iter().position(|&b| b == b'=') {
                Some(at) => (element[..at].trim_ascii(), Some(unquoted(element[at + 1..].trim_ascii()))),
                None => (element, None),
            });
        }
    }
}

fn unquoted(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Directives {
        Directives::read(values.iter().map(|value| value.as_bytes()))
    }

    #[test]
    fn directives_are_read_in_any_case_and_form() {
        let none = Directives::default();
        assert_eq!(read(&[]), none);
        assert_eq!(read(&["", ",,", "foo, bar=1"]), none);
        assert_eq!(read(&["Max-Age = 60, PUBLIC"]), Directives { max_age: Some(60), public: true, ..none });
        assert_eq!(read(&["max-age=\"60\""]).max_age, Some(60));
        assert_eq!(read(&["private=\"Set-Cookie, no-store\""]), Directives { private: true, ..none });
        assert_eq!(read(&["x=\"a\\\", no-store\", public"]), Directives { public: true, ..none });
    }

    #[test]
    fn of_times_the_strictest_counts_and_what_is_none_is_zero() {
        assert_eq!(read(&["max-age=60, max-age=5"]).max_age, Some(5));
        assert_eq!(read(&["max-age=60", "max-age=5"]).max_age, Some(5));
        for none in ["max-age", "max-age=", "max-age=-1", "max-age=1.5", "max-age=1s", "max-age=60, max-age=x"] {
            assert_eq!(read(&[none]).max_age, Some(0), "{none}");
        }
        assert_eq!(read(&["max-age=99999999999999999999999"]).max_age, Some(LONGEST));
        assert_eq!(read(&["min-fresh=x"]).min_fresh, Some(LONGEST));
    }
}
