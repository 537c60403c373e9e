//! Patterns and paths: the router gives what the naive one of its tests gives, for any of them.
//!
//! Input: flags, then lines: up to 8 patterns with a byte for their methods, an empty line, and paths with a byte for
//! theirs.

use crate::input::Input;
use router::{decode, Match, Method, MethodSet, Params, Pattern, RouterBuilder};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

#[path = "../../../../src/rust/crates/router/tests/naive/mod.rs"]
mod naive;
use naive::Reference;

const METHODS: [Method; 4] = [Method::Get, Method::Head, Method::Post, Method::Other];
/// References that are kept: regular expressions take long to make.
const KEPT: usize = 1000;

thread_local! {
    static REFERENCES: RefCell<HashMap<(String, bool), Rc<Reference>>> = RefCell::default();
}

fn reference(canonical: &str, case_sensitive: bool) -> Rc<Reference> {
    REFERENCES.with_borrow_mut(|known| {
        if known.len() > KEPT {
            known.clear();
        }
        let key = (canonical.to_owned(), case_sensitive);
        known.entry(key).or_insert_with(|| Rc::new(Reference::new(canonical, case_sensitive))).clone()
    })
}

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let case_sensitive = input.byte() & 1 == 0;
    let mut lines = input.0.split(|&b| b == b'\n').take(24);
    let mut builder = RouterBuilder::new(case_sensitive);
    let mut references = Vec::new();
    for line in lines.by_ref().take_while(|line| !line.is_empty()).take(8) {
        let Ok(text) = std::str::from_utf8(&line[1..]) else { return };
        let Ok(pattern) = Pattern::parse(text) else { continue };
        canonical(&pattern);
        let methods = match usize::from(line[0]) % 6 {
            4 => MethodSet::ANY,
            5 => MethodSet::from(Method::Get) | MethodSet::from(Method::Head),
            at => METHODS[at].into(),
        };
        references.push((methods, reference(pattern.canonical(), case_sensitive)));
        builder.add(methods, pattern, references.len() as u32 - 1);
    }
    let router = builder.build();
    for line in lines {
        let Some((&method, path)) = line.split_first() else { continue };
        let Ok(path) = std::str::from_utf8(path) else { return };
        let method = METHODS[usize::from(method) % 4];
        let mut params = Params::new();
        let answer = router.find(method, path, &mut params);
        let segments = path.strip_prefix('/').map(|path| path.split('/').map(decode).collect::<Result<Vec<_>, _>>());
        let Some(Ok(segments)) = segments else {
            assert!(matches!(answer, Match::BadPath(_)), "{path:?}: {answer:?}");
            continue;
        };
        let segments: Vec<_> = segments.into_iter().map(|segment| segment.into_owned()).collect();
        let (expected, values) = naively(&references, method, &segments);
        assert_eq!(answer, expected, "{path:?}");
        assert_eq!(&params[..], &values[..], "{path:?}");
    }
}

/// What a pattern in canonical form must be.
fn canonical(pattern: &Pattern) {
    let again = Pattern::parse(pattern.canonical()).expect("the canonical form is a pattern");
    assert_eq!(again.canonical(), pattern.canonical());
    assert_eq!(again.params(), pattern.params());
    assert_eq!(again.shape(false), pattern.shape(false));
}

fn naively(references: &[(MethodSet, Rc<Reference>)], method: Method, path: &[String]) -> (Match, Vec<String>) {
    let matching: Vec<_> = references
        .iter()
        .enumerate()
        .filter_map(|(at, (methods, reference))| Some((at, *methods, reference.values(path)?)))
        .collect();
    let first = |method| matching.iter().find(|(_, methods, _)| methods.contains(method));
    let found = match first(method) {
        None if method == Method::Head => first(Method::Get),
        found => found,
    };
    if let Some((at, _, values)) = found {
        return (Match::Found { target: *at as u32, route: *at }, values.clone());
    }
    let methods = matching.iter().fold(MethodSet::NONE, |all, (_, methods, _)| all | *methods);
    let answer = if methods.is_empty() { Match::NotFound } else { Match::MethodNotAllowed(methods.allowed()) };
    (answer, Vec::new())
}
