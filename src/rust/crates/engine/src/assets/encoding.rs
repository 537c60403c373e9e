//! Which precompressed forms of a file a client accepts (RFC 9110 section 12.5.3).
//!
//! Not for compressing: a form is served only when its file lies beside the original (`app.js.br` beside `app.js`).

use http::header::ACCEPT_ENCODING;
use http::HeaderValue;
use httpd::{ascii, Fields};
use smallvec::SmallVec;

/// A content coding that a file may be stored in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Brotli,
    Zstd,
    Gzip,
}

/// All codings, the one that we prefer first: smallest, usually.
const CODINGS: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

impl Coding {
    /// What the name of the compressed file adds to that of the original.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Coding::Brotli => ".br",
            Coding::Zstd => ".zst",
            Coding::Gzip => ".gz",
        }
    }

    pub(super) fn header(self) -> HeaderValue {
        HeaderValue::from_static(self.name())
    }

    fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
            Coding::Gzip => "gzip",
        }
    }

    fn is_named(self, name: &str) -> bool {
        name.eq_ignore_ascii_case(self.name()) || (self == Coding::Gzip && name.eq_ignore_ascii_case("x-gzip"))
    }
}

/// The codings that the client accepts and does not like less than the plain file, best first.
pub(super) fn accepted(request: &Fields) -> SmallVec<[Coding; 3]> {
    // quality in thousandths, when given
    let mut named = [None; CODINGS.len()];
    let mut identity = None;
    let mut any = None;
    for value in request.all(&ACCEPT_ENCODING) {
        for (name, quality) in ascii(value).unwrap_or_default().split(',').filter_map(preference) {
            match CODINGS.iter().position(|coding| coding.is_named(name)) {
                Some(at) => named[at] = Some(quality),
                None if name == "*" => any = Some(quality),
                None if name.eq_ignore_ascii_case("identity") => identity = Some(quality),
                None => {}
            }
        }
    }
    let quality = |at: usize| named[at].or(any).unwrap_or(0);
    let plain = identity.unwrap_or(0);
    let mut best: SmallVec<[usize; 3]> =
        (0..CODINGS.len()).filter(|at| quality(*at) > 0 && quality(*at) >= plain).collect();
    best.sort_by_key(|at| (u16::MAX - quality(*at), *at));
    best.into_iter().map(|at| CODINGS[at]).collect()
}

/// One element of the list: `gzip`, `gzip;q=0.5`. `None` when it is malformed.
fn preference(element: &str) -> Option<(&str, u16)> {
    let Some((name, parameter)) = element.split_once(';') else {
        return Some((element.trim(), 1000));
    };
    let (key, value) = parameter.split_once('=')?;
    let quality = thousandths(value.trim()).filter(|_| key.trim().eq_ignore_ascii_case("q"))?;
    Some((name.trim(), quality))
}

/// `qvalue` of RFC 9110 section 12.4.2: 0 to 1 with at most three decimals.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value = match whole {
        "0" | "1" => format!("{whole}{decimals:0<3}").parse().ok()?,
        _ => return None,
    };
    (value <= 1000).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Coding::{Brotli, Gzip, Zstd};

    #[test]
    fn accepted_codings_in_order() {
        let table: [(&[&str], &[Coding]); 16] = [
            (&[], &[]),
            (&[""], &[]),
            (&["gzip, deflate, br, zstd"], &[Brotli, Zstd, Gzip]),
            (&["gzip"], &[Gzip]),
            (&["GZip"], &[Gzip]),
            (&["x-gzip"], &[Gzip]),
            (&["gzip", "br"], &[Brotli, Gzip]),
            (&["br;q=0.5, gzip;q=0.8"], &[Gzip, Brotli]),
            (&["br;q=0, gzip ; q=1.000"], &[Gzip]),
            (&["*"], &[Brotli, Zstd, Gzip]),
            (&["*;q=0, gzip;q=0.001"], &[Gzip]),
            (&["br;q=0, *"], &[Zstd, Gzip]),
            (&["identity, gzip;q=0.9, br"], &[Brotli]),
            (&["identity;q=0.5, gzip;q=0.9"], &[Gzip]),
            (&["br;q=2, gzip;q=0.1234, zstd;level=3"], &[]),
            (&["deflate, compress"], &[]),
        ];
        for (values, codings) in table {
            let fields = values.iter().map(|value| (ACCEPT_ENCODING, value)).collect();
            assert_eq!(accepted(&fields).as_slice(), codings, "{values:?}");
        }
    }
}
