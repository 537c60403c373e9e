//! One cookie out of a request, where it stands (RFC 6265, section 5.4).

use exchange::RequestView;

/// The value of the first cookie of this name, without the quotes that it may be in. Over HTTP/2 they may come in
/// several fields.
pub fn find<'a>(request: &'a dyn RequestView, name: &[u8]) -> Option<&'a [u8]> {
    (0..request.header_count())
        .filter_map(|at| request.header_at(at))
        .filter(|(field, _)| *field == b"cookie")
        .find_map(|(_, value)| value.split(|b| *b == b';').find_map(|pair| value_of(pair, name)))
}

fn value_of<'a>(pair: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = pair.iter().position(|b| *b == b'=')?;
    let (found, value) = (pair[..at].trim_ascii(), pair[at + 1..].trim_ascii());
    let unquoted = value.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\""));
    (found == name).then_some(unquoted.unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_as_sent() {
        for (pair, value) in [
            (&b" a=1"[..], Some(&b"1"[..])),
            (b"a=\"x=y\" ", Some(b"x=y")),
            (b"a=", Some(b"")),
            (b"A=1", None),
            (b"a", None),
        ] {
            assert_eq!(value_of(pair, b"a"), value, "{pair:?}");
        }
    }
}
