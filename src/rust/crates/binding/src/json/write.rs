//! R values to JSON text, straight from R's memory.
//!
//! Nothing here allocates in R or jumps. Neighbours: `view` (what a value is), `frame` (data frames), `text`, `number`
//! and `time` (leaves). What the native writer does not know is `Foreign`: the R side is then asked about that part
//! alone (`parts`), after `refused` has made sure that no code or handle is hidden in it (jsonlite prints the source of
//! functions).

use super::options::{JsonOptions, Na, Time};
use super::parts::{Answer, Parts};
use super::text::{self, Keys};
use super::unsupported::Unsupported;
use super::view::{self, Boxed, Cells, Days, Items, Value, Vector, Zone};
use super::{frame, number, time};
use crate::r::{self, kind, List, Sexp};

/// How deep lists may be nested. A level takes some 300 bytes of stack here, and R's own evaluator, which would be
/// next to try, stops at a few hundred levels.
const MAX_DEPTH: u32 = 512;

/// Appends `x` as JSON, with the text that `jsonlite::toJSON()` gives for the same arguments, except that numbers are
/// in their shortest exact form. `x` must be protected for the call.
///
/// # Errors
/// [`Unsupported`]; `out` may then end with part of the text.
pub fn write(x: Sexp, options: &JsonOptions, out: &mut Vec<u8>) -> Result<(), Unsupported> {
    let mut writer = Writer { options, out, depth: 0, indent: 0, parts: None };
    writer.value(x, options.na, options.auto_unbox)
}

/// As [`write`], with what R has answered about parts of `x`. What it is to be asked besides is the result; when that
/// is none, `out` has the text.
///
/// # Errors
/// As for [`write`]; never [`Unsupported::Foreign`], unless `known` is no list of answers.
pub fn write_in_parts(
    x: Sexp,
    options: &JsonOptions,
    known: Sexp,
    out: &mut Vec<u8>,
) -> Result<Vec<(Sexp, i32)>, Unsupported> {
    let mut writer = Writer { options, out, depth: 0, indent: 0, parts: Some(Parts::new(known)?) };
    writer.value(x, options.na, options.auto_unbox)?;
    Ok(writer.parts.map(Parts::asked).unwrap_or_default())
}

/// The writer's state.
pub(super) struct Writer<'w> {
    pub options: &'w JsonOptions,
    pub out: &'w mut Vec<u8>,
    depth: u32,
    /// how far the line is indented on which the value being written ends
    pub indent: usize,
    /// what R knows of parts that are foreign here; without it, they make the whole value foreign
    pub parts: Option<Parts>,
}

