//! R values to JSON text, straight from R's memory.
//!
//! Nothing here allocates in R or jumps. Neighbours: `view` (what a value is), `frame` (data frames), `text`, `number`
//! and `time` (leaves). What the native writer does not know is `Foreign`: the R side then asks jsonlite, after
//! `refused` has made sure that no code or handle is hidden in the value (jsonlite prints the source of functions).

use super::options::{JsonOptions, Na, Time};
use super::text::{self, Keys};
use super::view::{self, Boxed, Cells, Days, Items, Value, Vector, Zone};
use super::{frame, number, time};
use crate::r::{self, kind, List, Sexp};

/// How deep lists may be nested. A level takes some 300 bytes of stack here, and R's own evaluator, which would be
/// next to try, stops at a few hundred levels.
const MAX_DEPTH: u32 = 512;

/// Why a value was not written. What was added to the buffer is the caller's to remove.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unsupported {
    /// a class, type or option that jsonlite may know
    Foreign,
    /// never written; with the article: "a function"
    Refused(&'static str),
    /// nested too deep for JSON's readers
    TooDeep,
}

/// Appends `x` as JSON, with the text that `jsonlite::toJSON()` gives for the same arguments, except that numbers are
/// in their shortest exact form. `x` must be protected for the call.
///
/// # Errors
/// [`Unsupported`]; `out` may then end with part of the text.
pub fn write(x: Sexp, options: &JsonOptions, out: &mut Vec<u8>) -> Result<(), Unsupported> {
    let mut writer = Writer { options, out, depth: 0 };
    writer.value(x, options.na, options.auto_unbox)
}

/// The writer's state.
pub(super) struct Writer<'w> {
    pub options: &'w JsonOptions,
    pub out: &'w mut Vec<u8>,
    depth: u32,
}

