//! Text as JSON, where the server writes some itself.

use std::fmt::Write;

/// Adds a string with its quotes. Beyond what JSON asks for, what terminals and scripts take for more than text is
/// escaped: DEL to U+009F, and the line ends U+2028 and U+2029.
pub fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0'..='\x1f' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
