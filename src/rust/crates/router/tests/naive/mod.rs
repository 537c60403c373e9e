//! The router, naively: every pattern as one regular expression per segment. What the router is compared with, here and
//! by the fuzz target `router` in `tests/fuzz`.

use regex::Regex;

/// One pattern: its segments, and whether a catch-all follows.
pub struct Reference {
    segments: Vec<Segment>,
    rest: bool,
}

/// An expression that cuts a segment at its literals, and one for the type of each value.
struct Segment {
    whole: Regex,
    types: Vec<Regex>,
}

impl Reference {
    /// Of a pattern in canonical form.
    pub fn new(canonical: &str, case_sensitive: bool) -> Reference {
        let mut segments: Vec<&str> = canonical[1..].split('/').collect();
        let rest = segments.last().is_some_and(|last| last.starts_with('*'));
        segments.truncate(segments.len() - usize::from(rest));
        // only letters of ASCII fold
        let literal = |text: &str| format!("(?{}-u:{})", if case_sensitive { "" } else { "i" }, regex::escape(text));
        let expression = |segment: &&str| {
            let mut text = String::from("(?s)^");
            let mut left = *segment;
            let mut types = Vec::new();
            while let Some((before, after)) = left.split_once('<') {
                let (name, after) = after.split_once('>').unwrap();
                text.push_str(&literal(before));
                text.push_str("(.+)");
                let kind = match name.split_once(':') {
                    Some((_, "int")) => "^-?[0-9]+$",
                    Some((_, "dbl")) => "^-?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?$",
                    Some((_, "uuid")) => "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
                    Some((_, "bool")) => "^(?i-u:true|false|t|f|1|0)$",
                    _ => "",
                };
                types.push(Regex::new(kind).unwrap());
                left = after;
            }
            text.push_str(&literal(left));
            text.push('$');
            Segment { whole: Regex::new(&text).unwrap(), types }
        };
        Reference { segments: segments.iter().map(expression).collect(), rest }
    }

    /// The values of the placeholders when the pattern matches these decoded segments.
    pub fn values(&self, path: &[String]) -> Option<Vec<String>> {
        let enough = if self.rest { path.len() > self.segments.len() } else { path.len() == self.segments.len() };
        if !enough {
            return None;
        }
        let mut values = Vec::new();
        for (expected, segment) in self.segments.iter().zip(path) {
            let captures = expected.whole.captures(segment)?;
            for (kind, value) in expected.types.iter().zip(captures.iter().skip(1).flatten()) {
                if !kind.is_match(value.as_str()) {
                    return None;
                }
                values.push(value.as_str().to_owned());
            }
        }
        if self.rest {
            values.push(path[self.segments.len()..].join("/"));
        }
        Some(values)
    }
}
