//! Patterns of routes: the text an app gives to `dr_get()` and its kin, read and checked.
//!
//! A pattern starts with `/` and is split at `/` into segments. In a segment,
//! - `:id`, `<id>` and `{id}` are the same placeholder: one or more characters of one segment, alone or among literal
//!   text (`/file-<n>.csv`). Only `<>` and `{}` carry a type: `<id:int>`. After a `:` the longest possible name is
//!   taken; a `:` that no name follows is literal. Two placeholders need literal text between them, so that a path can
//!   be cut in one way only.
//! - `*name`, or just `*` (whose name is `*`), alone in the last segment is a catch-all: the rest of the path, slashes
//!   and all. It may be empty: `/files/*rest` matches `/files/` (but not `/files`).
//!
//! Everything else is literal, as it reads after percent-decoding; `/a/` and `/a` are different patterns.

use crate::segment::Segment;
use crate::ParamType;
use std::fmt;

/// A placeholder of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// `[A-Za-z_][A-Za-z0-9_]*`, or `*` for a catch-all without a name
    pub name: String,
    /// [`ParamType::Str`] when the pattern gives none
    pub kind: ParamType,
}

/// A pattern that was read without a mistake.
#[derive(Clone, Debug)]
pub struct Pattern {
    segments: Vec<Segment>,
    params: Vec<Param>,
    canonical: String,
}

/// What is wrong with a pattern. Displayed as one sentence for the author of the app, with the pattern in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    pattern: String,
    mistake: Mistake,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Mistake {
    NoLeadingSlash,
    BadName(String),
    UnknownType(String),
    Unclosed(char),
    Unopened(char),
    Adjacent,
    CatchAllNotLast,
    DuplicateNames,
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pattern = &self.pattern;
        match &self.mistake {
            Mistake::NoLeadingSlash => write!(f, "a path must start with '/', not '{pattern}'"),
            Mistake::BadName(name) => write!(
                f,
                "bad path parameter name '{name}' in '{pattern}': a letter or '_', then letters, digits or '_'"
            ),
            Mistake::UnknownType(name) => {
                write!(f, "unknown path parameter type '{name}' in '{pattern}': use int, dbl, bool, str or uuid")?;
                if name == "path" {
                    f.write_str("; for the rest of a path end with '*name'")?;
                }
                Ok(())
            }
            Mistake::Unclosed(bracket) => write!(f, "'{bracket}' is not closed within its segment in '{pattern}'"),
            Mistake::Unopened(bracket) => write!(f, "'{bracket}' closes nothing in '{pattern}'"),
            Mistake::Adjacent => {
                write!(f, "two path parameters without text between them in '{pattern}' (a type is written '<id:int>')")
            }
            Mistake::CatchAllNotLast => {
                write!(f, "a catch-all must be alone in the last segment of '{pattern}', as in '/files/*rest'")
            }
            Mistake::DuplicateNames => write!(f, "duplicate path parameter names in '{pattern}'"),
        }
    }
}

impl std::error::Error for PatternError {}

