//! `Cookie`: only tokens become names, no control character gets into a value, what is read is written and read again
//! the same, and it makes no difference how many fields the cookies come in.
//!
//! Input: the most cookies, then fields, a line each.

use crate::input::Input;
use fields::cookies::parse;

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let most = usize::from(input.byte());
    let values: Vec<&[u8]> = input.0.split(|&b| b == b'\n').collect();
    let read = parse(values.iter().copied(), most);
    let joined = values.join(&b';');
    assert_eq!(read, parse([&joined[..]], most));
    let Ok(cookies) = read else {
        assert!(joined.split(|&b| b == b';').count() > most);
        return;
    };
    assert!(cookies.len() <= most);
    for (name, value) in &cookies {
        assert!(http::HeaderName::from_bytes(name.as_bytes()).is_ok(), "{name:?} is no token");
        assert!(!value.bytes().any(|b| b.is_ascii_control() || b == b';'));
    }
    // quotes around a value are taken off, one pair of them
    let written: Vec<_> = cookies.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    assert_eq!(parse([written.join("; ").as_bytes()], most), Ok(cookies));
}
