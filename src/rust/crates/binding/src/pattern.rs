//! What R may know of path patterns: of one when a route is registered, of all when an app is compiled.

use crate::node::{Kind, Node, Str};
use crate::r::NA_INT;
use crate::shield::{shield, Error};
use router::Pattern;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ptr;

/// Parts of the last pattern parsed, and the nodes that point at them.
#[derive(Default)]
struct Parsed {
    canonical: String,
    shape: String,
    names: Vec<String>,
    strings: [Vec<Str>; 4],
    fields: Vec<Node>,
    field_names: Vec<Str>,
    root: Node,
}

thread_local! {
    static LAST: RefCell<Box<Parsed>> = RefCell::default();
}

/// A list of `names` and `types` (character vectors, one element for each placeholder), `canonical` and `shape`
/// (strings; patterns of the same shape match the same paths). Null, and an error, when `text` is not a pattern.
///
/// # Safety
/// C lends `len` bytes at `text` for the call; `error` is valid for writing. The node lives until the next call.
#[no_mangle]
pub unsafe extern "C" fn drv_pattern_parse(text: *const u8, len: usize, error: *mut Error) -> *const Node {
    // SAFETY: the caller's.
    let text = String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text, len) }).into_owned();
    let parsed = shield(Err("the engine failed".to_owned()), || {
        Pattern::parse(&text).map(|p| LAST.with(|last| last.borrow_mut().fill(&p))).map_err(|e| e.to_string())
    });
    match parsed {
        Ok(node) => node,
        Err(message) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, 0, message) };
            ptr::null()
        }
    }
}

/// For each of the patterns, which are in the order in which they are tried, the number (from 1) of the first one that
/// leaves nothing for it, or `NA`. What is no pattern hides nothing and is not hidden.
///
/// # Safety
/// C lends `n` strings at `texts` for the call, and `n` integers at `hidden_by`, which are written.
#[no_mangle]
pub unsafe extern "C" fn drv_patterns_hidden(texts: *const Str, n: usize, hidden_by: *mut i32) {
    // SAFETY: the caller's; R's vectors of length 0 have an address as well.
    let (texts, hidden_by) =
        unsafe { (std::slice::from_raw_parts(texts, n), std::slice::from_raw_parts_mut(hidden_by, n)) };
    hidden_by.fill(NA_INT);
    shield((), || {
        // SAFETY: the caller's.
        let text = |text: &Str| String::from_utf8_lossy(unsafe { text.as_bytes() }).into_owned();
        let patterns: Vec<Option<Pattern>> = texts.iter().map(|t| Pattern::parse(&text(t)).ok()).collect();
        // those that begin with a literal hide only such as begin with the same: an app may have thousands of them
        let mut earlier: HashMap<Option<&str>, Vec<usize>> = HashMap::new();
        for (i, later) in patterns.iter().enumerate() {
            let Some(later) = later else { continue };
            let first = later.first_literal();
            let among = [None, first].into_iter().take(1 + usize::from(first.is_some()));
            let hides = |at: &&usize| patterns[**at].as_ref().is_some_and(|earlier| earlier.hides(later));
            let hiding = among.filter_map(|first| earlier.get(&first)?.iter().find(hides)).min();
            if let Some(at) = hiding {
                hidden_by[i] = i32::try_from(at + 1).unwrap_or(NA_INT);
            }
            earlier.entry(first).or_default().push(i);
        }
    });
}

impl Parsed {
    fn fill(&mut self, pattern: &Pattern) -> *const Node {
        const FIELDS: [&str; 4] = ["names", "types", "canonical", "shape"];
        self.canonical = pattern.canonical().to_owned();
        self.shape = pattern.shape(false);
        self.names = pattern.params().iter().map(|p| p.name.clone()).collect();
        let text = |s: &str| Str::new(s.as_bytes());
        self.strings = [
            self.names.iter().map(|n| text(n)).collect(),
            pattern.params().iter().map(|p| text(p.kind.name())).collect(),
            vec![text(&self.canonical)],
            vec![text(&self.shape)],
        ];
        self.fields = self.strings.iter().map(|s| Node::vector(Kind::Str, s)).collect();
        self.field_names = FIELDS.map(text).to_vec();
        self.root = Node::vector(Kind::List, &self.fields).named(&self.field_names);
        ptr::from_ref(&self.root)
    }
}
