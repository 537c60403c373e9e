//! Data frames: records, that is, arrays of objects with nulls among them, become columns.
//!
//! Of the field `_row`, jsonlite makes the row names. Not for what is in a column: that is `shape`.

use std::collections::HashMap;

use super::shape::{element, element_double, Shaper};
use super::text;
use super::value::{JsonError, Object, Value, DATE};
use crate::node::{Kind, Node, Str};
use crate::r::NA_INT;

/// The field of the row names.
const ROW_NAMES: &str = "_row";

impl<'b> Shaper<'b, '_> {
    /// A data frame, or the times that it is when `$date` is its only column.
    pub fn records(&mut self, values: &[Value<'b>]) -> Result<Node, JsonError> {
        let mut fields = Fields::default();
        let ids: Vec<u32> = members(values).map(|(place, key)| fields.id(place, key)).collect();
        let mut keys = fields.keys;
        self.cells_left = keys
            .len()
            .checked_mul(values.len())
            .and_then(|cells| self.cells_left.checked_sub(cells))
            .ok_or_else(|| JsonError::new("records have too few fields in common for a data frame"))?;

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
        let mut nodes: Vec<Node> = match keys.is_empty() {
            true => Vec::new(),
            false => columns.chunks(values.len()).map(|column| self.array(column, false)).collect::<Result<_, _>>()?,
        };
        let row_names = match keys.iter().position(|key| *key == ROW_NAMES) {
            None => None,
            Some(at) => {
                keys.remove(at);
                self.row_names(&nodes.remove(at))?
            }
        };
        if let ([DATE], [column]) = (&keys[..], &nodes[..]) {
            if let Some(times) = self.date(column)? {
                return Ok(times);
            }
        }
        let table = self.build.list(&nodes).named(self.build.names(&keys));
        let row_names = row_names.map_or(std::ptr::null(), |names| std::ptr::from_ref(self.build.kept(names)));
        Ok(Node { data_frame: values.len() as i64, row_names, ..table })
    }

    /// The row names that a column gives; `None` for numbered rows.
    fn row_names(&self, column: &Node) -> Result<Option<Node>, JsonError> {
        let build = self.build;
        let rows = 0..column.n;
        let integers: Vec<i32> = match column.kind {
            // SAFETY: elements are of the type that `kind` names.
            Kind::Int | Kind::Lgl => rows.clone().map(|i| unsafe { *element(column, i) }).collect(),
            // SAFETY: as above.
            Kind::Dbl => rows.clone().map(|i| integer(unsafe { element_double(column, i) })).collect(),
            Kind::Str => Vec::new(),
            _ => return Err(JsonError::new("the row names `_row` of records are not strings or numbers")),
        };
        let numbers = column.kind != Kind::Str;
        let missing = integers.contains(&NA_INT);
        if numbers && !missing {
            let mut sorted = integers.clone();
            sorted.sort_unstable();
            if sorted.windows(2).any(|two| two[0] == two[1]) {
                return Ok(None);
            }
            if column.kind != Kind::Lgl {
                return Ok(Some(build.vector(Kind::Int, &integers)));
            }
        }
        let whole = match column.kind {
            Kind::Dbl => build.vector(Kind::Int, &integers),
            _ => *column,
        };
        let mut unnamed = 0;
        let names = rows.map(|i| {
            // SAFETY: `i` is less than the length; what a text points at is in the arena or in the text.
            let (name, bytes) = unsafe {
                let name = build.element_text(&whole, i);
                (name, name.as_bytes())
            };
            match name.as_number() {
                _ if name.is_na() => {
                    unnamed += 1;
                    format!("NA_{unnamed}").into_bytes()
                }
                Some(number) => super::number::as_r(number).into_bytes(),
                None => bytes.to_vec(),
            }
        });
        let names: Vec<Str> = text::unique(names.collect()).iter().map(|name| build.text(name)).collect();
        Ok(Some(build.vector(Kind::Str, &names)))
    }
}

/// R's `as.integer()`.
fn integer(x: f64) -> i32 {
    match x > -2_147_483_648.0 && x < 2_147_483_648.0 {
        true => x as i32,
        false => NA_INT,
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
