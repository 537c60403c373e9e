//! What an R object is to the writer: which of the few shapes it has, with its elements as slices.
//!
//! Writes nothing. An object not listed here is `Foreign`, which jsonlite may know, or `Refused`.

use super::unsupported::Unsupported;
use crate::r::{self, kind, List, Sexp};

/// An object, ready to be written.
pub enum Value<'a> {
    /// `NULL`
    Null,
    /// raw bytes
    Raw(&'a [u8]),
    /// a vector, matrix or array
    Vector(Vector<'a>),
    /// a list that is no data frame
    List(Items<'a>),
    /// a data frame
    Frame(Table<'a>),
}

/// An atomic vector with its shape.
pub struct Vector<'a> {
    /// the elements
    pub cells: Cells<'a>,
    /// extents, of which there are none for a plain vector
    pub dim: &'a [i32],
    /// what `I()` and `jsonlite::unbox()` say about brackets
    pub boxed: Boxed,
    /// `names`, or null
    names: Sexp,
}

impl<'a> Vector<'a> {
    /// One name for each element. Arrays have none, not even those of one extent.
    pub fn names(&self) -> Result<Option<&'a [Sexp]>, Unsupported> {
        match strings(self.names)? {
            Some(names) if names.len() != self.cells.len() => Err(Unsupported::Foreign),
            names => Ok(names.filter(|_| self.dim.is_empty())),
        }
    }
}

/// What decides whether a vector of length 1 has brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Boxed {
    /// `auto_unbox`
    Auto,
    /// always: made with `I()`
    Always,
    /// never: made with `jsonlite::unbox()`
    Never,
}

/// The elements of an atomic vector, by what they mean.
#[derive(Clone, Copy)]
pub enum Cells<'a> {
    /// logical
    Logical(&'a [i32]),
    /// integer
    Integer(&'a [i32]),
    /// double
    Double(&'a [f64]),
    /// character
    String(&'a [Sexp]),
    /// codes and labels of a factor
    Factor(&'a [i32], &'a [Sexp]),
    /// `Date`
    Date(Days<'a>),
    /// `POSIXct`
    Time(Days<'a>, Zone),
}

/// Numbers that R keeps as integer or double: days of a `Date`, seconds of a `POSIXct`.
#[derive(Clone, Copy)]
pub enum Days<'a> {
    /// integer
    Integer(&'a [i32]),
    /// double
    Double(&'a [f64]),
}

impl Days<'_> {
    /// The number at `i`, R's NA where it is missing.
    pub fn get(&self, i: usize) -> f64 {
        match self {
            Days::Integer(days) if days[i] == r::NA_INT => r::na_double(),
            Days::Integer(days) => f64::from(days[i]),
            Days::Double(days) => days[i],
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Days::Integer(days) => days.len(),
            Days::Double(days) => days.len(),
        }
    }
}

/// The time zone of a `POSIXct`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// UTC
    Utc,
    /// the session's
    Local,
    /// one that only R can format
    Other,
}

impl Zone {
    /// The second since 1970 at which clocks in UTC show what clocks here show at `second`; `None` where only R knows.
    pub fn shown(self, second: f64) -> Option<f64> {
        match self {
            Zone::Utc => Some(second),
            Zone::Local if second.is_nan() => Some(second),
            Zone::Local => r::zone_offset(second.floor()).map(|offset| second + offset as f64),
            Zone::Other => None,
        }
    }
}

impl Cells<'_> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        match self {
            Cells::Logical(x) | Cells::Integer(x) | Cells::Factor(x, _) => x.len(),
            Cells::Double(x) => x.len(),
            Cells::String(x) => x.len(),
            Cells::Date(x) | Cells::Time(x, _) => x.len(),
        }
    }
}

/// A list.
pub struct Items<'a> {
    /// the elements
    pub list: List<'a>,
    /// their names
    pub names: Option<&'a [Sexp]>,
}

/// A data frame.
pub struct Table<'a> {
    /// the columns
    pub columns: List<'a>,
    /// their names
    pub names: &'a [Sexp],
    /// number of rows
    pub rows: usize,
    /// row names, where they are more than numbers
    pub row_names: Option<&'a [Sexp]>,
    /// made with `jsonlite::unbox()`: one row without brackets
    pub single: bool,
}

/// What the class attribute says, when it says something that is known here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    None,
    Factor,
    Date,
    Time,
    Frame,
}