impl Pattern {
    /// Reads `text`.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        let fail = |mistake| PatternError { pattern: text.to_owned(), mistake };
        let path = text.strip_prefix('/').ok_or_else(|| fail(Mistake::NoLeadingSlash))?;
        let mut params = Vec::new();
        let mut segments = Vec::new();
        for part in path.split('/') {
            if segments.last() == Some(&Segment::Rest) {
                return Err(fail(Mistake::CatchAllNotLast));
            }
            segments.push(parse_segment(part, &mut params).map_err(fail)?);
        }
        let duplicate = |(at, param): (usize, &Param)| params[..at].iter().any(|other| other.name == param.name);
        if params.iter().enumerate().any(duplicate) {
            return Err(fail(Mistake::DuplicateNames));
        }
        let mut names = params.iter().map(|param| param.name.as_str());
        let canonical = write_pattern(&segments, || names.next().unwrap_or_default());
        Ok(Pattern { segments, params, canonical })
    }

    /// The pattern with every placeholder as `<id>` or `<id:int>`. Reading it gives the same pattern again.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The placeholders, from left to right.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// A key that is equal for two patterns exactly when they match the same paths in the same pieces: the canonical
    /// text without names and, unless `case_sensitive`, with the literals in lower case.
    pub fn shape(&self, case_sensitive: bool) -> String {
        write_pattern(&self.segments(case_sensitive), || "")
    }

    /// What follows in `raw_path` after the segments of this pattern: nothing, or a part that starts with `/`; `None`
    /// when the path does not start like that. For prefixes, such as the mounts of static files: literals match in
    /// their own case only, and a pattern with a catch-all is no prefix.
    pub fn strip<'p>(&self, raw_path: &'p str) -> Option<&'p str> {
        self.segments.iter().try_fold(raw_path, |path, segment| segment.strip(path, true))
    }

    /// Whether each path that matches `later` matches this pattern, too: registered before it, this one answers all its
    /// requests. `false` where that cannot be told by comparing segments as they are written.
    pub fn hides(&self, later: &Pattern) -> bool {
        let (own, others) = (&self.segments, &later.segments);
        let rest = own.last() == Some(&Segment::Rest);
        let fixed = own.len() - usize::from(rest);
        let long_enough = if rest { others.len() > fixed } else { others.len() == fixed };
        long_enough && own.iter().zip(others).take(fixed).all(|(one, other)| one.covers(other))
    }

    /// The literal that all paths begin with that it matches, if it begins with one.
    pub fn first_literal(&self) -> Option<&str> {
        match self.segments.first() {
            Some(Segment::Literal(text)) => Some(text),
            _ => None,
        }
    }

    /// The segments, with literals in lower case unless `case_sensitive`.
    pub(crate) fn segments(&self, case_sensitive: bool) -> Vec<Segment> {
        self.segments
            .iter()
            .map(|segment| if case_sensitive { segment.clone() } else { segment.to_lowercase() })
            .collect()
    }
}

/// The text of `segments`, taking the name of each placeholder from `name`.
fn write_pattern<'n>(segments: &[Segment], mut name: impl FnMut() -> &'n str) -> String {
    let mut text = String::new();
    let placeholder = |text: &mut String, name: &str, kind: &ParamType| {
        text.push('<');
        text.push_str(name);
        if *kind != ParamType::Str {
            text.push(':');
            text.push_str(kind.name());
        }
        text.push('>');
    };
    for segment in segments {
        text.push('/');
        match segment {
            Segment::Literal(literal) => text.push_str(literal),
            Segment::Param(kind) => placeholder(&mut text, name(), kind),
            Segment::Mixed { literals, types } => {
                for (literal, kind) in literals.iter().zip(types) {
                    text.push_str(literal);
                    placeholder(&mut text, name(), kind);
                }
                text.extend(literals.last().map(String::as_str));
            }
            Segment::Rest => {
                text.push('*');
                // a bare catch-all is called "*": not written twice
                text.push_str(name().trim_start_matches('*'));
            }
        }
    }
    text
}

/// Reads one segment and appends its placeholders to `params`.
fn parse_segment(text: &str, params: &mut Vec<Param>) -> Result<Segment, Mistake> {
    if let Some(name) = text.strip_prefix('*') {
        let name = if name.is_empty() { "*" } else { checked_name(name)? };
        params.push(Param { name: name.to_owned(), kind: ParamType::Str });
        return Ok(Segment::Rest);
    }
    let mut literals = vec![String::new()];
    let mut types = Vec::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let after = &rest[next.len_utf8()..];
        let (param, remaining) = match next {
            '<' => bracketed(after, next, '>')?,
            '{' => bracketed(after, next, '}')?,
            '>' | '}' => return Err(Mistake::Unopened(next)),
            ':' if after.starts_with(is_name_start) => {
                let (name, remaining) = after.split_at(after.find(|c| !is_name(c)).unwrap_or(after.len()));
                (Param { name: name.to_owned(), kind: ParamType::Str }, remaining)
            }
            _ => {
                literals.last_mut().expect("starts with one literal").push(next);
                rest = after;
                continue;
            }
        };
        if !types.is_empty() && literals.last().is_some_and(String::is_empty) {
            return Err(Mistake::Adjacent);
        }
        types.push(param.kind);
        params.push(param);
        literals.push(String::new());
        rest = remaining;
    }
    Ok(match (&mut literals[..], &types[..]) {
        ([literal], _) => Segment::Literal(std::mem::take(literal)),
        ([before, after], [kind]) if before.is_empty() && after.is_empty() => Segment::Param(*kind),
        _ => Segment::Mixed { literals, types },
    })
}

