//! The vectors, matrices and data frames in a JSON value, as `jsonlite::fromJSON(simplifyVector = TRUE)` finds them.
//!
//! Only leaves of the same rules are left to jsonlite (see [`shape`]). Not for reading text: that is `parse`.
//!
//! The rules, for an array (objects become named lists, and their members follow the rules by themselves):
//! 1. objects and nulls, at least one of them an object: a data frame, whose columns follow the rules, but for 3
//! 2. scalars and nulls: a vector of the widest type; the strings NA, NaN, Inf, -Inf count as numbers among numbers
//! 3. arrays of scalars, all of one length: a matrix; matrices of the same extents: an array of one more
//! 4. otherwise a list, in which empty arrays take the type of the others when those are all vectors, or data frames

use std::collections::HashMap;

use bumpalo::Bump;

use super::parse::{Counts, JsonError, Object, Value};
use crate::node::{Kind, Node, Str};
use crate::r::{na_double, NA_INT};

/// Cells that the data frames of one text may have together, whatever it holds. Records that share no field would
/// otherwise turn a text of n bytes into n^2 cells.
const FREE_CELLS: usize = 1_000_000;

/// Cells per value of the text beyond that.
const CELLS_PER_VALUE: usize = 64;

/// Describes `root`; `None` for the few things that only jsonlite knows: dates as `{"$date": ...}`, row names as `_row`,
/// zeros with a minus, and fractions among strings, which take R's own formatting of numbers.
///
/// # Errors
/// Records that would make a data frame out of proportion.
pub fn shape<'b>(
    arena: &'b Bump,
    root: &Value<'b>,
    counts: &Counts,
    simplify: bool,
) -> Result<Option<Node>, JsonError> {
    let cells_left = FREE_CELLS + counts.values.saturating_mul(CELLS_PER_VALUE);
    let mut shaper = Shaper { arena, cells_left, foreign: counts.negative_zero };
    if !simplify {
        let node = shaper.plain(root);
        return Ok((!shaper.foreign).then_some(node));
    }
    let node = shaper.value(root, true)?;
    Ok((!shaper.foreign).then_some(node))
}

struct Shaper<'b> {
    arena: &'b Bump,
    cells_left: usize,
    /// Something was met that only jsonlite knows. The rest is still looked at: the limits hold for jsonlite as well.
    foreign: bool,
}

impl<'b> Shaper<'b> {
    fn vector<T: Copy>(&self, kind: Kind, elements: &[T]) -> Node {
        Node::vector(kind, self.arena.alloc_slice_copy(elements))
    }