impl Writer<'_> {
    /// Writes any value.
    pub fn value(&mut self, x: Sexp, na: Na, unbox: bool) -> Result<(), Unsupported> {
        let (start, depth, indent) = (self.out.len(), self.depth, self.indent);
        let questions = self.parts.as_ref().map(Parts::questions);
        let written = self.native(x, na, unbox);
        match (&mut self.parts, questions) {
            (Some(parts), Some(questions)) if written == Err(Unsupported::Foreign) => {
                parts.take_back(questions);
                self.out.truncate(start);
                (self.depth, self.indent) = (depth, indent);
                self.foreign(x, na, unbox)
            }
            _ => written,
        }
    }

    /// Writes a value as R says, or asks R about it.
    fn foreign(&mut self, x: Sexp, na: Na, unbox: bool) -> Result<(), Unsupported> {
        let answer = self.parts.as_mut().and_then(|parts| parts.answer(x, na, unbox, false));
        match answer {
            Some(Answer::Instead(other)) => self.nested(|writer| writer.value(other, na, unbox)),
            Some(Answer::Texts(&[text])) => {
                self.indented(r::bytes(text));
                Ok(())
            }
            Some(Answer::Texts(_)) => Err(Unsupported::Foreign),
            None => Ok(()),
        }
    }

    /// Writes JSON that begins in the first column.
    pub fn indented(&mut self, text: &[u8]) {
        // a line break within a string is escaped: every one that is seen is layout
        for (i, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if i > 0 {
                self.line(self.indent);
            }
            self.out.extend_from_slice(line);
        }
    }

    /// Begins a line, where the text has lines.
    pub fn line(&mut self, indent: usize) {
        if self.options.pretty {
            self.out.push(b'\n');
            self.out.resize(self.out.len() + indent, b' ');
        }
    }

    /// What is between the elements of an array in one line.
    pub fn comma(&self) -> &'static [u8] {
        if self.options.pretty {
            b", "
        } else {
            b","
        }
    }

    /// Writes what is between a key and its value, less the colon.
    fn after_colon(&mut self) {
        self.put_if(self.options.pretty, b' ');
    }

    fn native(&mut self, x: Sexp, na: Na, unbox: bool) -> Result<(), Unsupported> {
        match view::view(x)? {
            Value::Raw(_) if self.options.foreign_raw => Err(Unsupported::Foreign),
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
        self.object(items.list.len(), &keys, |writer, i| writer.value(items.list.get(i), na, unbox))
    }

    /// Writes an object of `n` keys, whose values `value` writes.
    pub fn object(
        &mut self,
        n: usize,
        keys: &Keys,
        mut value: impl FnMut(&mut Self, usize) -> Result<(), Unsupported>,
    ) -> Result<(), Unsupported> {
        self.lines(n, (b'{', b'}'), |writer, i| {
            keys.write(writer.out, i)?;
            writer.after_colon();
            value(writer, i)
        })
    }

    /// Writes the elements of a list as an array.
    pub fn items(&mut self, list: &List, na: Na, unbox: bool) -> Result<(), Unsupported> {
        self.lines(list.len(), (b'[', b']'), |writer, i| writer.value(list.get(i), na, unbox))
    }

    /// Writes strings as an array.
    pub fn strings(&mut self, strings: &[Sexp]) -> Result<(), Unsupported> {
        let comma = self.comma();
        self.out.push(b'[');
        for (i, string) in strings.iter().enumerate() {
            if i > 0 {
                self.out.extend_from_slice(comma);
            }
            text::string(self.out, *string)?;
        }
        self.out.push(b']');
        Ok(())
    }

    /// Writes `n` elements, each in lines of its own.
    pub fn lines(
        &mut self,
        n: usize,
        (open, close): (u8, u8),
        mut each: impl FnMut(&mut Self, usize) -> Result<(), Unsupported>,
    ) -> Result<(), Unsupported> {
        self.out.push(open);
        self.indent += 2;
        for i in 0..n {
            self.put_if(i > 0, b',');
            self.line(self.indent);
            each(self, i)?;
        }
        self.indent -= 2;
        if n > 0 {
            self.line(self.indent);
        }
        self.out.push(close);
        Ok(())
    }

    /// Writes a vector, matrix or array.
    pub fn vector(&mut self, vector: &Vector, na: Na, unbox: bool) -> Result<(), Unsupported> {
        let Vector { cells, dim, boxed, .. } = vector;
        if !self.knows(cells) {
            return Err(Unsupported::Foreign);
        }
        // the text of times has no extents
        let dim = match cells {
            Cells::Time(..) if self.options.time != Time::Epoch => &[],
            _ => *dim,
        };
        if dim.len() >= 2 {
            return self.array(cells, dim, na);
        }
        if self.options.keep_names && cells.len() > 0 {
            if let Some(names) = vector.names()? {
                return self.named(cells, &Keys::new(names)?, na);
            }
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

    /// Writes a vector with names as an object, which jsonlite has in one line however the rest is laid out.
    fn named(&mut self, cells: &Cells, keys: &Keys, na: Na) -> Result<(), Unsupported> {
        let whole_days = self.times_are_midnight(cells);
        self.out.push(b'{');
        for i in 0..cells.len() {
            self.put_if(i > 0, b',');
            keys.write(self.out, i)?;
            self.cell(cells, i, na, whole_days)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    /// Whether each of these has a text here. Looked at for all before the first is written, as a column is foreign or
    /// not.
    pub fn knows(&self, cells: &Cells) -> bool {
        match cells {
            Cells::Factor(codes, labels) => {
                self.options.factor_integer
                    || codes.iter().all(|code| *code == r::NA_INT || (1..=labels.len()).contains(&(*code as usize)))
            }
            Cells::Date(days) => {
                let known = |day: f64| day.is_nan() || time::DAYS.contains(&day.floor());
                self.options.date_epoch || (0..days.len()).all(|i| known(days.get(i)))
            }
            Cells::Time(..) if self.options.foreign_times => false,
            Cells::Time(..) if self.options.time == Time::Epoch => true,
            Cells::Time(_, Zone::Other) => false,
            Cells::Time(..) if self.options.time == Time::String && r::digits_secs_set() => false,
            Cells::Time(seconds, _) => (0..seconds.len()).all(|i| time::in_every_zone(seconds.get(i))),
            _ => true,
        }
    }

    fn cells(&mut self, cells: &Cells, na: Na) -> Result<(), Unsupported> {
        let whole_days = self.times_are_midnight(cells);
        let comma = self.comma();
        for i in 0..cells.len() {
            if i > 0 {
                self.out.extend_from_slice(comma);
            }
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
            match self.options.digits {
                None => number::double(self.out, x),
                Some(digits) => number::rounded(self.out, x, digits),
            }
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
        if !inner.is_empty() {
            return self.lines(*extent, (b'[', b']'), |writer, i| writer.axis(cells, inner, offset + i * stride, na));
        }
        let comma = self.comma();
        self.out.push(b'[');
        for i in 0..*extent {
            if i > 0 {
                self.out.extend_from_slice(comma);
            }
            self.cell(cells, offset + i * stride, na, false)?;
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