/// The placeholder in `text` up to `close`, and what follows it.
fn bracketed(text: &str, open: char, close: char) -> Result<(Param, &str), Mistake> {
    let (inner, remaining) = text.split_once(close).ok_or(Mistake::Unclosed(open))?;
    let (name, kind) = match inner.split_once(':') {
        None => (inner, ParamType::Str),
        Some((name, kind)) => (name, ParamType::from_name(kind).ok_or_else(|| Mistake::UnknownType(kind.to_owned()))?),
    };
    Ok((Param { name: checked_name(name)?.to_owned(), kind }, remaining))
}

fn checked_name(name: &str) -> Result<&str, Mistake> {
    if name.starts_with(is_name_start) && name.chars().all(is_name) {
        Ok(name)
    } else {
        Err(Mistake::BadName(name.to_owned()))
    }
}

fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        Pattern::parse(text).unwrap_or_else(|error| panic!("{error}")).canonical().to_owned()
    }

    fn error(text: &str) -> String {
        Pattern::parse(text).expect_err(text).to_string()
    }

    #[test]
    fn the_three_syntaxes_are_equivalent() {
        for text in ["/u/:id/x", "/u/<id>/x", "/u/{id}/x", "/u/<id:str>/x", "/u/{id:string}/x"] {
            assert_eq!(canonical(text), "/u/<id>/x");
        }
        assert_eq!(canonical("/u/{id:integer}"), "/u/<id:int>");
        assert_eq!(canonical("/u/<x:number>/<y:logical>/<z:uuid>"), "/u/<x:dbl>/<y:bool>/<z:uuid>");
        assert_eq!(canonical("/file-:n.csv"), "/file-<n>.csv");
        assert_eq!(canonical("/:a.{b}"), "/<a>.<b>");
    }

    #[test]
    fn canonical_text_reads_back_to_itself() {
        for text in ["/", "//", "/a/", "/a/*rest", "/*", "/v<a:int>.:b-{c}x", "/12:30", "/a::b", "/a*b", "/é/<_x9>*"] {
            let first = canonical(text);
            assert_eq!(canonical(&first), first);
        }
    }

    #[test]
    fn params_are_in_order_with_their_types() {
        let pattern = Pattern::parse("/:b/<a:int>-x/*rest").unwrap();
        let params: Vec<_> = pattern.params().iter().map(|p| (p.name.as_str(), p.kind)).collect();
        assert_eq!(params, [("b", ParamType::Str), ("a", ParamType::Int), ("rest", ParamType::Str)]);
        assert_eq!(Pattern::parse("/*").unwrap().params()[0].name, "*");
        assert!(Pattern::parse("/").unwrap().params().is_empty());
    }

    #[test]
    fn what_is_no_placeholder_is_literal() {
        for text in ["/12:30", "/a:", "/a:/b", "/a*b", "/*a"] {
            assert_eq!(canonical(text), text);
        }
        assert_eq!(Pattern::parse("/12:30/a*b").unwrap().params(), []);
    }

    #[test]
    fn shapes_forget_names_and_case() {
        let shape = |text, case_sensitive| Pattern::parse(text).unwrap().shape(case_sensitive);
        assert_eq!(shape("/Users/:id", false), shape("/users/{name}", false));
        assert_ne!(shape("/Users/:id", true), shape("/users/{name}", true));
        assert_ne!(shape("/users/<id:int>", false), shape("/users/<id>", false));
        assert_ne!(shape("/users", false), shape("/users/", false));
        assert_eq!(shape("/f/*", false), shape("/f/*rest", false));
        assert_eq!(shape("/f/V<a:int>.<b>", false), "/f/v<:int>.<>");
    }

    #[test]
    fn a_pattern_hides_those_that_match_nothing_else() {
        let pattern = |text| Pattern::parse(text).unwrap();
        let hides = |earlier, later| pattern(earlier).hides(&pattern(later));
        for (earlier, later) in [
            ("/z/:a", "/z/:b"),
            ("/z/:a", "/z/<b:int>"),
            ("/users/:id", "/users/me"),
            ("/n/<n:int>", "/n/12"),
            ("/f/<x>.csv", "/f/all.csv"),
            ("/f/<x>.csv", "/f/<y>.csv"),
            ("/f/:x", "/f/<y>.csv"),
            ("/*", "/"),
            ("/a/*rest", "/a/b/c"),
            ("/a/*rest", "/a/:b/*c"),
            ("/a/*rest", "/a/"),
        ] {
            assert!(hides(earlier, later), "{earlier} {later}");
        }
        for (earlier, later) in [
            ("/z/<a:int>", "/z/:b"),
            ("/users/me", "/users/:id"),
            ("/n/<n:int>", "/n/x"),
            ("/a/*rest", "/a"),
            ("/a/:x", "/a/"),
            ("/a/:x", "/a/*y"),
            ("/f/<x>.csv", "/f/<x>.txt"),
            ("/a", "/a/b"),
            ("/A", "/a"),
        ] {
            assert!(!hides(earlier, later), "{earlier} {later}");
        }
    }

    #[test]
    fn prefixes_are_stripped_by_whole_segments() {
        let pattern = Pattern::parse("/t/<id:int>/café").unwrap();
        for (path, rest) in [
            ("/t/1/café", Some("")),
            ("/t/1/caf%c3%a9/", Some("/")),
            ("/%74/1/café/a%2fb//c", Some("/a%2fb//c")),
            ("/t/x/café", None),
            ("/t/1/cafés", None),
            ("/T/1/café", None),
            ("/t/1", None),
            ("/t/1%/café", None),
            ("t/1/café", None),
            ("", None),
        ] {
            assert_eq!(pattern.strip(path), rest, "{path}");
        }
        assert_eq!(Pattern::parse("/a/*rest").unwrap().strip("/a/b"), None);
    }

    #[test]
    fn mistakes_are_explained() {
        let table = [
            ("", "a path must start with '/', not ''"),
            ("a", "a path must start with '/', not 'a'"),
            ("/<id>/:id", "duplicate path parameter names in '/<id>/:id'"),
            ("/<id>/*id", "duplicate path parameter names in '/<id>/*id'"),
            ("/<id:date>", "unknown path parameter type 'date' in '/<id:date>': use int, dbl, bool, str or uuid"),
            ("/<id:>", "unknown path parameter type '' in"),
            ("/<p:path>", "for the rest of a path end with '*name'"),
            ("/*rest/x", "a catch-all must be alone in the last segment of '/*rest/x'"),
            ("/*rest/", "a catch-all must be alone in the last segment"),
            ("/*.css", "bad path parameter name '.css' in '/*.css'"),
            ("/<1a>", "bad path parameter name '1a' in '/<1a>'"),
            ("/<>", "bad path parameter name ''"),
            ("/{a b}", "bad path parameter name 'a b'"),
            ("/<é>", "bad path parameter name 'é'"),
            ("/<id", "'<' is not closed within its segment in '/<id'"),
            ("/{id/x}", "'{' is not closed within its segment"),
            ("/id>", "'>' closes nothing in '/id>'"),
            ("/a}", "'}' closes nothing"),
            ("/<a><b>", "two path parameters without text between them in '/<a><b>'"),
            ("/:id:int", "(a type is written '<id:int>')"),
        ];
        for (text, part) in table {
            let message = error(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
