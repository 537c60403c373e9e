//! Strings: escapes, encodings, the keys of objects, and raw vectors as base64.
//!
//! Escapes are jsonlite's: `"`, `\`, control characters, and the slash after `<` (so that no text closes a script
//! element). Invalid text (invalid UTF-8, strings marked "bytes") is written with U+FFFD for its bad bytes: the
//! output is valid JSON for every input. Not for numbers (`number`) and times (`time`).

use std::borrow::Cow;
use std::collections::HashSet;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;

use super::unsupported::Unsupported;
use crate::r::{self, Sexp};

/// Writes a string with its quotes. NA is the caller's.
pub fn string(out: &mut Vec<u8>, string: Sexp) -> Result<(), Unsupported> {
    quoted(out, &utf8(string)?);
    Ok(())
}

/// The text of a `CHARSXP` as valid UTF-8.
fn utf8<'a>(string: Sexp) -> Result<Cow<'a, [u8]>, Unsupported> {
    let bytes: &'a [u8] = r::bytes(string);
    if bytes.is_ascii() {
        return Ok(Cow::Borrowed(bytes));
    }
    match r::encoding(string) {
        r::Encoding::Utf8 | r::Encoding::Bytes => Ok(valid(Cow::Borrowed(bytes))),
        r::Encoding::Other => r::translate(string).map(|text| valid(Cow::Owned(text))).ok_or(Unsupported::Foreign),
    }
}

fn valid(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if std::str::from_utf8(&bytes).is_ok() {
        return bytes;
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned().into_bytes())
}

/// Writes valid UTF-8 with its quotes.
pub fn quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut done = 0;
    let mut at = 0;
    while at < text.len() {
        if let Some(word) = text[at..].first_chunk::<8>() {
            if !may_escape(u64::from_ne_bytes(*word)) {
                at += 8;
                continue;
            }
        }
        let end = (at + 8).min(text.len());
        while at < end {
            let byte = text[at];
            let after_less = byte == b'/' && at > 0 && text[at - 1] == b'<';
            if byte < 0x20 || byte == b'"' || byte == b'\\' || after_less {
                out.extend_from_slice(&text[done..at]);
                escape(out, byte);
                done = at + 1;
            }
            at += 1;
        }
    }
    out.extend_from_slice(&text[done..]);
    out.push(b'"');
}

/// False only when no byte of `word` is escaped. All eight are looked at in one go: a byte below 0x20 and a byte that
/// equals one of three, by the subtraction that borrows from the top bit of the byte that is zero.
fn may_escape(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 0xff;
    const TOPS: u64 = ONES << 7;
    let below = |limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equals = |byte: u8| {
        let zero = word ^ (ONES * u64::from(byte));
        zero.wrapping_sub(ONES) & !zero
    };
    (below(0x20) | equals(b'"') | equals(b'\\') | equals(b'/')) & TOPS != 0
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'"' | b'\\' | b'/' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// Bytes in a line of base64, as jsonlite breaks them: 54 bytes are 72 characters.
const LINE: usize = 54;

/// Writes raw bytes as one string of base64, with the line breaks that jsonlite makes.
pub fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for line in bytes.chunks(LINE) {
        let mut encoded = [0; 72];
        let n = STANDARD.encode_slice(line, &mut encoded).expect("72 characters hold 54 bytes");
        out.extend_from_slice(&encoded[..n]);
        // also after the last line, when it is full
        if line.len() == LINE {
            out.extend_from_slice(b"\\n");
        }
    }
    out.push(b'"');
}

/// The keys of an object, each with its quotes and colon, made unique as jsonlite does.
pub enum Keys<'a> {
    /// the names as they are
    Plain(&'a [Sexp]),
    /// names of which some were empty, NA or twice there
    Made(Vec<Vec<u8>>),
    /// some, and one more
    And(Box<Keys<'a>>, &'a [u8]),
}