impl Writer<'_> {
    /// Writes any value.
    pub fn value(&mut self, x: Sexp, na: Na, unbox: bool) -> Result<(), Unsupported> {
        match view::view(x)? {
            Value::Null => {
                self.out.extend_from_slice(if self.options.null_as_null { b"null" } else { b"{}" });
                Ok(())
            }
            Value::Raw(bytes) => {
                let brackets = !unbox;
                self.put_if(brackets, b'[');
                text::base64(self.out, bytes);
                self.put_if(brackets, b']');
                Ok(())
            }
            Value::Vector(vector) => self.vector(&vector, na, unbox),
            Value::List(items) => self.nested(|writer| writer.list(&items, na, unbox)),
            Value::Frame(table) => self.nested(|writer| frame::write(writer, &table, na, unbox)),
        }
    }

    /// Runs `write` one level deeper.
    pub fn nested(&mut self, write: impl FnOnce(&mut Self) -> Result<(), Unsupported>) -> Result<(), Unsupported> {
        if self.depth == MAX_DEPTH {
            return Err(Unsupported::TooDeep);
        }
        self.depth += 1;
        write(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn put_if(&mut self, wanted: bool, byte: u8) {
        if wanted {
            self.out.push(byte);
        }
    }

    fn list(&mut self, items: &Items, na: Na, unbox: bool) -> Result<(), Unsupported> {
        let Some(names) = items.names else {
            return self.items(&items.list, na, unbox);
        };
        let keys = Keys::new(names)?;
        self.out.push(b'{');
        for i in 0..items.list.len() {
            self.put_if(i > 0, b',');
            keys.write(self.out, i)?;
            self.value(items.list.get(i), na, unbox)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    /// Writes the elements of a list as an array.
    pub fn items(&mut self, list: &List, na: Na, unbox: bool) -> Result<(), Unsupported> {
        self.out.push(b'[');
        for i in 0..list.len() {
            self.put_if(i > 0, b',');
            self.value(list.get(i), na, unbox)?;
        }
        self.out.push(b']');
        Ok(())
    }

    /// Writes a vector, matrix or array.
    pub fn vector(&mut self, vector: &Vector, na: Na, unbox: bool) -> Result<(), Unsupported> {
        let Vector { cells, dim, boxed } = vector;
        // the text of times has no extents
        let dim = match cells {
            Cells::Time(..) if self.options.time != Time::Epoch => &[],
            _ => *dim,
        };
        if dim.len() >= 2 {
            return self.array(cells, dim, na);
        }
        let brackets = match boxed {
            Boxed::Auto => !(unbox && cells.len() == 1 && dim.is_empty()),
            Boxed::Always => true,
            Boxed::Never if cells.len() == 1 => false,
            Boxed::Never => return Err(Unsupported::Foreign),
        };
        self.put_if(brackets, b'[');
        self.cells(cells, na)?;
        self.put_if(brackets, b']');
        Ok(())
    }

    fn cells(&mut self, cells: &Cells, na: Na) -> Result<(), Unsupported> {
        let whole_days = self.times_are_midnight(cells);
        for i in 0..cells.len() {
            self.put_if(i > 0, b',');
            self.cell(cells, i, na, whole_days)?;
        }
        Ok(())
    }

    /// What R's `format()` asks of a whole vector of times before it decides to leave the time of day out.
    pub fn times_are_midnight(&self, cells: &Cells) -> bool {
        match cells {
            Cells::Time(seconds, zone) if self.options.time == Time::String => (0..seconds.len())
                .all(|i| zone.shown(seconds.get(i)).is_some_and(|second| second.is_nan() || time::is_midnight(second))),
            _ => false,
        }
    }

    /// Writes element `i`. Says whether there is one: with [`Na::Omit`] a missing value writes nothing.
    pub fn cell(&mut self, cells: &Cells, i: usize, na: Na, whole_days: bool) -> Result<bool, Unsupported> {
        match *cells {
            Cells::Logical(x) => match x[i] {
                r::NA_INT => return Ok(self.missing(na)),
                0 => self.out.extend_from_slice(b"false"),
                _ => self.out.extend_from_slice(b"true"),
            },
            Cells::Integer(x) => return Ok(self.integer(x[i], na)),
            Cells::Double(x) => return Ok(self.double(x[i], na)),
            Cells::String(x) if r::is_na_string(x[i]) => return Ok(self.missing(na)),
            Cells::String(x) => text::string(self.out, x[i])?,
            Cells::Factor(codes, _) if self.options.factor_integer => return Ok(self.integer(codes[i], na)),
            Cells::Factor(codes, labels) => {
                // a code outside the labels is NA to as.character() as well, but only NA is no broken factor
                let label = match codes[i] {
                    r::NA_INT => return Ok(self.missing(na)),
                    code => labels.get((code as usize).wrapping_sub(1)).ok_or(Unsupported::Foreign)?,
                };
                if r::is_na_string(*label) {
                    return Ok(self.missing(na));
                }
                text::string(self.out, *label)?;
            }
            Cells::Date(Days::Integer(days)) if self.options.date_epoch => return Ok(self.integer(days[i], na)),
            Cells::Date(Days::Double(days)) if self.options.date_epoch => return Ok(self.double(days[i], na)),
            Cells::Date(days) => match days.get(i).floor() {
                day if day.is_nan() => return Ok(self.missing(na)),
                day if !time::DAYS.contains(&day) => return Err(Unsupported::Foreign),
                day => {
                    self.out.push(b'"');
                    time::date(self.out, day as i64);
                    self.out.push(b'"');
                }
            },
            Cells::Time(seconds, zone) => return self.time(seconds.get(i), zone, na, whole_days),
        }
        Ok(true)
    }

    fn time(&mut self, second: f64, zone: Zone, na: Na, whole_days: bool) -> Result<bool, Unsupported> {
        let style = self.options.time;
        if style == Time::Epoch {
            return Ok(self.double((second * 1000.0).floor(), na));
        }
        let second = match zone.shown(second) {
            Some(second) if style != Time::String || !r::digits_secs_set() => second,
            _ => return Err(Unsupported::Foreign),
        };
        if r::is_na_double(second) {
            return Ok(self.missing(na));
        }
        // the text that R gives to a time that is no number
        if second.is_nan() {
            self.out.extend_from_slice(b"\"NaN\"");
            return Ok(true);
        }
        if !time::in_range(second) {
            return Err(Unsupported::Foreign);
        }
        let whole = second.floor() as i64;
        self.out.push(b'"');
        match style {
            Time::String if whole_days => time::date(self.out, whole.div_euclid(86_400)),
            Time::String => time::date_time(self.out, whole, b' '),
            _ => time::date_time(self.out, whole, b'T'),
        }
        self.out.push(b'"');
        Ok(true)
    }

    fn integer(&mut self, x: i32, na: Na) -> bool {
        if x == r::NA_INT {
            return self.missing_number(b"\"NA\"", na);
        }
        number::integer(self.out, i64::from(x));
        true
    }

    fn double(&mut self, x: f64, na: Na) -> bool {
        if x.is_finite() {
            number::double(self.out, x);
            return true;
        }
        let name: &[u8] = match x {
            x if r::is_na_double(x) => b"\"NA\"",
            x if x.is_nan() => b"\"NaN\"",
            x if x > 0.0 => b"\"Inf\"",
            _ => b"\"-Inf\"",
        };
        self.missing_number(name, na)
    }

    fn missing_number(&mut self, name: &[u8], na: Na) -> bool {
        match na {
            Na::Default | Na::String => self.out.extend_from_slice(name),
            Na::Null => self.out.extend_from_slice(b"null"),
            Na::Omit => return false,
        }
        true
    }

    fn missing(&mut self, na: Na) -> bool {
        match na {
            Na::Default | Na::Null => self.out.extend_from_slice(b"null"),
            Na::String => self.out.extend_from_slice(b"\"NA\""),
            Na::Omit => return false,
        }
        true
    }

    /// Writes a matrix or array: arrays within arrays, along the first extent outermost, or the last.
    fn array(&mut self, cells: &Cells, dim: &[i32], na: Na) -> Result<(), Unsupported> {
        let mut axes = axes(dim, cells.len())?;
        if self.options.column_major {
            axes.reverse();
        }
        // what jsonlite gives for arrays without elements depends on more than their extents
        if cells.len() == 0 && (self.options.column_major || dim.len() > 2) {
            return Err(Unsupported::Foreign);
        }
        self.axis(cells, &axes, 0, na)
    }

    /// Writes the cells that start at `offset`, along `axes` of (extent, stride).
    pub fn axis(&mut self, cells: &Cells, axes: &[(usize, usize)], offset: usize, na: Na) -> Result<(), Unsupported> {
        let Some(((extent, stride), inner)) = axes.split_first() else {
            return self.cell(cells, offset, na, false).map(|_| ());
        };
        self.out.push(b'[');
        for i in 0..*extent {
            self.put_if(i > 0, b',');
            self.axis(cells, inner, offset + i * stride, na)?;
        }
        self.out.push(b']');
        Ok(())
    }
}

/// Extents and strides, in R's order; checked against the number of cells.
pub(super) fn axes(dim: &[i32], len: usize) -> Result<Vec<(usize, usize)>, Unsupported> {
    let mut axes = Vec::with_capacity(dim.len());
    let mut stride = 1_usize;
    for extent in dim {
        let extent = usize::try_from(*extent).map_err(|_| Unsupported::Foreign)?;
        axes.push((extent, stride));
        stride = stride.checked_mul(extent).ok_or(Unsupported::Foreign)?;
    }
    if stride != len || axes.len() > MAX_DEPTH as usize {
        return Err(Unsupported::Foreign);
    }
    Ok(axes)
}

/// What in `x` must not be handed to jsonlite: the name of the first such type found, or that it is nested too deep.
pub fn refused(x: Sexp) -> Result<(), Unsupported> {
    scan(x, 0)
}

fn scan(x: Sexp, depth: u32) -> Result<(), Unsupported> {
    let kind = r::type_of(x);
    if let Some(name) = view::refusal(kind) {
        return Err(Unsupported::Refused(name));
    }
    if depth == MAX_DEPTH {
        return Err(Unsupported::TooDeep);
    }
    if kind == kind::LIST {
        // SAFETY: a list, by its type.
        let list = unsafe { List::new(x) }.ok_or(Unsupported::Foreign)?;
        for i in 0..list.len() {
            scan(list.get(i), depth + 1)?;
        }
    }
    if kind == kind::PAIRLIST {
        for (_, value) in r::pairs(x) {
            scan(value, depth + 1)?;
        }
    }
    if r::is_s4(x) {
        for (_, slot) in r::pairs(r::all_attributes(x)) {
            scan(slot, depth + 1)?;
        }
    }
    Ok(())
}
