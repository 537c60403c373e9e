//! One segment of a pattern, and whether a decoded segment of a path matches it.
//!
//! A segment with several placeholders is cut by its literals alone, each at its rightmost possible place
//! (what a greedy `[^/]+` for each placeholder gives); the types then judge the values. That is linear in the segment
//! for each literal, for any path; there is no backtracking.

use crate::percent::decode;
use crate::ParamType;
use smallvec::SmallVec;

/// A segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    /// exactly this text
    Literal(String),
    /// a whole segment
    Param(ParamType),
    /// placeholders with literals around them: `literals` has one more than `types`, only the outer two may be empty
    Mixed { literals: Vec<String>, types: Vec<ParamType> },
    /// the rest of the path, always last
    Rest,
}

/// The values of the placeholders of one segment.
pub(crate) type Values<'t> = SmallVec<[&'t str; 4]>;

impl Segment {
    /// The segment with its literals in lower case (ASCII letters only).
    pub(crate) fn to_lowercase(&self) -> Segment {
        match self {
            Segment::Literal(text) => Segment::Literal(text.to_ascii_lowercase()),
            Segment::Mixed { literals, types } => Segment::Mixed {
                literals: literals.iter().map(|text| text.to_ascii_lowercase()).collect(),
                types: types.clone(),
            },
            other => other.clone(),
        }
    }

    /// Whether all segments that match `other` match this one; `false` where that cannot be told.
    pub(crate) fn covers(&self, other: &Segment) -> bool {
        match (self, other) {
            (_, Segment::Literal(text)) => self.values(text, true).is_some(),
            // a segment with a placeholder has at least one character
            (Segment::Param(ParamType::Str), Segment::Param(_) | Segment::Mixed { .. }) => true,
            (Segment::Rest, _) | (_, Segment::Rest) => false,
            _ => self == other,
        }
    }

    /// What follows in a path, as sent, of which this segment is the first: nothing, or a part that starts with `/`;
    /// `None` when another is. A literal that is not there is seen at its first character that differs.
    pub(crate) fn strip<'p>(&self, path: &'p str, case_sensitive: bool) -> Option<&'p str> {
        let path = path.strip_prefix('/')?;
        if let Segment::Literal(literal) = self {
            let alike = |(one, other): &(u8, u8)| one == other || !case_sensitive && one.eq_ignore_ascii_case(other);
            let begins =
                literal.bytes().zip(path.bytes()).take_while(alike).take_while(|(one, _)| *one != b'%').count();
            // up to an escape, what was sent is what is meant
            match path.as_bytes().get(begins) {
                Some(b'%') => {}
                None | Some(b'/') => return (begins == literal.len()).then(|| &path[begins..]),
                Some(_) => return None,
            }
        }
        let (first, rest) = path.split_at(path.find('/').unwrap_or(path.len()));
        self.values(&decode(first).ok()?, case_sensitive)?;
        Some(rest)
    }

    /// The values in `text`, in pattern order; `None` when it does not match. [`Segment::Rest`] is not about one
    /// segment and matches none.
    pub(crate) fn values<'t>(&self, text: &'t str, case_sensitive: bool) -> Option<Values<'t>> {
        match self {
            Segment::Literal(literal) => same(literal, text, case_sensitive).then(Values::new),
            Segment::Param(kind) => kind.accepts(text).then(|| Values::from_iter([text])),
            Segment::Mixed { literals, types } => {
                let values = cut(literals, text, case_sensitive)?;
                types.iter().zip(&values).all(|(kind, value)| kind.accepts(value)).then_some(values)
            }
            Segment::Rest => None,
        }
    }
}

fn same(literal: &str, text: &str, case_sensitive: bool) -> bool {
    if case_sensitive {
        literal == text
    } else {
        literal.eq_ignore_ascii_case(text)
    }
}

/// Cuts `text` at `literals`, from the right.
fn cut<'t>(literals: &[String], text: &'t str, case_sensitive: bool) -> Option<Values<'t>> {
    let (first, others) = literals.split_first()?;
    let (last, inner) = others.split_last()?;
    let end = text.len().checked_sub(last.len())?;
    let mut open = at(text, last, end, case_sensitive)?.0;
    open = at(open, first, 0, case_sensitive)?.1;
    let mut values = Values::new();
    for literal in inner.iter().rev() {
        // one byte at least is left on each side for the values there
        let found = (1..open.len().saturating_sub(literal.len()))
            .rev()
            .find_map(|start| at(open, literal, start, case_sensitive))?;
        values.push(found.1);
        open = found.0;
    }
    if open.is_empty() {
        return None;
    }
    values.push(open);
    values.reverse();
    Some(values)
}

/// What is before and after `literal`, when it stands at byte `start` of `text`.
fn at<'t>(text: &'t str, literal: &str, start: usize, case_sensitive: bool) -> Option<(&'t str, &'t str)> {
    let (before, from) = text.split_at_checked(start)?;
    let (found, after) = from.split_at_checked(literal.len())?;
    same(literal, found, case_sensitive).then_some((before, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixed(literals: &[&str]) -> Segment {
        Segment::Mixed {
            literals: literals.iter().map(|text| text.to_string()).collect(),
            types: vec![ParamType::Str; literals.len() - 1],
        }
    }

    fn values(literals: &[&str], text: &str) -> Option<Vec<String>> {
        mixed(literals).values(text, false).map(|values| values.iter().map(|v| v.to_string()).collect())
    }

    #[test]
    fn literals_stand_at_their_rightmost_place() {
        let found = |values: &[&str]| Some(values.iter().map(|v| v.to_string()).collect::<Vec<_>>());
        assert_eq!(values(&["file-", ".csv"], "file-7.csv"), found(&["7"]));
        assert_eq!(values(&["file-", ".csv"], "FILE-a.csv.CSV"), found(&["a.csv"]));
        assert_eq!(values(&["", ".", ""], "a.b.c"), found(&["a.b", "c"]));
        assert_eq!(values(&["", ".", ""], "a.."), found(&["a", "."]));
        assert_eq!(values(&["", "--", "--", ""], "a--b--c--d"), found(&["a--b", "c", "d"]));
        assert_eq!(values(&["é", "é"], "éxéé"), found(&["xé"]));
    }

    #[test]
    fn every_value_has_at_least_one_byte() {
        for text in ["file-.csv", "file-csv", "file-", "", ".csv"] {
            assert_eq!(values(&["file-", ".csv"], text), None, "{text}");
        }
        for text in [".", "a.", ".a", "..", ""] {
            assert_eq!(values(&["", ".", ""], text), None, "{text}");
        }
        assert_eq!(values(&["ab", "b"], "ab"), None, "the literals may not overlap");
    }

    #[test]
    fn case_counts_only_when_asked() {
        assert!(mixed(&["v", ""]).values("V1", false).is_some());
        assert!(mixed(&["v", ""]).values("V1", true).is_none());
        assert!(Segment::Literal("É".into()).values("é", false).is_none(), "only ASCII letters fold");
    }

    #[test]
    fn types_judge_after_the_cut() {
        let version = Segment::Mixed {
            literals: vec!["v".into(), ".".into(), String::new()],
            types: vec![ParamType::Int, ParamType::Int],
        };
        assert_eq!(version.values("v1.-2", true).unwrap().as_slice(), ["1", "-2"]);
        assert!(version.values("v1.2.3", true).is_none());
    }
}
