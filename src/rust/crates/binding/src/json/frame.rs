//! Data frames: as records, as columns, or as rows of values.
//!
//! Not for what is in a cell: that is `write`.

use super::options::{Frame, Na};
use super::parts::{Answer, Parts};
use super::text::{self, Keys};
use super::unsupported::Unsupported;
use super::view::{self, Cells, Table, Value, Vector};
use super::write::{axes, Writer};
use crate::r::{self, List, Sexp};

/// Writes a data frame.
pub fn write(writer: &mut Writer, table: &Table, na: Na, unbox: bool) -> Result<(), Unsupported> {
    if writer.options.frame == Frame::Columns {
        return columns(writer, table, na, unbox);
    }
    let rows = Rows::new(writer, table, na, unbox)?;
    if !table.single {
        return writer.lines(table.rows, (b'[', b']'), |writer, row| rows.write(writer, row));
    }
    // where jsonlite has it, too: as far in as a row of a table
    writer.indent += 2;
    rows.write(writer, 0)?;
    writer.indent -= 2;
    Ok(())
}

/// The names of the columns. A column of row names makes R repair names that are missing or repeated, in a way of its
/// own.
fn column_keys<'a>(table: &Table<'a>) -> Result<Keys<'a>, Unsupported> {
    if table.row_names.is_some() && text::missing_or_repeated(table.names) {
        return Err(Unsupported::Foreign);
    }
    Keys::new(table.names)
}

/// `{"column":[...],...}`. Vectors keep their brackets here, even with `auto_unbox`.
fn columns(writer: &mut Writer, table: &Table, na: Na, unbox: bool) -> Result<(), Unsupported> {
    let keys = column_keys(table)?;
    let n = table.columns.len();
    let row_names = table.row_names.unwrap_or_default();
    writer.object(n + usize::from(table.row_names.is_some()), &keys.and(b"_row"), |writer, i| {
        if i == n {
            return writer.strings(row_names);
        }
        let column = table.columns.get(i);
        match view::view(column) {
            Ok(Value::List(items)) => writer.nested(|writer| writer.items(&items.list, na, unbox)),
            Ok(Value::Frame(_)) => writer.value(column, na, unbox),
            _ => writer.value(column, na, false),
        }
    })
}

/// The columns of a table, ready to be written row by row.
struct Rows<'a> {
    columns: Vec<Column<'a>>,
    /// the keys of the records, each with its colon; none when rows are arrays
    keys: Vec<Vec<u8>>,
    na: Na,
    unbox: bool,
}

