//! What the fuzz target `json` of `tests/fuzz` sees of a text: the nodes that C would make R values of, as values that
//! need no arena. Compiled with the feature `fuzzing` only.

use super::parse::{parse, ParseOptions};
use super::value::JsonError;
use crate::node::{Kind, Node, Str};
use std::slice;

/// An R value.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// its elements
    pub values: Values,
    /// one for each element
    pub names: Option<Vec<String>>,
    /// extents of a matrix or array
    pub dim: Vec<i32>,
    /// of a data frame
    pub rows: Option<usize>,
}

/// Elements of an R vector; NA is `i32::MIN`, or an empty text.
#[allow(missing_docs)]
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    Null,
    Logical(Vec<i32>),
    Integer(Vec<i32>),
    Double(Vec<f64>),
    Text(Vec<String>),
    List(Vec<Described>),
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Null => 0,
            Values::Logical(all) | Values::Integer(all) => all.len(),
            Values::Double(all) => all.len(),
            Values::Text(all) => all.len(),
            Values::List(all) => all.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a text is read as; `None` where jsonlite would be asked.
///
/// # Errors
/// Why it is refused.
pub fn read(text: &[u8], options: &ParseOptions) -> Result<Option<Described>, JsonError> {
    let tree = parse(text, options)?;
    // SAFETY: the root is null or points at a node of the tree, which is alive.
    let root = unsafe { tree.root().as_ref() };
    // SAFETY: as above; what a node of the parser's points at lives as long as the tree and the text.
    Ok(root.map(|root| unsafe { described(root) }))
}

/// # Safety
/// The node says truly what its pointers point at.
unsafe fn described(node: &Node) -> Described {
    let values = match node.kind {
        Kind::Null => Values::Null,
        // SAFETY: the kind says what the elements are.
        Kind::Lgl => Values::Logical(unsafe { run::<i32>(node) }.to_vec()),
        // SAFETY: as above.
        Kind::Int => Values::Integer(unsafe { run::<i32>(node) }.to_vec()),
        // SAFETY: as above.
        Kind::Dbl => Values::Double(unsafe { run::<f64>(node) }.to_vec()),
        // SAFETY: as above.
        Kind::Str => Values::Text(unsafe { run::<Str>(node) }.iter().map(|text| unsafe { owned(*text) }).collect()),
        Kind::Raw => unreachable!("there is none in JSON"),
        // SAFETY: as above; its nodes are of the parser's, too.
        Kind::List => {
            Values::List(unsafe { run::<Node>(node) }.iter().map(|node| unsafe { described(node) }).collect())
        }
    };
    let names = (!node.names.is_null()).then(|| {
        // SAFETY: names are as many as elements.
        let names = unsafe { slice::from_raw_parts(node.names, node.n) };
        // SAFETY: and each is a string.
        names.iter().map(|name| unsafe { owned(*name) }).collect()
    });
    let dim = match usize::try_from(node.ndim) {
        // SAFETY: `dim` has `ndim` extents.
        Ok(n @ 1..) => unsafe { slice::from_raw_parts(node.dim, n) }.to_vec(),
        _ => Vec::new(),
    };
    Described { values, names, dim, rows: usize::try_from(node.data_frame).ok() }
}

/// # Safety
/// The elements of the node are of this type.
unsafe fn run<T>(node: &Node) -> &[T] {
    if node.n == 0 {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { slice::from_raw_parts(node.data.cast(), node.n) }
}

/// # Safety
/// What it points at is still there.
unsafe fn owned(text: Str) -> String {
    // SAFETY: the caller's.
    let bytes = unsafe { text.as_bytes() };
    std::str::from_utf8(bytes).expect("strings of R are text").to_owned()
}
