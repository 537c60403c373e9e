//! The codings and their names.

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// RFC 7932
    Brotli,
    /// RFC 8878
    Zstd,
    /// RFC 1952
    Gzip,
    /// RFC 1950: the format of zlib, despite the name
    Deflate,
}

impl Coding {
    /// All of them, the one that packs best first.
    pub const ALL: [Coding; 4] = [Coding::Brotli, Coding::Zstd, Coding::Gzip, Coding::Deflate];

    /// As header fields have it.
    pub fn name(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
        }
    }

    /// The one of this name, in either case.
    pub fn named(name: &str) -> Option<Self> {
        // RFC 9110 section 8.4.1.3: "x-gzip" is gzip
        let name = if name.eq_ignore_ascii_case("x-gzip") { "gzip" } else { name };
        Self::ALL.into_iter().find(|coding| name.eq_ignore_ascii_case(coding.name()))
    }
}