enum Column<'a> {
    Cells {
        cells: Cells<'a>,
        whole_days: bool,
    },
    Items(List<'a>),
    Rows(Rows<'a>),
    Array {
        cells: Cells<'a>,
        inner: Vec<(usize, usize)>,
    },
    /// what R gives for each row; nothing yet, where it is to be asked
    Texts(Option<&'a [Sexp]>),
}

impl<'a> Rows<'a> {
    fn new(writer: &mut Writer, table: &Table<'a>, na: Na, unbox: bool) -> Result<Rows<'a>, Unsupported> {
        let records = writer.options.frame == Frame::Rows;
        // jsonlite leaves missing fields out of records unless `na` is given
        let na = if records && na == Na::Default { Na::Omit } else { na };
        let mut columns = Vec::with_capacity(table.columns.len() + 1);
        for i in 0..table.columns.len() {
            columns.push(column(writer, table.columns.get(i), table.rows, na, unbox)?);
        }
        let mut keys = Vec::new();
        if records {
            let names = column_keys(table)?;
            for i in 0..table.names.len() {
                let mut key = Vec::new();
                names.write(&mut key, i)?;
                if writer.options.pretty {
                    key.push(b' ');
                }
                keys.push(key);
            }
        }
        if let Some(row_names) = table.row_names {
            columns.push(Column::Cells { cells: Cells::String(row_names), whole_days: false });
            if records {
                let key: &[u8] = if writer.options.pretty { b"\"_row\": " } else { b"\"_row\":" };
                keys.push(key.to_vec());
            }
        }
        Ok(Rows { columns, keys, na, unbox })
    }

    fn write(&self, writer: &mut Writer, row: usize) -> Result<(), Unsupported> {
        if writer.options.frame == Frame::Values {
            return self.values(writer, row);
        }
        writer.out.push(b'{');
        let mut first = true;
        for (column, key) in self.columns.iter().zip(&self.keys) {
            let before = writer.out.len();
            if !first {
                writer.out.push(b',');
            }
            writer.line(writer.indent + 2);
            writer.out.extend_from_slice(key);
            if self.cell(writer, column, row)? {
                first = false;
            } else {
                writer.out.truncate(before);
            }
        }
        if !first {
            writer.line(writer.indent);
        }
        writer.out.push(b'}');
        Ok(())
    }

    fn values(&self, writer: &mut Writer, row: usize) -> Result<(), Unsupported> {
        let comma = writer.comma();
        writer.out.push(b'[');
        for (i, column) in self.columns.iter().enumerate() {
            if i > 0 {
                writer.out.extend_from_slice(comma);
            }
            self.cell(writer, column, row)?;
        }
        writer.out.push(b']');
        Ok(())
    }

    /// Says whether there is a value: see [`Na::Omit`].
    fn cell(&self, writer: &mut Writer, column: &Column, row: usize) -> Result<bool, Unsupported> {
        match column {
            Column::Cells { cells, whole_days } => return writer.cell(cells, row, self.na, *whole_days),
            Column::Texts(None) => {}
            Column::Texts(Some(texts)) if r::is_na_string(texts[row]) => return Ok(false),
            Column::Texts(Some(texts)) => {
                writer.indent += 2;
                writer.indented(r::bytes(texts[row]));
                writer.indent -= 2;
            }
            Column::Items(list) => {
                writer.indent += 2;
                writer.value(list.get(row), self.na.in_cell(), self.unbox)?;
                writer.indent -= 2;
            }
            Column::Rows(rows) => {
                writer.indent += 2;
                writer.nested(|writer| rows.write(writer, row))?;
                writer.indent -= 2;
            }
            Column::Array { cells, inner } => {
                writer.indent += 2;
                writer.axis(cells, inner, row, self.na.in_cell())?;
                writer.indent -= 2;
            }
        }
        Ok(true)
    }
}

/// A column, as R says where it is foreign.
fn column<'a>(writer: &mut Writer, x: Sexp, rows: usize, na: Na, unbox: bool) -> Result<Column<'a>, Unsupported> {
    let questions = writer.parts.as_ref().map_or(0, Parts::questions);
    let native = native_column(writer, x, rows, na, unbox);
    let Some(parts) = &mut writer.parts else { return native };
    if !matches!(native, Err(Unsupported::Foreign)) {
        return native;
    }
    parts.take_back(questions);
    match parts.answer(x, na, unbox, true) {
        None => Ok(Column::Texts(None)),
        Some(Answer::Texts(texts)) if texts.len() == rows => Ok(Column::Texts(Some(texts))),
        Some(Answer::Texts(_)) => Err(Unsupported::Foreign),
        Some(Answer::Instead(other)) => column(writer, other, rows, na, unbox),
    }
}

fn native_column<'a>(
    writer: &mut Writer,
    x: Sexp,
    rows: usize,
    na: Na,
    unbox: bool,
) -> Result<Column<'a>, Unsupported> {
    let (column, len) = match view::view(x)? {
        // raw columns are hexadecimal, with the zeros that this version of R gives them
        Value::Null | Value::Raw(_) => return Err(Unsupported::Foreign),
        Value::List(items) => (Column::Items(items.list), items.list.len()),
        Value::Vector(vector) if !writer.knows(&vector.cells) => return Err(Unsupported::Foreign),
        // as an object, it would not be a column's
        Value::Vector(vector) if writer.options.keep_names && vector.names()?.is_some() => {
            return Err(Unsupported::Foreign);
        }
        Value::Vector(vector) if vector.dim.is_empty() => {
            let whole_days = writer.times_are_midnight(&vector.cells);
            (Column::Cells { cells: vector.cells, whole_days }, vector.cells.len())
        }
        Value::Vector(Vector { cells: Cells::Time(..), .. }) => return Err(Unsupported::Foreign),
        Value::Vector(vector) => {
            let axes = axes(vector.dim, vector.cells.len())?;
            if writer.options.column_major || axes.len() < 2 || vector.cells.len() == 0 {
                return Err(Unsupported::Foreign);
            }
            (Column::Array { cells: vector.cells, inner: axes[1..].to_vec() }, axes[0].0)
        }
        Value::Frame(table) if table.single => return Err(Unsupported::Foreign),
        Value::Frame(table) => {
            let mut inner = Err(Unsupported::Foreign);
            writer.nested(|writer| {
                inner = Rows::new(writer, &table, na.in_cell(), unbox);
                Ok(())
            })?;
            (Column::Rows(inner?), table.rows)
        }
    };
    if len != rows {
        return Err(Unsupported::Foreign);
    }
    Ok(column)
}
