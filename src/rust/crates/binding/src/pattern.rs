//! What R may know of a path pattern when a route is registered.

use crate::node::{Kind, Node, Str};
use crate::shield::{shield, Error};
use router::Pattern;
use std::cell::RefCell;
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

/// A list of `names` and `types` (character vectors, one element for each placeholder), `canonical` and `shape` (strings; patterns of the
/// same shape match the same paths). Null, and an error, when `text` is not a pattern.
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