impl<'a> Keys<'a> {
    /// The keys that these names give.
    pub fn new(names: &'a [Sexp]) -> Result<Keys<'a>, Unsupported> {
        if names.iter().any(|name| r::is_na_string(*name) || r::bytes(*name).is_empty()) || repeat(names) {
            let mut texts = Vec::with_capacity(names.len());
            for (i, name) in names.iter().enumerate() {
                let missing = r::is_na_string(*name) || r::bytes(*name).is_empty();
                texts.push(if missing { (i + 1).to_string().into_bytes() } else { utf8(*name)?.into_owned() });
            }
            return Ok(Keys::Made(unique(texts)));
        }
        Ok(Keys::Plain(names))
    }

    /// These, and one more after them.
    pub fn and(self, last: &'a [u8]) -> Keys<'a> {
        Keys::And(Box::new(self), last)
    }

    /// How many there are.
    fn len(&self) -> usize {
        match self {
            Keys::Plain(names) => names.len(),
            Keys::Made(texts) => texts.len(),
            Keys::And(keys, _) => keys.len() + 1,
        }
    }

    /// Writes key `i` and the colon.
    pub fn write(&self, out: &mut Vec<u8>, i: usize) -> Result<(), Unsupported> {
        match self {
            Keys::And(keys, _) if i < keys.len() => return keys.write(out, i),
            Keys::And(_, last) => quoted(out, last),
            Keys::Plain(names) => string(out, names[i])?,
            Keys::Made(texts) => quoted(out, &texts[i]),
        }
        out.push(b':');
        Ok(())
    }
}

/// True when a name is NA, or there twice.
pub fn missing_or_repeated(names: &[Sexp]) -> bool {
    names.iter().any(|name| r::is_na_string(*name)) || repeat(names)
}

/// True when a name is there twice. R keeps equal strings of one encoding at one address.
fn repeat(names: &[Sexp]) -> bool {
    if names.len() <= 16 {
        return (1..names.len()).any(|i| names[..i].contains(&names[i]));
    }
    let mut seen = HashSet::with_capacity(names.len());
    !names.iter().all(|name| seen.insert(*name))
}

/// Gives repeats a suffix .1, .2, ..., past those that are taken: R's `make.unique()`.
pub fn unique(mut texts: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut taken: HashSet<Vec<u8>> = texts.iter().cloned().collect();
    let mut seen: HashSet<Vec<u8>> = HashSet::with_capacity(texts.len());
    let mut last: std::collections::HashMap<Vec<u8>, u32> = std::collections::HashMap::new();
    for text in &mut texts {
        if seen.insert(text.clone()) {
            continue;
        }
        let count = last.entry(text.clone()).or_insert(1);
        let fresh = loop {
            let candidate = [text.as_slice(), b".", count.to_string().as_bytes()].concat();
            *count += 1;
            if taken.insert(candidate.clone()) {
                break candidate;
            }
        };
        *text = fresh;
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        let mut out = Vec::new();
        quoted(&mut out, text.as_bytes());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn escapes() {
        assert_eq!(json(""), r#""""#);
        assert_eq!(json("plain text, longer than a word"), r#""plain text, longer than a word""#);
        assert_eq!(json("a/b </script> < / 1234567</x"), r#""a/b <\/script> < / 1234567<\/x""#);
        assert_eq!(json("\u{7f}\u{e9}\u{2028}😀\"\\"), "\"\u{7f}\u{e9}\u{2028}😀\\\"\\\\\"");
        assert_eq!(json("\u{1}\u{8}\u{c}\n\r\t\u{b}\u{1f}"), r#""\u0001\b\f\n\r\t\u000b\u001f""#);
    }

    #[test]
    fn every_byte_is_found_at_every_place() {
        for at in 0..20 {
            for byte in 0..0x80_u8 {
                let mut text = vec![b'x'; 20];
                text[at] = byte;
                let escaped = byte < 0x20 || byte == b'"' || byte == b'\\';
                let written = json(std::str::from_utf8(&text).unwrap());
                assert_eq!(written.len() > 22, escaped, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn names_become_unique() {
        let made = |names: &[&str]| -> Vec<String> {
            let texts = names.iter().map(|name| name.as_bytes().to_vec()).collect();
            unique(texts).into_iter().map(|text| String::from_utf8(text).unwrap()).collect()
        };
        assert_eq!(made(&["a", "a", "b", "a"]), ["a", "a.1", "b", "a.2"]);
        assert_eq!(made(&["a", "a", "a.1"]), ["a", "a.2", "a.1"]);
    }

    #[test]
    fn base64_lines() {
        let lines = |n| {
            let mut out = Vec::new();
            base64(&mut out, &vec![0; n]);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(lines(0), r#""""#);
        assert_eq!(lines(1), r#""AA==""#);
        assert_eq!(lines(54), format!("\"{}\\n\"", "A".repeat(72)));
        assert_eq!(lines(57), format!("\"{}\\nAAAA\"", "A".repeat(72)));
    }
}
