//! The router against a naive reference: every pattern as one regular expression per segment, tried in order.

use proptest::prelude::*;
use regex::Regex;
use router::{Match, Method, MethodSet, Params, Pattern, RouterBuilder};

/// The reference for one canonical pattern: its segments as expressions, and whether a catch-all follows.
struct Reference {
    segments: Vec<Regex>,
    rest: bool,
}

impl Reference {
    fn new(canonical: &str, case_sensitive: bool) -> Reference {
        let mut segments: Vec<&str> = canonical[1..].split('/').collect();
        let rest = segments.last().is_some_and(|last| last.starts_with('*'));
        segments.truncate(segments.len() - usize::from(rest));
        let flags = if case_sensitive { "(?s)" } else { "(?si)" };
        let expression = |segment: &&str| {
            let mut text = format!("{flags}^");
            let mut left = *segment;
            while let Some((literal, after)) = left.split_once('<') {
                let (name, after) = after.split_once('>').unwrap();
                text.push_str(&regex::escape(literal));
                // only whole segments are typed here: among literals the cut comes before the type
                text.push_str(match name.split_once(':') {
                    Some((_, "int")) => "(-?[0-9]+)",
                    Some((_, "bool")) => "((?i:true|false|t|f|1|0))",
                    _ => "(.+)",
                });
                left = after;
            }
            text.push_str(&regex::escape(left));
            text.push('$');
            Regex::new(&text).unwrap()
        };
        Reference { segments: segments.iter().map(expression).collect(), rest }
    }

    fn values(&self, path: &[String]) -> Option<Vec<String>> {
        let enough = if self.rest { path.len() > self.segments.len() } else { path.len() == self.segments.len() };
        if !enough {
            return None;
        }
        let mut values = Vec::new();
        for (expression, segment) in self.segments.iter().zip(path) {
            let captures = expression.captures(segment)?;
            values.extend(captures.iter().skip(1).flatten().map(|value| value.as_str().to_owned()));
        }
        if self.rest {
            values.push(path[self.segments.len()..].join("/"));
        }
        Some(values)
    }
}

fn method() -> impl Strategy<Value = Method> {
    prop::sample::select(vec![Method::Get, Method::Head, Method::Post, Method::Other])
}

fn methods() -> impl Strategy<Value = MethodSet> {
    prop_oneof![
        9 => (method(), method()).prop_map(|(a, b)| MethodSet::from(a) | MethodSet::from(b)),
        1 => Just(MethodSet::ANY),
    ]
}

/// Segments from a small alphabet, so that patterns collide with each other and with paths.
fn pattern() -> impl Strategy<Value = String> {
    let literal = prop::sample::select(vec!["", "a", "b", "A", "ab", "1", "é"]);
    let inner = prop::sample::select(vec!["a", "-", "é", "Ab"]);
    let segment = prop_oneof![
        4 => literal.clone().prop_map(str::to_owned),
        2 => Just("<N>".to_owned()),
        1 => Just("<N:int>".to_owned()),
        1 => Just("<N:bool>".to_owned()),
        1 => (literal.clone(), literal.clone()).prop_map(|(a, b)| format!("{a}<N>{b}")),
        1 => (literal.clone(), inner.clone(), literal.clone()).prop_map(|(a, b, c)| format!("{a}<N>{b}<N>{c}")),
        1 => (inner.clone(), inner).prop_map(|(a, b)| format!("<N>{a}<N>{b}<N>")),
    ];
    (prop::collection::vec(segment, 1..4), prop::bool::weighted(0.2)).prop_map(|(segments, rest)| {
        let mut text = String::new();
        for segment in segments {
            text.push('/');
            text.push_str(&segment);
        }
        if rest {
            text.push_str("/*rest");
        }
        // numbered, so that no name comes twice
        let mut pieces = text.split("<N");
        let mut named = pieces.next().unwrap_or_default().to_owned();
        for (at, piece) in pieces.enumerate() {
            named.push_str(&format!("<p{at}{piece}"));
        }
        named
    })
}

/// A path as decoded segments, and as sent: some bytes escaped.
fn path() -> impl Strategy<Value = (Vec<String>, String)> {
    let piece = prop::sample::select(vec!["a", "b", "A", "B", "-", "1", "é", "/", "%", "t"]);
    let segment = prop::collection::vec((piece, any::<bool>()), 0..5).prop_map(|pieces| {
        let mut decoded = String::new();
        let mut sent = String::new();
        for (piece, escape) in pieces {
            decoded.push_str(piece);
            if escape || piece == "/" || piece == "%" {
                piece.bytes().for_each(|byte| sent.push_str(&format!("%{byte:02x}")));
            } else {
                sent.push_str(piece);
            }
        }
        (decoded, sent)
    });
    prop::collection::vec(segment, 1..5).prop_map(|segments| {
        let (decoded, sent): (Vec<_>, Vec<_>) = segments.into_iter().unzip();
        (decoded, format!("/{}", sent.join("/")))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_reference(
        case_sensitive: bool,
        routes in prop::collection::vec((methods(), pattern()), 0..8),
        requests in prop::collection::vec((method(), path()), 1..16),
    ) {
        let mut builder = RouterBuilder::new(case_sensitive);
        let mut references = Vec::new();
        for (target, (methods, text)) in (0..).zip(&routes) {
            let pattern = Pattern::parse(text).unwrap();
            references.push((*methods, Reference::new(pattern.canonical(), case_sensitive)));
            builder.add(*methods, pattern, target);
        }
        let router = builder.build();

        for (method, (decoded, sent)) in &requests {
            let matching: Vec<_> = references
                .iter()
                .enumerate()
                .filter_map(|(at, (methods, reference))| Some((at, *methods, reference.values(decoded)?)))
                .collect();
            let first = |method| matching.iter().find(|(_, methods, _)| methods.contains(method));
            let expected = match first(*method) {
                None if *method == Method::Head => first(Method::Get),
                found => found,
            };
            let mut params = Params::new();
            let answer = router.find(*method, sent, &mut params);
            match expected {
                Some((at, _, values)) => {
                    prop_assert_eq!(answer, Match::Found { target: *at as u32, route: *at });
                    prop_assert_eq!(&params[..], &values[..]);
                }
                None => {
                    let methods = matching.iter().fold(MethodSet::NONE, |all, (_, methods, _)| all | *methods);
                    let expected =
                        if methods.is_empty() { Match::NotFound } else { Match::MethodNotAllowed(methods.allowed()) };
                    prop_assert_eq!(answer, expected);
                    prop_assert!(params.is_empty());
                }
            }
        }
    }

    #[test]
    fn any_text_is_a_pattern_or_an_error(text in "[/a<>{}:*é%1_ -]{0,24}") {
        if let Ok(pattern) = Pattern::parse(&text) {
            let again = Pattern::parse(pattern.canonical()).unwrap();
            prop_assert_eq!(again.canonical(), pattern.canonical());
            prop_assert_eq!(again.params(), pattern.params());
            prop_assert_eq!(again.shape(false), pattern.shape(false));
        }
    }

    #[test]
    fn any_path_gets_an_answer(path in "\\PC{0,64}", patterns in prop::collection::vec(pattern(), 0..8)) {
        let mut builder = RouterBuilder::new(false);
        for text in &patterns {
            builder.add(MethodSet::ANY, Pattern::parse(text).unwrap(), 0);
        }
        let mut params = Params::new();
        builder.build().find(Method::Get, &path, &mut params);
    }
}
