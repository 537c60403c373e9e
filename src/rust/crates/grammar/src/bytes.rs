//! Which bytes tokens, field values and parts of URIs are made of.

/// A table of bytes: letters, digits and these.
pub const fn alphanumeric_or(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = (b as u8).is_ascii_alphanumeric();
        b += 1;
    }
    let mut i = 0;
    while i < others.len() {
        table[others[i] as usize] = true;
        i += 1;
    }
    table
}

const TOKEN: [bool; 256] = alphanumeric_or(b"!#$%&'*+-.^_`|~");

/// `tchar` (RFC 9110 section 5.6.2).
pub fn is_tchar(b: u8) -> bool {
    TOKEN[b as usize]
}

/// `token` (RFC 9110 section 5.6.2): a method, a field's name.
pub fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&b| is_tchar(b))
}

/// Bytes of a field's value (RFC 9110 section 5.5), blanks included: no control characters but tab, above all no line
/// breaks. Looks at all of them, as that can be done many at a time.
pub fn is_value(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |sound, &b| sound & ((b >= 0x20 && b != 0x7f) || b == b'\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_values() {
        assert!(is_token(b"X-A_1.~") && is_token(b"!#$%&'*+^`|"));
        for text in [&b""[..], b"a b", b"a:", b"a\0", b"\xe9", b"(a)", b"a\"", b"{}"] {
            assert!(!is_token(text), "{text:?}");
        }
        assert!(is_value(b"") && is_value(b" a\tb \xff") && is_value("\u{e9}".as_bytes()));
        for text in [&b"a\nb"[..], b"a\rb", b"\0", b"\x7f", b"\x1f"] {
            assert!(!is_value(text), "{text:?}");
        }
    }
}
