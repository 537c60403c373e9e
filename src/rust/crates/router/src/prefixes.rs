//! Parts of an app by their paths: everything below some prefixes. For rules that are registered for paths and hold
//! for everything there: routes, static files, and requests that no route takes.
//!
//! Paths are read as by `router`: decoded segment by segment, literals in either case unless the router tells cases
//! apart. A prefix covers whole segments: `/api` covers `/api` and `/api/x`, not `/apis`.

use crate::segment::Segment;
use crate::{Pattern, PatternError};

/// See the module.
#[derive(Debug)]
pub struct Prefixes {
    case_sensitive: bool,
    /// the segments of each
    prefixes: Vec<Vec<Segment>>,
}

/// How much of a route's requests some prefixes cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// all of them
    Always,
    /// none
    Never,
    /// it depends on the path: ask [`Prefixes::cover`]
    ByPath,
}

impl Prefixes {
    /// Those of `texts`, which are patterns; a slash at the end of one does not count. Of no texts: all paths.
    ///
    /// # Errors
    /// When one is no pattern.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t str>, case_sensitive: bool) -> Result<Prefixes, PatternError> {
        let mut prefixes = Vec::new();
        let mut everything = true;
        for text in texts {
            everything = false;
            prefixes.push(match text.trim_end_matches('/') {
                "" if text.starts_with('/') => Vec::new(),
                prefix => Pattern::parse(prefix)?.segments(case_sensitive),
            });
        }
        if everything {
            prefixes.push(Vec::new());
        }
        Ok(Prefixes { case_sensitive, prefixes })
    }

    /// Whether `raw_path` (as sent, without the query) is below one of them. A path that is no path is below the root
    /// only.
    pub fn cover(&self, raw_path: &str) -> bool {
        self.prefixes.iter().any(|prefix| self.covers(prefix, raw_path))
    }

    fn covers(&self, prefix: &[Segment], raw_path: &str) -> bool {
        let below = prefix.iter().try_fold(raw_path, |path, segment| match segment {
            // always last
            Segment::Rest => path.strip_prefix('/'),
            _ => segment.strip(path, self.case_sensitive),
        });
        below.is_some()
    }

    /// How much of the requests for this route they cover.
    pub fn reach(&self, route: &Pattern) -> Reach {
        let route = route.segments(self.case_sensitive);
        if self.prefixes.iter().any(|prefix| hides(prefix, &route)) {
            return Reach::Always;
        }
        // the path of a route without placeholders is known
        if route.iter().all(|segment| matches!(segment, Segment::Literal(_))) {
            return Reach::Never;
        }
        Reach::ByPath
    }
}

/// Whether all paths that match `route` are below `prefix`; `false` where that cannot be told.
fn hides(prefix: &[Segment], route: &[Segment]) -> bool {
    let (fixed, rest) = match prefix.split_last() {
        Some((Segment::Rest, fixed)) => (fixed, 1),
        _ => (prefix, 0),
    };
    route.len() >= fixed.len() + rest && fixed.iter().zip(route).all(|(one, other)| one.covers(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefixes(texts: &str) -> Prefixes {
        Prefixes::new(texts.split_whitespace(), false).unwrap()
    }

    #[test]
    fn whole_segments_are_covered() {
        for (texts, covered, others) in [
            ("", "/ /a * //", ""),
            ("/", "/ /a/b //", ""),
            ("/api", "/api /api/ /api/x /API/x /%61pi", "/apis /ap / /x/api * //api"),
            ("/api/", "/api /api/x", "/apis"),
            ("/t/<id:int>/x", "/t/1/x /t/12/X/y", "/t/a/x /t/1 /t/1/y"),
            ("/f/*rest", "/f/ /f/a/b", "/f /g/"),
            ("/a /b", "/a/1 /b", "/c"),
            ("/a", "/a/%zz", "/%zz/a"),
        ] {
            let prefixes = prefixes(texts);
            for path in covered.split_whitespace() {
                assert!(prefixes.cover(path), "{texts}: {path}");
            }
            for path in others.split_whitespace() {
                assert!(!prefixes.cover(path), "{texts}: {path}");
            }
        }
        assert!(!Prefixes::new(["/api"], true).unwrap().cover("/API"));
        assert!(Prefixes::new(["api"], true).is_err());
    }

    #[test]
    fn routes_are_reached_always_never_or_by_path() {
        for (texts, route, reach) in [
            ("", "/*", Reach::Always),
            ("/api", "/api", Reach::Always),
            ("/api", "/API/<x>/y", Reach::Always),
            ("/api", "/apis", Reach::Never),
            ("/api", "/<x>/y", Reach::ByPath),
            ("/api", "/*", Reach::ByPath),
            ("/api", "/api/*", Reach::Always),
            ("/api/<x:int>", "/api/<y:int>/z", Reach::Always),
            ("/api/<x:int>", "/api/12", Reach::Always),
            ("/api/<x:int>", "/api/a", Reach::Never),
            ("/api/<x:int>", "/api/<y>", Reach::ByPath),
            ("/f/*", "/f", Reach::Never),
            ("/f/*", "/f/a", Reach::Always),
            ("/f/*", "/f/*", Reach::Always),
        ] {
            assert_eq!(prefixes(texts).reach(&Pattern::parse(route).unwrap()), reach, "{texts}: {route}");
        }
    }
}
