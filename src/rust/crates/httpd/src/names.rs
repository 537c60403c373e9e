//! Which names the fields of a message may have. Most questions are about a name that is not there, and are answered
//! without a search.

/// A bit for each name that may be there, or for others that share it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Names(u64);

impl Names {
    /// Of these two names, or one name twice.
    pub const fn of(one: &[u8], other: &[u8]) -> Self {
        Names(bit(one) | bit(other))
    }

    /// One more name.
    pub fn add(&mut self, name: &[u8]) {
        self.0 |= bit(name);
    }

    /// Those of another message, too.
    pub fn add_all(&mut self, others: Names) {
        self.0 |= others.0;
    }

    /// Whether the name may be there.
    pub fn may_have(self, name: &[u8]) -> bool {
        self.0 & bit(name) != 0
    }
}

/// One of 64 bits, in either case of a name. The factors keep apart what messages usually have and what is asked for.
const fn bit(name: &[u8]) -> u64 {
    match name {
        [first, .., last] => 1 << ((name.len() + 17 * (*first | 32) as usize + 41 * (*last | 32) as usize) % 64),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn what_is_asked_for_is_not_taken_for_what_is_usually_there() {
        let of = |all: &[&str]| {
            all.iter().fold(Names::default(), |mut names, name| {
                names.add(name.as_bytes());
                names
            })
        };
        let has = |names: Names, asked: &[&str]| asked.iter().any(|name| names.may_have(name.as_bytes()));
        let response = of(&["content-type", "x-content-type-options", "Date", "x-request-id"]);
        assert!(!has(
            response,
            &["content-encoding", "vary", "set-cookie", "cache-control", "etag", "location", "link"]
        ));
        assert!(has(response, &["date"]) && has(response, &["CONTENT-TYPE"]));
        let browser = [
            "host",
            "user-agent",
            "accept",
            "accept-encoding",
            "accept-language",
            "connection",
            "referer",
            "sec-fetch-site",
            "sec-fetch-mode",
            "sec-fetch-dest",
            "sec-ch-ua",
            "upgrade-insecure-requests",
            "priority",
        ];
        let asked = [
            "authorization",
            "proxy-authorization",
            "cookie",
            "origin",
            "traceparent",
            "expect",
            "range",
            "content-encoding",
            "access-control-request-method",
            "sec-websocket-key",
            "if-none-match",
        ];
        assert!(!has(of(&browser), &asked));
        assert!(Names::of(b"a", b"").may_have(b""));
    }
}