/// Looks at `x`, which must be live and unchanged during `'a`.
pub fn view<'a>(x: Sexp) -> Result<Value<'a>, Unsupported> {
    let kind = r::type_of(x);
    match kind {
        kind::NULL => return Ok(Value::Null),
        kind::LOGICAL | kind::INTEGER | kind::DOUBLE | kind::STRING | kind::LIST | kind::RAW => {}
        _ => return Err(refusal(kind).map_or(Unsupported::Foreign, Unsupported::Refused)),
    }
    if r::is_s4(x) {
        return Err(Unsupported::Foreign);
    }
    let attributes = r::attributes(x);
    let (class, boxed) = class(attributes.class, kind)?;
    match kind {
        kind::LIST if class == Class::Frame => frame(x, &attributes, boxed),
        kind::LIST => {
            if class != Class::None || boxed == Boxed::Never || !attributes.dim.is_null() {
                return Err(Unsupported::Foreign);
            }
            // SAFETY: a list, by its type.
            let list = unsafe { List::new(x) }.ok_or(Unsupported::Foreign)?;
            let names = strings(attributes.names)?;
            if names.is_some_and(|names| names.len() != list.len()) {
                return Err(Unsupported::Foreign);
            }
            Ok(Value::List(Items { list, names }))
        }
        kind::RAW => {
            if class != Class::None || boxed != Boxed::Auto || !attributes.dim.is_null() {
                return Err(Unsupported::Foreign);
            }
            // SAFETY: a raw vector, by its type.
            unsafe { r::elements(x) }.map(Value::Raw).ok_or(Unsupported::Foreign)
        }
        _ => {
            let cells = cells(x, kind, class, &attributes)?;
            let dim = dim(attributes.dim)?;
            let shaped = matches!(class, Class::None | Class::Time);
            if !dim.is_empty() && (!shaped || boxed == Boxed::Never) {
                return Err(Unsupported::Foreign);
            }
            Ok(Value::Vector(Vector { cells, dim, boxed, names: attributes.names }))
        }
    }
}

/// The name of a type whose objects are never written: code, or what cannot leave the process.
pub fn refusal(kind: u32) -> Option<&'static str> {
    Some(match kind {
        kind::SYMBOL => "a symbol",
        kind::CLOSURE | kind::SPECIAL | kind::BUILTIN => "a function",
        kind::ENVIRONMENT => "an environment",
        kind::PROMISE | kind::DOTS | kind::ANY => "an unevaluated argument",
        kind::LANGUAGE => "a call or formula",
        kind::EXPRESSION => "an expression",
        kind::BYTECODE => "byte code",
        kind::POINTER => "an external pointer",
        kind::WEAKREF => "a weak reference",
        _ => return None,
    })
}

/// The character vector `x`, which may be a null pointer.
fn strings<'a>(x: Sexp) -> Result<Option<&'a [Sexp]>, Unsupported> {
    if x.is_null() {
        return Ok(None);
    }
    if r::type_of(x) != kind::STRING {
        return Err(Unsupported::Foreign);
    }
    // SAFETY: a character vector, by its type.
    unsafe { r::elements(x) }.map(Some).ok_or(Unsupported::Foreign)
}

fn class(class: Sexp, kind: u32) -> Result<(Class, Boxed), Unsupported> {
    let Some(names) = strings(class)? else {
        return Ok((Class::None, Boxed::Auto));
    };
    let name = |i: usize| names.get(i).map(|name| r::bytes(*name));
    let (boxed, from) = match name(0) {
        Some(b"AsIs") => (Boxed::Always, 1),
        Some(b"scalar") => (Boxed::Never, 1),
        _ => (Boxed::Auto, 0),
    };
    let class = match (name(from), name(from + 1), names.len() - from) {
        (None, ..) => Class::None,
        (Some(b"factor"), _, 1) | (Some(b"ordered"), Some(b"factor"), 2) if kind == kind::INTEGER => Class::Factor,
        (Some(b"Date"), _, 1) if matches!(kind, kind::INTEGER | kind::DOUBLE) => Class::Date,
        // jsonlite writes these with `force = TRUE` only: as the numbers that they are
        (Some(b"difftime" | b"table"), _, 1) if matches!(kind, kind::INTEGER | kind::DOUBLE) => Class::None,
        (Some(b"POSIXct"), Some(b"POSIXt"), 2) if matches!(kind, kind::INTEGER | kind::DOUBLE) => Class::Time,
        // unbox() writes the implicit class of plain vectors down
        (Some(b"logical"), _, 1) if boxed == Boxed::Never && kind == kind::LOGICAL => Class::None,
        (Some(b"integer"), _, 1) if boxed == Boxed::Never && kind == kind::INTEGER => Class::None,
        (Some(b"numeric"), _, 1) if boxed == Boxed::Never && kind == kind::DOUBLE => Class::None,
        (Some(b"character"), _, 1) if boxed == Boxed::Never && kind == kind::STRING => Class::None,
        // fields of a request: R/request-fields.R
        (Some(b"dr_fields"), _, 1) if kind == kind::LIST => Class::None,
        _ if kind == kind::LIST && is_frame(&names[from..]) => Class::Frame,
        _ => return Err(Unsupported::Foreign),
    };
    Ok((class, boxed))
}

