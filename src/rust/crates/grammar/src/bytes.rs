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

/// The same without `_`, which CGI-style names confuse with `-`.
const NAME: [bool; 256] = alphanumeric_or(b"!#$%&'*+-.^`|~");

/// `tchar` (RFC 9110 section 5.6.2).
pub fn is_tchar(b: u8) -> bool {
    TOKEN[b as usize]
}

/// `token` (RFC 9110 section 5.6.2): a method, a field's name.
pub fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&b| is_tchar(b))
}

/// A token without `_`: the name of a field that all servers take for the same.
pub fn is_plain_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&b| NAME[b as usize])
}

/// Bytes of a field's value (RFC 9110 section 5.5), blanks included: no control characters but tab, above all no line
/// breaks. Asked of every field of every message: eight bytes at a time, and one by one only where a control character
/// may be among them.
pub fn is_value(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks();
    words.iter().all(|word| !has_control(u64::from_ne_bytes(*word)) || are_sound(word)) && are_sound(rest)
}

fn are_sound(bytes: &[u8]) -> bool {
    bytes.iter().all(|&b| (b >= 0x20 && b != 0x7f) || b == b'\t')
}

/// Whether any of eight bytes is below 0x20, or 0x7f.
fn has_control(word: u64) -> bool {
    const EACH: u64 = u64::MAX / 0xff;
    let (high, low) = (word & (EACH * 0x80), word & (EACH * 0x7f));
    // of the lower seven bits, neither carries into the next byte: the high bit is what tells
    let from_blank = low + EACH * (0x80 - 0x20);
    let is_delete = low + EACH;
    (from_blank | high) & !(is_delete & !high) & (EACH * 0x80) != EACH * 0x80
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
        assert!(
            is_plain_token(b"X-A1.~") && !is_plain_token(b"X_A") && !is_plain_token(b"") && !is_plain_token(b"a b")
        );
        assert!(is_value(b"") && is_value(b" a\tb \xff") && is_value("\u{e9}".as_bytes()));
        for b in 0..=u8::MAX {
            let sound = b == b'\t' || (b >= 0x20 && b != 0x7f);
            // wherever it is in a text of eight bytes and some
            for at in 0..19 {
                let mut text = *b"abc\x80 \xff~ def\t\xfe ghijk";
                text[at] = b;
                assert_eq!(is_value(&text), sound, "{b:#x} at {at}");
            }
        }
        for text in [&b"a\nb"[..], b"a\rb", b"\0", b"\x7f", b"\x1f"] {
            assert!(!is_value(text), "{text:?}");
        }
    }
}
