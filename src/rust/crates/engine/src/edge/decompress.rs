//! Which bodies of requests are unpacked before their handlers see them. Not for the unpacking: `httpd::unpack`.

use coding::Coding;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use http::{HeaderValue, StatusCode};
use httpd::{ascii, Decoding, Failure, Head};
use serde::{Deserialize, Serialize};

/// What is unpacked, as an app has registered it.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct DecompressConfig {
    /// out of `gzip`, `zstd` and `deflate`
    pub encodings: Vec<String>,
    /// greatest ratio of the unpacked size to the size that was sent
    pub max_ratio: u32,
}

impl Default for DecompressConfig {
    fn default() -> Self {
        let encodings = [Coding::Gzip, Coding::Zstd, Coding::Deflate].map(|coding| coding.name().to_owned()).to_vec();
        DecompressConfig { encodings, max_ratio: 100 }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Decompress {
    codings: Vec<Coding>,
    max_ratio: u32,
    /// what clients may send
    accept: HeaderValue,
}

impl Decompress {
    /// Of this configuration.
    ///
    /// # Errors
    /// A text that names what is wrong.
    pub fn new(config: &DecompressConfig) -> Result<Self, String> {
        let coding = |name: &String| {
            let known = Coding::named(name).filter(|coding| *coding != Coding::Brotli);
            known.ok_or_else(|| format!("{name:?} is not out of \"gzip\", \"zstd\" and \"deflate\""))
        };
        let codings = config.encodings.iter().map(coding).collect::<Result<Vec<_>, _>>()?;
        if codings.is_empty() || config.max_ratio < 1 {
            return Err("no encodings, or no ratio".to_owned());
        }
        let names: Vec<_> = codings.iter().map(|coding| coding.name()).collect();
        let accept = HeaderValue::from_str(&names.join(", ")).map_err(|e| e.to_string())?;
        Ok(Decompress { codings, max_ratio: config.max_ratio, accept })
    }

    /// How the body of a request is to be unpacked, if it is packed.
    ///
    /// # Errors
    /// When it is packed in another way: 415, with what may be sent.
    pub fn judge(&self, head: &Head) -> Result<Option<Decoding>, Failure> {
        let lists = head.fields.all(&CONTENT_ENCODING).map(|value| ascii(value).unwrap_or("?"));
        let is_coding = |name: &&str| !name.is_empty() && !name.eq_ignore_ascii_case("identity");
        let mut names = lists.flat_map(|list| list.split(',').map(str::trim)).filter(is_coding);
        let Some(name) = names.next() else { return Ok(None) };
        let known = Coding::named(name).filter(|coding| self.codings.contains(coding));
        match (known, names.next()) {
            (Some(coding), None) => Ok(Some(Decoding { coding, max_ratio: self.max_ratio })),
            (_, another) => {
                let why = if another.is_some() { "a body may be packed once" } else { "this coding is not known here" };
                let refusal = Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
                Err(refusal.with(&ACCEPT_ENCODING, &self.accept))
            }
        }
    }
}
