//! The Content-Type of a file, by the extension of its name.

use http::HeaderValue;

/// What is known about a file from its name.
pub(crate) struct MediaType {
    pub(crate) header: HeaderValue,
    /// whether a precompressed sibling is worth looking for
    pub(super) compressible: bool,
}

/// The media type of `path`: text is UTF-8, and what is not known is bytes.
pub(crate) fn of(path: &str) -> MediaType {
    let name = path.rsplit('/').next().unwrap_or(path);
    let essence = name
        .rsplit_once('.')
        .and_then(|(_, extension)| mime_guess::from_ext(extension).first_raw())
        .unwrap_or("application/octet-stream");
    MediaType { header: header(essence), compressible: is_compressible(essence) }
}

fn header(essence: &'static str) -> HeaderValue {
    // the common ones are spelled out: no allocation
    HeaderValue::from_static(match essence {
        "text/html" => "text/html; charset=utf-8",
        "text/css" => "text/css; charset=utf-8",
        "text/javascript" => "text/javascript; charset=utf-8",
        "text/plain" => "text/plain; charset=utf-8",
        "text/csv" => "text/csv; charset=utf-8",
        "text/markdown" => "text/markdown; charset=utf-8",
        other if other.starts_with("text/") => {
            return HeaderValue::from_str(&format!("{other}; charset=utf-8"))
                .unwrap_or(HeaderValue::from_static("text/plain; charset=utf-8"));
        }
        other => other,
    })
}

fn is_compressible(essence: &str) -> bool {
    essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            essence,
            "application/javascript"
                | "application/json"
                | "application/wasm"
                | "application/xml"
                | "font/otf"
                | "font/ttf"
                | "image/bmp"
                | "image/x-icon"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_by_extension() {
        for (path, header, compressible) in [
            ("a/b.html", "text/html; charset=utf-8", true),
            ("a.CSS", "text/css; charset=utf-8", true),
            ("a.min.js", "text/javascript; charset=utf-8", true),
            ("a.csv", "text/csv; charset=utf-8", true),
            ("a.vcf", "text/x-vcard; charset=utf-8", true),
            ("a.json", "application/json", true),
            ("a.svg", "image/svg+xml", true),
            ("a.wasm", "application/wasm", true),
            ("a.png", "image/png", false),
            ("a.woff2", "font/woff2", false),
            ("a.js.gz", "application/gzip", false),
            ("a.unknown", "application/octet-stream", false),
            ("v1.0/README", "application/octet-stream", false),
            ("", "application/octet-stream", false),
        ] {
            let found = of(path);
            assert_eq!(found.header, header, "{path}");
            assert_eq!(found.compressible, compressible, "{path}");
        }
    }
}
