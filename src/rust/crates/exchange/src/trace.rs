//! The trace that a request belongs to, as the fields `traceparent` and `tracestate` say (W3C Trace Context, levels 1
//! and 2), or a new one. A field that is wrong is no reason to refuse a request: it begins a new trace (level 1,
//! section 3.2.2.3 and 4.3).
//!
//! Where there is no trace to go on with, both ids are functions of the request's own. So the server and its workers
//! derive the same trace from it, and nothing is made or kept for requests whose trace is never read.

use crate::sampler::Sampler;
use std::fmt;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    /// the span of the client's
    parent: Option<[u8; 8]>,
    flags: u8,
}

/// The trace is recorded. A new one is, unless a sampler says otherwise: its id is in the log.
const SAMPLED: u8 = 1;
/// The last bytes of its id are random (level 2, section 3.2.2.5.2).
const RANDOM: u8 = 2;
/// What members `tracestate` may have (section 3.3.1.1), and the longest key or value (3.3.1.3).
const MOST_MEMBERS: usize = 32;
const LONGEST: usize = 256;

impl Trace {
    /// Of the request of this id, whose field `traceparent` is this; `None` when there is none, or more than one.
    pub fn new(id: u64, traceparent: Option<&[u8]>) -> Self {
        Trace::sampled_by(Sampler::here(), id, traceparent)
    }

    /// The same, by this sampler instead of the process's.
    fn sampled_by(sampler: Sampler, id: u64, traceparent: Option<&[u8]>) -> Self {
        let span_id = mixed(id ^ 0x5bf0_3635_dcf5_9b1d).to_be_bytes();
        let flag = |caller, random| if sampler.records(caller, random) { SAMPLED } else { 0 };
        match traceparent.and_then(parse) {
            Some((trace_id, parent, flags)) => {
                // servers that a trace comes by must all decide alike
                let random = u64::from_be_bytes(*trace_id.last_chunk().unwrap_or(&[0; 8]));
                let flags = flags & !SAMPLED | flag(Some(flags & SAMPLED != 0), random);
                Trace { trace_id, span_id, parent: Some(parent), flags }
            }
            None => {
                let mut trace_id = [0; 16];
                trace_id[..8].copy_from_slice(&mixed(id).to_be_bytes());
                trace_id[8..].copy_from_slice(&id.to_be_bytes());
                Trace { trace_id, span_id, parent: None, flags: flag(None, mixed(id)) }
            }
        }
    }

    /// Its id, in hexadecimal digits.
    pub fn id(&self) -> String {
        hex(&self.trace_id)
    }

    /// The id of what this server does for the request.
    pub fn span_id(&self) -> String {
        hex(&self.span_id)
    }

    /// The id of the client's span; `None` where the trace begins here.
    pub fn parent_id(&self) -> Option<String> {
        self.parent.map(|parent| hex(&parent))
    }

    /// The id of a part of that, the first of which is 1.
    pub fn span_id_of_part(&self, part: u8) -> String {
        hex(&mixed(u64::from_be_bytes(self.span_id) ^ u64::from(part)).to_be_bytes())
    }

    /// Whether it is recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

/// The field `traceparent` for requests that are made on behalf of this one.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", hex(&self.trace_id), hex(&self.span_id), self.flags & (SAMPLED | RANDOM))
    }
}

/// A number that no other `n` gives, and that looks random: the last steps of splitmix64. Not 0 but for one `n`.
fn mixed(n: u64) -> u64 {
    let n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (n ^ n >> 31).max(1)
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Trace id, parent id and flags of a `traceparent`; `None` when it is wrong (section 3.2.2).
fn parse(field: &[u8]) -> Option<([u8; 16], [u8; 8], u8)> {
    let field = field.trim_ascii();
    let (known, rest) = field.split_at_checked(55)?;
    let [version] = bytes(&known[..2])?;
    // a later version may say more, after a dash
    let is_right = match version {
        0 => rest.is_empty(),
        0xff => false,
        _ => rest.is_empty() || rest[0] == b'-',
    };
    let has_dashes = [2, 35, 52].iter().all(|&at| known[at] == b'-');
    if !is_right || !has_dashes {
        return None;
    }
    let (trace_id, parent): ([u8; 16], [u8; 8]) = (bytes(&known[3..35])?, bytes(&known[36..52])?);
    let [flags] = bytes(&known[53..])?;
    (trace_id != [0; 16] && parent != [0; 8]).then_some((trace_id, parent, flags))
}

/// Bytes of lower-case hexadecimal digits, two each.
fn bytes<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut all = [0; N];
    for (byte, pair) in all.iter_mut().zip(digits.chunks(2)) {
        *byte = digit(pair[0])? << 4 | digit(*pair.get(1)?)?;
    }
    Some(all)
}

/// Whether a `tracestate`, whose fields are joined by commas, may be passed on (section 3.3.1).
pub fn is_trace_state(field: &[u8]) -> bool {
    let members = || field.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|member| !member.is_empty());
    members().count() <= MOST_MEMBERS && members().all(is_member)
}

