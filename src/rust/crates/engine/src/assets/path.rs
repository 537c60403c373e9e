//! What a client may ask for below a mount: the rest of its path as a relative path of the file system, or why not.
//!
//! Not the guard of the directory (that is the kernel, see `root`): this refuses what no file should be asked for by,
//! before the disk is touched.
//!
//! Two answers: a path that cannot be read at all (malformed escape, NUL byte, not UTF-8) is 400, as for routes. A path
//! that reads well but names nothing served is 404, like any missing file, so that no client learns what lies hidden:
//! a segment with a slash, a backslash or a control character in it (`%2f`, `%5c`), an empty one, and one that starts
//! with a dot: hidden files, `.` and `..`.

use http::StatusCode;
use router::decode;
use std::borrow::Cow;

/// The file served for a directory.
pub(super) const INDEX: &str = "index.html";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target<'p> {
    /// what has this name: a file, or a directory that the client named without a slash
    Named(Cow<'p, str>),
    /// the index of a directory, asked for with its slash
    Index(String),
}

/// Reads `rest`, the part of a raw path after its mount: empty, or starting with `/`.
pub(super) fn target(rest: &str) -> Result<Target<'_>, StatusCode> {
    let Some(relative) = rest.strip_prefix('/') else {
        return Ok(Target::Named(Cow::Borrowed(".")));
    };
    let (directories, last) = match relative.rsplit_once('/') {
        Some((directories, last)) => (Some(directories), last),
        None => (None, relative),
    };
    let mut segments = directories.into_iter().flat_map(|text| text.split('/'));
    segments.try_for_each(check)?;
    if !last.is_empty() {
        check(last)?;
    }
    // no segment holds a slash once decoded, so the whole can be decoded at once
    let path = decode(relative).map_err(|_| StatusCode::BAD_REQUEST)?;
    Ok(if last.is_empty() { Target::Index(format!("{path}{INDEX}")) } else { Target::Named(path) })
}

fn check(segment: &str) -> Result<(), StatusCode> {
    let name = decode(segment).map_err(|_| StatusCode::BAD_REQUEST)?;
    let refused =
        name.is_empty() || name.starts_with('.') || name.contains(|c: char| c == '/' || c == '\\' || c.is_control());
    if refused {
        Err(StatusCode::NOT_FOUND)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_indices() {
        let named = |text: &'static str| Ok(Target::Named(Cow::Borrowed(text)));
        assert_eq!(target(""), named("."));
        assert_eq!(target("/a.txt"), named("a.txt"));
        assert_eq!(target("/d/e.f/a..b"), named("d/e.f/a..b"));
        assert_eq!(target("/a%20b/caf%C3%A9%25"), named("a b/café%"));
        assert_eq!(target("/"), Ok(Target::Index("index.html".into())));
        assert_eq!(target("/d%20/"), Ok(Target::Index("d /index.html".into())));
        assert!(matches!(target("/d/a.txt"), Ok(Target::Named(Cow::Borrowed(_)))), "no copy without escapes");
    }

    #[test]
    fn refusals() {
        for (rest, status) in [
            ("/..", 404),
            ("/../x", 404),
            ("/a/../../x", 404),
            ("/%2e%2e/x", 404),
            ("/.%2E/x", 404),
            ("/./x", 404),
            ("/.git/config", 404),
            ("/a/.env", 404),
            ("/...", 404),
            ("//etc/passwd", 404),
            ("/a//b", 404),
            ("/a//", 404),
            ("/%2fetc%2fpasswd", 404),
            ("/..%2f..%2fetc", 404),
            ("/a%2Fb", 404),
            ("/..%5c..%5cx", 404),
            ("/a\\b", 404),
            ("/a%0ab", 404),
            ("/a%7f", 404),
            ("/%252e%252e/x", 200),
            ("/a%00.txt", 400),
            ("/a%", 400),
            ("/a%zz", 400),
            ("/%c0%ae%c0%ae/x", 400),
            ("/%ff", 400),
        ] {
            let answer = target(rest).map_or_else(|status| status.as_u16(), |_| 200);
            assert_eq!(answer, status, "{rest}");
        }
    }
}
