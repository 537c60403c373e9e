//! Which precompressed forms of a file a client accepts (RFC 9110 section 12.5.3).
//!
//! Not for compressing: a form is served only when its file lies beside the original (`app.js.br` beside `app.js`).

use coding::Coding;
use http::header::ACCEPT_ENCODING;
use httpd::Fields;
use smallvec::SmallVec;

/// The codings that a file may be stored in, the one that we prefer first: smallest, usually.
const STORED: [Coding; 3] = [Coding::Brotli, Coding::Zstd, Coding::Gzip];

/// What the name of the compressed file adds to that of the original.
pub(super) fn suffix(coding: Coding) -> &'static str {
    match coding {
        Coding::Brotli => ".br",
        Coding::Zstd => ".zst",
        Coding::Gzip => ".gz",
        // not stored
        Coding::Deflate => "",
    }
}

/// The codings that the client accepts and does not like less than the plain file, best first.
pub(super) fn accepted(request: &Fields) -> SmallVec<[Coding; 4]> {
    coding::accepted(request.all(&ACCEPT_ENCODING), &STORED)
}