fn is_member(member: &[u8]) -> bool {
    let Some(at) = member.iter().position(|&byte| byte == b'=') else { return false };
    let (key, value) = (&member[..at], &member[at + 1..]);
    let is_in_key = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    let is_in_value = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b',' | b'=');
    let begins = key.first().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    begins
        && key.len() <= LONGEST
        && key.iter().all(is_in_key)
        && key.iter().filter(|&&byte| byte == b'@').count() <= 1
        && (1..=LONGEST).contains(&value.len())
        && value.iter().all(is_in_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const PARENT: &str = "00f067aa0ba902b7";

    #[test]
    fn what_is_valid_goes_on() {
        let cases = [
            (format!("00-{TRACE}-{PARENT}-01"), "01"),
            (format!("00-{TRACE}-{PARENT}-00"), "00"),
            // level 2: random
            (format!("00-{TRACE}-{PARENT}-03"), "03"),
            // unknown flags are not passed on
            (format!("00-{TRACE}-{PARENT}-ff"), "03"),
            (format!(" 00-{TRACE}-{PARENT}-01\t"), "01"),
            // later versions
            (format!("cc-{TRACE}-{PARENT}-01"), "01"),
            (format!("cc-{TRACE}-{PARENT}-01-what the future holds"), "01"),
        ];
        for (field, flags) in cases {
            let trace = Trace::new(7, Some(field.as_bytes()));
            assert_eq!((trace.id(), trace.parent_id()), (TRACE.to_owned(), Some(PARENT.to_owned())), "{field}");
            assert_eq!(trace.to_string(), format!("00-{TRACE}-{}-{flags}", trace.span_id()), "{field}");
            assert_ne!(trace.span_id(), PARENT);
        }
        assert!(!Trace::new(7, Some(format!("00-{TRACE}-{PARENT}-02").as_bytes())).is_sampled());
    }

    #[test]
    fn what_is_wrong_begins_a_new_trace() {
        let zeros = "0".repeat(32);
        let cases = [
            String::new(),
            "garbage".to_owned(),
            format!("ff-{TRACE}-{PARENT}-01"),
            format!("0-{TRACE}-{PARENT}-01"),
            format!("00-{TRACE}-{PARENT}-01-more"),
            format!("00-{TRACE}-{PARENT}-01."),
            format!("cc-{TRACE}-{PARENT}-01.more"),
            format!("00-{TRACE}-{PARENT}-1"),
            format!("00-{TRACE}-{PARENT}-0x"),
            format!("00-{TRACE}-{PARENT}"),
            format!("00-{zeros}-{PARENT}-01"),
            format!("00-{TRACE}-{}-01", &zeros[..16]),
            format!("00-{}-{PARENT}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{}-01", PARENT.to_uppercase()),
            format!("00_{TRACE}_{PARENT}_01"),
            format!("00-{TRACE}-{PARENT}\u{e9}-01"),
            format!("00-{}-{PARENT}-01", &TRACE[1..]),
        ];
        let new = Trace::new(7, None);
        for field in cases {
            assert_eq!(Trace::new(7, Some(field.as_bytes())), new, "{field}");
        }
        assert!(new.parent_id().is_none() && new.is_sampled());
        assert_eq!(&new.id()[16..], "0000000000000007");
        let other = Trace::new(8, None);
        assert!(new.id() != other.id() && new.span_id() != other.span_id());
        // what is begun here is valid for others
        for id in [0, 1, u64::MAX] {
            assert!(parse(Trace::new(id, None).to_string().as_bytes()).is_some(), "{id}");
        }
    }

    #[test]
    fn a_sampler_decides_what_is_passed_on() {
        let none = Sampler::named("always_off", None).unwrap();
        assert!(!Trace::sampled_by(none, 7, None).is_sampled());
        let caller = format!("00-{TRACE}-{PARENT}-03");
        let trace = Trace::sampled_by(none, 7, Some(caller.as_bytes()));
        assert_eq!(trace.to_string(), format!("00-{TRACE}-{}-02", trace.span_id()));
        let half = Sampler::named("parentbased_traceidratio", Some("0.5")).unwrap();
        let sampled = (0..1000).filter(|&id| Trace::sampled_by(half, id, None).is_sampled()).count();
        assert!((400..600).contains(&sampled), "{sampled}");
        let parts: std::collections::HashSet<String> = (1..4).map(|part| trace.span_id_of_part(part)).collect();
        assert!(parts.len() == 3 && !parts.contains(&trace.span_id()));
    }

    #[test]
    fn states_are_lists_of_keys_and_values() {
        let of_many = |n: usize| (0..n).map(|i| format!("k{i}=v")).collect::<Vec<_>>().join(",");
        let right = ["", "rojo=00f067aa0ba902b7", "a=1, b=2 ,, c=3", "1a@sys*/_-=x y", &of_many(32)];
        let long = format!("a={}", "x".repeat(257));
        let wrong =
            ["a", "=1", "A=1", "a=", "a=b=c", "a=1;b=\u{1}", "a@b@c=1", "_a=1", "\u{e9}=1", &long, &of_many(33)];
        right.iter().for_each(|field| assert!(is_trace_state(field.as_bytes()), "{field}"));
        wrong.iter().for_each(|field| assert!(!is_trace_state(field.as_bytes()), "{field}"));
    }
}