/// True for data frames of R and those of packages that jsonlite writes as such.
fn is_frame(class: &[Sexp]) -> bool {
    let Some((last, others)) = class.split_last() else {
        return false;
    };
    let plain = |name: &Sexp| {
        matches!(r::bytes(*name), b"dr_status" | b"tbl_df" | b"tbl" | b"grouped_df" | b"spec_tbl_df" | b"data.table")
    };
    r::bytes(*last) == b"data.frame" && others.iter().all(plain)
}

fn cells<'a>(x: Sexp, kind: u32, class: Class, attributes: &r::Attributes) -> Result<Cells<'a>, Unsupported> {
    let number = |kind| {
        // SAFETY: by its type, the elements are integers or doubles.
        unsafe {
            match kind {
                kind::INTEGER => r::elements(x).map(Days::Integer),
                _ => r::elements(x).map(Days::Double),
            }
        }
    };
    // SAFETY: each by its type.
    let cells = unsafe {
        match (class, kind) {
            (Class::Factor, _) => {
                let labels = strings(attributes.levels)?.ok_or(Unsupported::Foreign)?;
                r::elements(x).map(|codes| Cells::Factor(codes, labels))
            }
            (Class::Date, _) => number(kind).map(Cells::Date),
            (Class::Time, _) => number(kind).map(|seconds| Cells::Time(seconds, zone(attributes.tzone))),
            (_, kind::LOGICAL) => r::elements(x).map(Cells::Logical),
            (_, kind::INTEGER) => r::elements(x).map(Cells::Integer),
            (_, kind::DOUBLE) => r::elements(x).map(Cells::Double),
            _ => r::elements(x).map(Cells::String),
        }
    };
    cells.ok_or(Unsupported::Foreign)
}

fn zone(tzone: Sexp) -> Zone {
    match strings(tzone) {
        Ok(None) => Zone::Local,
        Ok(Some([zone, ..])) => match r::bytes(*zone) {
            b"UTC" | b"GMT" | b"Etc/UTC" => Zone::Utc,
            b"" => Zone::Local,
            // R gives its times the name of the session's zone where that is set
            name if r::is_session_zone(name) => Zone::Local,
            _ => Zone::Other,
        },
        _ => Zone::Other,
    }
}

fn dim<'a>(x: Sexp) -> Result<&'a [i32], Unsupported> {
    if x.is_null() {
        return Ok(&[]);
    }
    if r::type_of(x) != kind::INTEGER {
        return Err(Unsupported::Foreign);
    }
    // SAFETY: an integer vector, by its type.
    unsafe { r::elements(x) }.ok_or(Unsupported::Foreign)
}

fn frame<'a>(x: Sexp, attributes: &r::Attributes, boxed: Boxed) -> Result<Value<'a>, Unsupported> {
    // SAFETY: a list, by its type.
    let columns = unsafe { List::new(x) }.ok_or(Unsupported::Foreign)?;
    let names = strings(attributes.names)?.ok_or(Unsupported::Foreign)?;
    if names.len() != columns.len() || attributes.row_names.is_null() {
        return Err(Unsupported::Foreign);
    }
    let (rows, row_names) = match r::type_of(attributes.row_names) {
        kind::STRING => {
            let rows = strings(attributes.row_names)?.unwrap_or_default();
            let digits = |name: &Sexp| !r::bytes(*name).is_empty() && r::bytes(*name).iter().all(u8::is_ascii_digit);
            (rows.len(), (!rows.iter().all(digits)).then_some(rows))
        }
        kind::INTEGER => {
            // SAFETY: an integer vector, by its type.
            let rows: &[i32] = unsafe { r::elements(attributes.row_names) }.ok_or(Unsupported::Foreign)?;
            match rows {
                // the compact form of 1:n, with the sign saying whether it was asked for
                [r::NA_INT, n] => (n.unsigned_abs() as usize, None),
                rows => (rows.len(), None),
            }
        }
        _ => return Err(Unsupported::Foreign),
    };
    let taken = row_names.is_some() && names.iter().any(|name| r::bytes(*name) == b"_row");
    let single = boxed == Boxed::Never;
    if taken || (single && rows != 1) {
        return Err(Unsupported::Foreign);
    }
    Ok(Value::Frame(Table { columns, names, rows, row_names, single }))
}
