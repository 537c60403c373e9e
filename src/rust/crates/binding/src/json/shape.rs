//! The vectors, matrices and data frames in a JSON value, as `jsonlite::fromJSON(simplifyVector = TRUE)` finds them.
//!
//! Neighbours: `records` (data frames) and `dates`. Not for reading text: that is `parse`.
//!
//! The rules, for an array (objects become named lists, and their members follow the rules by themselves):
//! 1. objects and nulls, at least one of them an object: a data frame, whose columns follow the rules, but for 3
//! 2. scalars and nulls: a vector of the widest type; the strings NA, NaN, Inf, -Inf count as numbers among numbers
//! 3. arrays of scalars, all of one length: a matrix; matrices of the same extents: an array of one more
//! 4. otherwise a list, in which empty arrays take the type of the others when those are all vectors, or data frames
//!
//! What has become an object or data frame of the one field `$date` is a time; single times only, in an array or an
//! object, are a vector of times.

use bumpalo::Bump;

use super::dates::Dates;
use super::time;
use super::value::{JsonError, Object, Value, DATE};
use crate::node::{Kind, Node, Str, Time};
use crate::r::{na_double, NA_INT};

/// Cells that the data frames of one text may have in total, regardless of its size. Records that share no field would
/// otherwise turn a text of n bytes into n^2 cells.
const FREE_CELLS: usize = 1_000_000;

/// Cells per value of the text beyond that.
const CELLS_PER_VALUE: usize = 64;

/// Describes `root` without any of the rules: arrays as lists.
pub(super) fn plain<'b>(arena: &'b Bump, root: &Value<'b>) -> Node {
    Build::new(arena).plain(root)
}

/// Makes nodes in the arena.
#[derive(Clone, Copy)]
pub(crate) struct Build<'b> {
    arena: &'b Bump,
}

/// Finds the shapes of one text.
pub(super) struct Shaper<'b, 'd> {
    pub build: Build<'b>,
    pub cells_left: usize,
    pub dates: Dates<'b, 'd>,
}

impl<'b> Build<'b> {
    pub fn new(arena: &'b Bump) -> Self {
        Build { arena }
    }

    pub fn vector<T: Copy>(self, kind: Kind, elements: &[T]) -> Node {
        Node::vector(kind, self.arena.alloc_slice_copy(elements))
    }

    pub fn names(self, keys: &[&str]) -> &'b [Str] {
        self.arena.alloc_slice_fill_iter(keys.iter().map(|key| Str::new(key.as_bytes())))
    }

    pub fn list(self, nodes: &[Node]) -> Node {
        self.vector(Kind::List, nodes)
    }

    /// A list of these, as they come.
    pub fn list_of(self, nodes: impl ExactSizeIterator<Item = Node>) -> Node {
        Node::vector(Kind::List, self.arena.alloc_slice_fill_iter(nodes))
    }

    /// A text that need not live as long as the arena.
    pub fn copied(self, text: &str) -> Node {
        self.string(self.arena.alloc_str(text))
    }

    pub fn string(self, text: &'b str) -> Node {
        self.vector(Kind::Str, &[Str::new(text.as_bytes())])
    }

    fn scalar(self, value: &Value<'b>) -> Node {
        match value {
            Value::Bool(value) => self.vector(Kind::Lgl, &[i32::from(*value)]),
            Value::Int(value) => self.vector(Kind::Int, &[*value]),
            Value::Double(value) => self.vector(Kind::Dbl, &[*value]),
            Value::String(value) => self.string(value),
            _ => Node::NULL,
        }
    }

    /// Arrays as lists, without any of the rules.
    fn plain(self, value: &Value<'b>) -> Node {
        let all = |values: &[Value<'b>]| self.list_of(values.iter().map(|value| self.plain(value)));
        match value {
            Value::Array(values) => all(values),
            Value::Object(object) => all(object.values).named(self.names(object.keys)),
            scalar => self.scalar(scalar),
        }
    }

    fn digits(self, value: i32) -> Str {
        Str::new(self.arena.alloc_str(itoa::Buffer::new().format(value)).as_bytes())
    }

    /// Element `i` of a vector as text; `NA_character_` where it is missing.
    ///
    /// # Safety
    /// `i` is less than the node's length.
    pub unsafe fn element_text(self, node: &Node, i: usize) -> Str {
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
                Kind::Dbl => Str::number(*element(node, i)),
                _ => Str::NA,
            }
        }
    }

    /// Text that was made here.
    pub fn text(self, text: &[u8]) -> Str {
        Str::new(self.arena.alloc_slice_copy(text))
    }

    /// `node`, in the arena.
    pub fn kept(self, node: Node) -> &'b Node {
        self.arena.alloc(node)
    }
}

