//! The router against a naive reference: every pattern as one regular expression per segment, tried in order.

mod naive;

use naive::Reference;
use proptest::prelude::*;
use regex::Regex;
use router::{Match, Method, MethodSet, Params, Pattern, Prefixes, Reach, RouterBuilder};

fn method() -> impl Strategy<Value = Method> {
    prop::sample::select(vec![Method::Get, Method::Head, Method::Post, Method::Options, Method::Other])
}

fn methods() -> impl Strategy<Value = MethodSet> {
    prop_oneof![
        9 => (method(), method()).prop_map(|(a, b)| MethodSet::from(a) | MethodSet::from(b)),
        1 => Just(MethodSet::ANY),
    ]
}

/// Segments from a small alphabet, so that patterns collide with each other and with paths.
fn pattern() -> impl Strategy<Value = String> {
    let literal = prop::sample::select(vec!["", "a", "b", "A", "ab", "1", "é", "%61"]);
    let inner = prop::sample::select(vec!["a", "-", "é", "Ab"]);
    let segment = prop_oneof![
        4 => literal.clone().prop_map(str::to_owned),
        2 => Just("<N>".to_owned()),
        1 => Just("<N:int>".to_owned()),
        1 => Just("<N:bool>".to_owned()),
        1 => (literal.clone(), literal.clone()).prop_map(|(a, b)| format!("{a}<N>{b}")),
        1 => (literal.clone(), inner.clone(), literal.clone()).prop_map(|(a, b, c)| format!("{a}<N:int>{b}<N:bool>{c}")),
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

/// A path as decoded segments, and as sent.
type Path = (Vec<String>, String);

/// Any path, some bytes of it escaped.
fn path() -> impl Strategy<Value = Path> {
    let piece = prop::sample::select(vec!["a", "b", "A", "B", "-", "1", "é", "/", "%", "%61", "t"]);
    let segment = prop::collection::vec((piece, any::<bool>()), 0..5)
        .prop_map(|pieces| pieces.into_iter().map(|(piece, escape)| (piece.to_owned(), sent(piece, escape))).unzip());
    prop::collection::vec(segment, 1..5).prop_map(|segments: Vec<(String, String)>| {
        let (decoded, sent): (Vec<_>, Vec<_>) = segments.into_iter().unzip();
        (decoded, format!("/{}", sent.join("/")))
    })
}

/// A path that a pattern matches: its text with `value` for every placeholder.
fn path_of(pattern: &str, value: &str, escape: bool) -> Path {
    let placeholder = Regex::new("<[^>]*>|[*].*").unwrap();
    let decoded: Vec<_> =
        pattern[1..].split('/').map(|text| placeholder.replace_all(text, value).into_owned()).collect();
    let encoded: Vec<_> = decoded.iter().map(|text| sent(text, escape)).collect();
    (decoded, format!("/{}", encoded.join("/")))
}

/// A text as it is sent in a segment, every byte escaped or only those that must be.
fn sent(text: &str, escape: bool) -> String {
    let one = |c: char| match c {
        '/' | '%' => format!("%{:02x}", c as u8),
        _ if escape => c.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect(),
        _ => c.to_string(),
    };
    text.chars().map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_the_reference(
        case_sensitive: bool,
        routes in prop::collection::vec((methods(), pattern()), 1..8),
        any in prop::collection::vec((method(), path()), 1..8),
        likely in prop::collection::vec(
            (method(), any::<prop::sample::Index>(), prop::sample::select(vec!["a", "A", "1", "ab", "é"]), any::<bool>()),
            1..16,
        ),
    ) {
        let mut builder = RouterBuilder::new(case_sensitive);
        let mut references = Vec::new();
        for (target, (methods, text)) in (0..).zip(&routes) {
            let pattern = Pattern::parse(text).unwrap();
            references.push((*methods, Reference::new(pattern.canonical(), case_sensitive)));
            builder.add(*methods, pattern, target);
        }
        let router = builder.build();

        let likely = likely.into_iter().map(|(method, route, value, escape)| {
            (method, path_of(&route.get(&routes).1, value, escape))
        });
        for (method, (decoded, sent)) in any.into_iter().chain(likely) {
            let matching: Vec<_> = references
                .iter()
                .enumerate()
                .filter_map(|(at, (methods, reference))| Some((at, *methods, reference.values(&decoded)?)))
                .collect();
            let first = |method| matching.iter().find(|(_, methods, _)| methods.contains(method));
            let expected = match first(method) {
                None if method == Method::Head => first(Method::Get),
                found => found,
            };
            let mut params = Params::new();
            let answer = router.find(method, &sent, &mut params);
            match expected {
                Some((at, _, values)) => {
                    prop_assert_eq!(answer, Match::Found { target: *at as u32, route: *at });
                    prop_assert_eq!(&params[..], &values[..]);
                }
                None => {
                    // catch-alls for OPTIONS alone make no path
                    let makes = |at: usize, methods| !routes[at].1.contains('*') || methods != Method::Options.into();
                    let there = matching.iter().filter(|(at, methods, _)| makes(*at, *methods));
                    let methods = there.fold(MethodSet::NONE, |all, (_, methods, _)| all | *methods);
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

    #[test]
    fn prefixes_cover_what_begins_like_them(
        case_sensitive: bool,
        prefix in pattern(),
        route in pattern(),
        any in prop::collection::vec(path(), 1..8),
        value in prop::sample::select(vec!["a", "A", "1", "ab", "é"]),
        escape: bool,
    ) {
        let prefixes = Prefixes::new([prefix.as_str()], case_sensitive).unwrap();
        let reference = Reference::new(Pattern::parse(&prefix).unwrap().canonical(), case_sensitive);
        // a slash at its end does not count
        let is_shorter = prefix.ends_with('/');
        let of_route = Pattern::parse(&route).unwrap();
        let reach = prefixes.reach(&of_route);
        let route_matches = Reference::new(of_route.canonical(), case_sensitive);
        let likely = [path_of(&prefix, value, escape), path_of(&route, value, escape)];
        for (decoded, sent) in any.into_iter().chain(likely) {
            let covers = prefixes.cover(&sent);
            if !is_shorter {
                let begins = (1..=decoded.len()).any(|n| reference.values(&decoded[..n]).is_some());
                prop_assert_eq!(covers, begins, "{} {}", prefix, sent);
            }
            if route_matches.values(&decoded).is_some() {
                prop_assert!(covers || reach != Reach::Always, "{} {} {}", prefix, route, sent);
                prop_assert!(!covers || reach != Reach::Never, "{} {} {}", prefix, route, sent);
            }
        }
    }
}