    fn names(&self, keys: &[&str]) -> &'b [Str] {
        self.arena.alloc_slice_fill_iter(keys.iter().map(|key| Str::new(key.as_bytes())))
    }

    fn list(&self, nodes: &[Node]) -> Node {
        self.vector(Kind::List, nodes)
    }

    fn scalar(&self, value: &Value<'b>) -> Node {
        match value {
            Value::Bool(value) => self.vector(Kind::Lgl, &[i32::from(*value)]),
            Value::Int(value) => self.vector(Kind::Int, &[*value]),
            Value::Double(value) => self.vector(Kind::Dbl, &[*value]),
            Value::String(value) => self.vector(Kind::Str, &[Str::new(value.as_bytes())]),
            _ => Node::NULL,
        }
    }

    /// Arrays as lists, without any of the rules.
    fn plain(&self, value: &Value<'b>) -> Node {
        let all = |values: &[Value<'b>]| {
            let nodes: &[Node] = self.arena.alloc_slice_fill_iter(values.iter().map(|value| self.plain(value)));
            Node::vector(Kind::List, nodes)
        };
        match value {
            Value::Array(values) => all(values),
            Value::Object(object) => all(object.values).named(self.names(object.keys)),
            scalar => self.scalar(scalar),
        }
    }

    /// Any value, by the rules; `matrices` is whether rule 3 holds.
    fn value(&mut self, value: &Value<'b>, matrices: bool) -> Result<Node, JsonError> {
        match value {
            Value::Array(values) => self.array(values, matrices),
            Value::Object(object) => {
                self.foreign |= object.keys.contains(&"$date");
                let nodes = self.all(object.values)?;
                Ok(self.list(&nodes).named(self.names(object.keys)))
            }
            scalar => Ok(self.scalar(scalar)),
        }
    }

    fn all(&mut self, values: &[Value<'b>]) -> Result<Vec<Node>, JsonError> {
        values.iter().map(|value| self.value(value, true)).collect()
    }

    fn array(&mut self, values: &[Value<'b>], matrices: bool) -> Result<Node, JsonError> {
        if values.is_empty() {
            return Ok(self.list(&[]));
        }
        let record = |value: &Value| matches!(value, Value::Object(_));
        if values.iter().all(|value| record(value) || *value == Value::Null) && values.iter().any(record) {
            return self.records(values);
        }
        if values.iter().all(is_scalar) {
            return Ok(self.scalars(values));
        }
        let mut nodes = self.all(values)?;
        if matrices {
            let row =
                |value: &Value| matches!(value, Value::Array(row) if !row.is_empty() && row.iter().all(is_scalar));
            if values.iter().all(row) && nodes.iter().all(|node| node.n == nodes[0].n) {
                return Ok(self.bind(&nodes, &[]));
            }
            // SAFETY: `dim` of nodes made here points at `ndim` extents in the arena.
            let extents = |node: &Node| unsafe { extents(node) };
            if nodes.iter().all(|node| node.ndim >= 2 && extents(node) == extents(&nodes[0])) {
                return Ok(self.bind(&nodes, extents(&nodes[0])));
            }
        }
        self.fill_empty(&mut nodes);
        Ok(self.list(&nodes))
    }

    /// Rule 2.
    fn scalars(&mut self, values: &[Value<'b>]) -> Node {
        let word = |value: &Value| matches!(value, Value::String(text) if number_word(text).is_none());
        if values.iter().any(word) {
            let texts: Vec<Str> = values.iter().map(|value| self.text(value)).collect();
            return self.vector(Kind::Str, &texts);
        }
        let kind = values.iter().map(number_kind).fold(Kind::Lgl, wider);
        match kind {
            Kind::Dbl => {
                let doubles = values.iter().map(|value| match value {
                    Value::Bool(value) => f64::from(u8::from(*value)),
                    Value::Int(value) => f64::from(*value),
                    Value::Double(value) => *value,
                    Value::String(text) => number_word(text).unwrap_or_else(na_double),
                    _ => na_double(),
                });
                Node::vector(kind, self.arena.alloc_slice_fill_iter(doubles))
            }
            _ => {
                let integers = values.iter().map(|value| match value {
                    Value::Bool(value) => i32::from(*value),
                    Value::Int(value) => *value,
                    _ => NA_INT,
                });
                Node::vector(kind, self.arena.alloc_slice_fill_iter(integers))
            }
        }
    }

    /// A scalar among strings.
    fn text(&mut self, value: &Value<'b>) -> Str {
        match value {
            Value::String(text) => Str::new(text.as_bytes()),
            Value::Bool(value) => Str::new(if *value { b"TRUE" } else { b"FALSE" }),
            Value::Int(value) => self.digits(*value),
            Value::Double(_) => {
                self.foreign = true;
                Str::NA
            }
            _ => Str::NA,
        }
    }

    fn digits(&self, value: i32) -> Str {
        Str::new(self.arena.alloc_str(itoa::Buffer::new().format(value)).as_bytes())
    }

    /// Rule 3: vectors as the rows of a matrix, or matrices of these `extents` along a new first one.
    fn bind(&mut self, nodes: &[Node], extents: &[i32]) -> Node {
        let kind = nodes.iter().map(|node| node.kind).fold(Kind::Lgl, wider);
        let (rows, n) = (nodes.len(), nodes[0].n);
        let transposed = (0..n).flat_map(|i| nodes.iter().map(move |node| (node, i)));
        // SAFETY: nodes made here have `n` elements of the type that `kind` names, and all have the same `n`.
        let bound = unsafe {
            match kind {
                Kind::Str => {
                    let texts: Vec<Str> = transposed.map(|(node, i)| self.element_text(node, i)).collect();
                    self.vector(kind, &texts)
                }
                Kind::Dbl => {
                    let doubles: Vec<f64> = transposed.map(|(node, i)| element_double(node, i)).collect();
                    self.vector(kind, &doubles)
                }
                _ => {
                    let integers: Vec<i32> = transposed.map(|(node, i)| *element(node, i)).collect();
                    self.vector(kind, &integers)
                }
            }
        };
        let inner = [n as i32];
        let inner = if extents.is_empty() { &inner } else { extents };
        let dim = [&[rows as i32], inner].concat();
        Node { ndim: dim.len() as i32, dim: self.arena.alloc_slice_copy(&dim).as_ptr(), ..bound }
    }

    /// # Safety
    /// `i` is less than the node's length.
    unsafe fn element_text(&mut self, node: &Node, i: usize) -> Str {
        // SAFETY: elements are of the type that `kind` names.
        unsafe {
            match node.kind {
                Kind::Str => *element(node, i),
                Kind::Lgl => match *element::<i32>(node, i) {
                    NA_INT => Str::NA,
                    0 => Str::new(b"FALSE"),
                    _ => Str::new(b"TRUE"),
                },
                Kind::Int => match *element::<i32>(node, i) {
                    NA_INT => Str::NA,
                    value => self.digits(value),
                },
                _ => {
                    self.foreign = true;
                    Str::NA
                }
            }
        }
    }

    /// Rule 4: empty arrays beside others.
    fn fill_empty(&self, nodes: &mut [Node]) {
        let empty = |node: &Node| node.kind == Kind::List && node.n == 0 && node.names.is_null() && node.data_frame < 0;
        let others = || nodes.iter().filter(|node| !empty(node));
        let Some(first) = others().next() else { return };
        let atomic = |node: &Node| !matches!(node.kind, Kind::Null | Kind::List) && node.ndim == 0;
        let filling = if others().all(|node| node.data_frame >= 0) {
            Node { data_frame: 0, ..self.list(&[]).named(&[]) }
        } else if others().all(atomic) {
            self.vector::<f64>(first.kind, &[])
        } else {
            return;
        };
        nodes.iter_mut().filter(|node| empty(node)).for_each(|node| *node = filling);
    }

    /// Rule 1.
    fn records(&mut self, values: &[Value<'b>]) -> Result<Node, JsonError> {
        let mut fields = Fields::default();
        let ids: Vec<u32> = members(values).map(|(place, key)| fields.id(place, key)).collect();
        let keys = fields.keys;
        self.cells_left =
            keys.len().checked_mul(values.len()).and_then(|cells| self.cells_left.checked_sub(cells)).ok_or_else(
                || JsonError {
                    message: "records have too few fields in common for a data frame".to_owned(),
                    offset: None,
                },
            )?;
        self.foreign |= keys.iter().any(|key| matches!(*key, "$date" | "_row"));

        let mut columns = vec![Value::Null; keys.len() * values.len()];
        let mut ids = ids.into_iter();
        let mut filled = vec![usize::MAX; keys.len()];
        for (row, value) in values.iter().enumerate() {
            let Value::Object(Object { values: fields, .. }) = value else {
                continue;
            };
            for (field, id) in fields.iter().zip(&mut ids) {
                let id = id as usize;
                // of repeated fields the first one counts
                if filled[id] != row {
                    filled[id] = row;
                    columns[id * values.len() + row] = *field;
                }
            }
        }
        let nodes: Vec<Node> = match keys.is_empty() {
            true => Vec::new(),
            false => columns.chunks(values.len()).map(|column| self.array(column, false)).collect::<Result<_, _>>()?,
        };
        Ok(Node { data_frame: values.len() as i64, ..self.list(&nodes).named(self.names(&keys)) })
    }
}

/// The members of all records: the place in its record, and the key.
fn members<'v, 'b>(records: &'v [Value<'b>]) -> impl Iterator<Item = (usize, &'b str)> + 'v {
    records.iter().flat_map(|record| {
        let keys: &[&str] = if let Value::Object(object) = record { object.keys } else { &[] };
        keys.iter().copied().enumerate()
    })
}

/// Numbers the fields of records in the order of their first appearance.
#[derive(Default)]
struct Fields<'b> {
    keys: Vec<&'b str>,
    ids: HashMap<&'b str, u32>,
}

impl<'b> Fields<'b> {
    /// The number of `key`. Records mostly have their fields in the same order: `place` is tried first.
    fn id(&mut self, place: usize, key: &'b str) -> u32 {
        if self.keys.get(place) == Some(&key) {
            return place as u32;
        }
        let next = self.keys.len() as u32;
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.keys.push(key);
        }
        id
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

/// The number that a string stands for among numbers.
fn number_word(text: &str) -> Option<f64> {
    match text {
        "NA" => Some(na_double()),
        "NaN" => Some(f64::NAN),
        "Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// The type that a scalar has among numbers.
fn number_kind(value: &Value) -> Kind {
    match value {
        Value::Int(_) => Kind::Int,
        Value::Double(_) => Kind::Dbl,
        Value::String(text) if *text != "NA" => Kind::Dbl,
        _ => Kind::Lgl,
    }
}

fn wider(a: Kind, b: Kind) -> Kind {
    if b as i32 > a as i32 {
        b
    } else {
        a
    }
}

/// # Safety
/// `node.dim` points at `node.ndim` extents that live as long as the arena.
unsafe fn extents<'b>(node: &Node) -> &'b [i32] {
    if node.ndim == 0 {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { std::slice::from_raw_parts(node.dim, node.ndim as usize) }
}

/// # Safety
/// The node's elements are of type `T`, and `i` is less than their number.
unsafe fn element<'b, T>(node: &Node, i: usize) -> &'b T {
    debug_assert!(i < node.n);
    // SAFETY: the caller's.
    unsafe { &*node.data.cast::<T>().add(i) }
}

/// # Safety
/// The node is logical, integer or double, and `i` is less than its length.
unsafe fn element_double(node: &Node, i: usize) -> f64 {
    // SAFETY: elements are of the type that `kind` names.
    unsafe {
        if node.kind == Kind::Dbl {
            return *element(node, i);
        }
        match *element::<i32>(node, i) {
            NA_INT => na_double(),
            value => f64::from(value),
        }
    }
}