impl<'b, 'd> Shaper<'b, 'd> {
    /// For a text of this many `values`.
    pub fn new(arena: &'b Bump, values: usize, dates: Dates<'b, 'd>) -> Self {
        let cells_left = FREE_CELLS + values.saturating_mul(CELLS_PER_VALUE);
        Shaper { build: Build { arena }, cells_left, dates }
    }

    /// Any value, by the rules.
    pub fn value(&mut self, value: &Value<'b>) -> Result<Node, JsonError> {
        match value {
            Value::Array(values) => self.array(values, true),
            Value::Object(object) => self.object(object),
            scalar => Ok(self.build.scalar(scalar)),
        }
    }

    fn all(&mut self, values: &[Value<'b>]) -> Result<Vec<Node>, JsonError> {
        values.iter().map(|value| self.value(value)).collect()
    }

    fn object(&mut self, object: &Object<'b>) -> Result<Node, JsonError> {
        let nodes = self.all(object.values)?;
        if let Some(times) = self.times(&nodes) {
            return Ok(times);
        }
        if let ([DATE], [node]) = (object.keys, &nodes[..]) {
            if let Some(time) = self.date(node)? {
                return Ok(time);
            }
        }
        Ok(self.build.list(&nodes).named(self.build.names(object.keys)))
    }

    /// The vector that values are when each is a single time.
    fn times(&self, nodes: &[Node]) -> Option<Node> {
        if nodes.is_empty() || !nodes.iter().all(|node| node.time != Time::None && node.n == 1) {
            return None;
        }
        // SAFETY: times are doubles, and each node has one.
        let times: Vec<f64> = nodes.iter().map(|node| unsafe { *element(node, 0) }).collect();
        Some(Node { time: Time::Unzoned, ..self.build.vector(Kind::Dbl, &times) })
    }

    /// An array, by the rules; `matrices` is whether rule 3 holds.
    pub fn array(&mut self, values: &[Value<'b>], matrices: bool) -> Result<Node, JsonError> {
        let build = self.build;
        if values.is_empty() {
            return Ok(build.list(&[]));
        }
        let record = |value: &Value| matches!(value, Value::Object(_));
        if values.iter().all(|value| record(value) || *value == Value::Null) && values.iter().any(record) {
            return self.records(values);
        }
        if values.iter().all(is_scalar) {
            return Ok(self.scalars(values));
        }
        let mut nodes = self.all(values)?;
        if let Some(times) = self.times(&nodes) {
            return Ok(times);
        }
        if matrices {
            let row = |(value, node): (&Value, &Node)| node.kind != Kind::List && has_scalars(value);
            if values.iter().zip(&nodes).all(row) && nodes.iter().all(|node| node.n == nodes[0].n) {
                return Ok(self.bind(&nodes, &[]));
            }
            // SAFETY: `dim` of nodes made here points at `ndim` extents in the arena.
            let extents = |node: &Node| unsafe { extents(node) };
            if nodes.iter().all(|node| node.ndim >= 2 && extents(node) == extents(&nodes[0])) {
                return Ok(self.bind(&nodes, extents(&nodes[0])));
            }
        }
        self.fill_empty(&mut nodes);
        Ok(build.list(&nodes))
    }

    /// Rule 2.
    fn scalars(&self, values: &[Value<'b>]) -> Node {
        let word = |value: &Value| matches!(value, Value::String(text) if number_word(text).is_none());
        if values.iter().any(word) {
            let texts: Vec<Str> = values.iter().map(|value| self.text(value)).collect();
            return self.build.vector(Kind::Str, &texts);
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
                Node::vector(kind, self.build.arena.alloc_slice_fill_iter(doubles))
            }
            _ => {
                let integers = values.iter().map(|value| match value {
                    Value::Bool(value) => i32::from(*value),
                    Value::Int(value) => *value,
                    _ => NA_INT,
                });
                Node::vector(kind, self.build.arena.alloc_slice_fill_iter(integers))
            }
        }
    }

    /// A scalar among strings.
    fn text(&self, value: &Value<'b>) -> Str {
        match value {
            Value::String(text) => Str::new(text.as_bytes()),
            Value::Bool(value) => Str::new(if *value { b"TRUE" } else { b"FALSE" }),
            Value::Int(value) => self.build.digits(*value),
            Value::Double(value) => Str::number(*value),
            _ => Str::NA,
        }
    }

    /// Rule 3: vectors as the rows of a matrix, or matrices of these `extents` along a new first one.
    fn bind(&self, nodes: &[Node], extents: &[i32]) -> Node {
        let kind = nodes.iter().map(|node| node.kind).fold(Kind::Lgl, wider);
        let (rows, n) = (nodes.len(), nodes[0].n);
        let transposed = (0..n).flat_map(|i| nodes.iter().map(move |node| (node, i)));
        // SAFETY: nodes made here have `n` elements of the type that `kind` names, and all have the same `n`.
        let bound = unsafe {
            match kind {
                Kind::Str => {
                    let texts: Vec<Str> = transposed.map(|(node, i)| self.build.element_text(node, i)).collect();
                    self.build.vector(kind, &texts)
                }
                Kind::Dbl => {
                    let doubles: Vec<f64> = transposed.map(|(node, i)| element_double(node, i)).collect();
                    self.build.vector(kind, &doubles)
                }
                _ => {
                    let integers: Vec<i32> = transposed.map(|(node, i)| *element(node, i)).collect();
                    self.build.vector(kind, &integers)
                }
            }
        };
        let inner = [n as i32];
        let inner = if extents.is_empty() { &inner } else { extents };
        let dim = [&[rows as i32], inner].concat();
        Node { ndim: dim.len() as i32, dim: self.build.arena.alloc_slice_copy(&dim).as_ptr(), ..bound }
    }

    /// Rule 4: empty arrays beside others.
    fn fill_empty(&self, nodes: &mut [Node]) {
        let empty = |node: &Node| node.kind == Kind::List && node.n == 0 && node.names.is_null() && node.data_frame < 0;
        let others = || nodes.iter().filter(|node| !empty(node));
        let Some(first) = others().next() else { return };
        let atomic =
            |node: &Node| !matches!(node.kind, Kind::Null | Kind::List) && node.ndim == 0 && node.time == Time::None;
        let filling = if others().all(|node| node.data_frame >= 0) {
            Node { data_frame: 0, ..self.build.list(&[]).named(&[]) }
        } else if others().all(atomic) {
            self.build.vector::<f64>(first.kind, &[])
        } else {
            return;
        };
        nodes.iter_mut().filter(|node| empty(node)).for_each(|node| *node = filling);
    }
}

impl Shaper<'_, '_> {
    /// The times that a value of `$date` stands for; `None` when it is neither numbers nor text.
    ///
    /// # Errors
    /// Times that JSON has no text for, as it has a year of four digits.
    pub fn date(&mut self, value: &Node) -> Result<Option<Node>, JsonError> {
        let times = match value.kind {
            _ if value.time != Time::None => return Ok(None),
            Kind::Int | Kind::Dbl => {
                // SAFETY: numbers, and `i` is less than their number.
                let seconds = (0..value.n).map(|i| unsafe { element_double(value, i) } / 1000.0);
                let seconds: Vec<f64> = seconds.collect();
                let times = self.build.vector(Kind::Dbl, &seconds);
                Node { ndim: value.ndim, dim: value.dim, time: Time::Unzoned, ..times }
            }
            Kind::Str => {
                // SAFETY: texts, and `i` is less than their number.
                let texts: Vec<Str> = (0..value.n).map(|i| unsafe { *element(value, i) }).collect();
                // SAFETY: they point into the body or the arena, which are still there.
                let utc = texts.iter().all(|text| unsafe { text.as_bytes() }.ends_with(b"Z"));
                let seconds = self.dates.seconds(&texts, utc)?;
                let time = if utc { Time::Utc } else { Time::Local };
                Node { time, ..self.build.vector(Kind::Dbl, &seconds) }
            }
            _ => return Ok(None),
        };
        // SAFETY: made here, of doubles.
        let written = |i| time::in_every_zone(unsafe { *element(&times, i) });
        match (0..times.n).all(written) {
            true => Ok(Some(times)),
            false => Err(JsonError::new("a date is not within the years 1000 to 9999")),
        }
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

/// Arrays and objects of scalars, as against all else.
fn has_scalars(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().all(is_scalar),
        Value::Object(object) => object.values.iter().all(is_scalar),
        _ => false,
    }
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
pub(super) unsafe fn element<'b, T>(node: &Node, i: usize) -> &'b T {
    debug_assert!(i < node.n);
    // SAFETY: the caller's.
    unsafe { &*node.data.cast::<T>().add(i) }
}

/// # Safety
/// The node is logical, integer or double, and `i` is less than its length.
pub(super) unsafe fn element_double(node: &Node, i: usize) -> f64 {
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
