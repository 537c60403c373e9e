//! Why a WebSocket ends, as its ends tell each other: RFC 6455, section 7.4.

/// Longest reason in bytes: it has to fit into a control frame.
const LONGEST: usize = 123;

/// A code, and a text for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Close {
    /// see [`Close::may_be_sent`] and the constants
    pub code: u16,
    /// at most 123 bytes
    pub reason: String,
}

impl Close {
    /// all is well
    pub const NORMAL: u16 = 1000;
    /// an end goes away: the server stops
    pub const GOING_AWAY: u16 = 1001;
    /// the client breaks the rules of the protocol
    pub const PROTOCOL_ERROR: u16 = 1002;
    /// never sent: the client gave no code
    pub const NO_CODE: u16 = 1005;
    /// never sent: the client left without a word
    pub const ABNORMAL: u16 = 1006;
    /// a text is not UTF-8, or what was compressed cannot be read
    pub const INVALID: u16 = 1007;
    /// what the client does is not wanted here
    pub const POLICY: u16 = 1008;
    /// a message is too long
    pub const TOO_BIG: u16 = 1009;
    /// something failed in the server
    pub const INTERNAL: u16 = 1011;
    /// the server has begun anew, and not everything is there again
    pub const SERVICE_RESTART: u16 = 1012;
    /// the server has too much to do
    pub const TRY_AGAIN_LATER: u16 = 1013;

    /// With a reason, of which only so much is kept as fits.
    pub fn new(code: u16, reason: &str) -> Self {
        let mut end = reason.len().min(LONGEST);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        Close { code, reason: reason[..end].to_owned() }
    }

    /// Whether an end may send this code: those of the registry that are not for use on this end only, and those of
    /// libraries and apps.
    pub fn may_be_sent(code: u16) -> bool {
        matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_cut_between_characters() {
        assert_eq!(Close::new(1000, &"é".repeat(100)).reason.len(), 122);
        assert_eq!(Close::new(1000, "bye").reason, "bye");
    }

    #[test]
    fn codes_that_are_for_one_end_only_are_not_sent() {
        for code in [1000, 1001, 1003, 1007, 1011, 1014, 3000, 4999] {
            assert!(Close::may_be_sent(code), "{code}");
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535] {
            assert!(!Close::may_be_sent(code), "{code}");
        }
    }
}
