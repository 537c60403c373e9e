//! Data frames: as records, as columns, or as rows of values.
//!
//! Not for what is in a cell: that is `write`.

use super::options::{Frame, Na};
use super::text::{self, Keys};
use super::view::{self, Cells, Table, Value, Vector};
use super::write::{axes, Unsupported, Writer};
use crate::r::{List, Sexp};

/// Writes a data frame.
pub fn write(writer: &mut Writer, table: &Table, na: Na, unbox: bool) -> Result<(), Unsupported> {
    if writer.options.frame == Frame::Columns {
        return columns(writer, table, na, unbox);
    }
    let rows = Rows::new(writer, table, na, unbox)?;
    if table.single {
        return rows.write(writer, 0);
    }
    writer.out.push(b'[');
    for row in 0..table.rows {
        if row > 0 {
            writer.out.push(b',');
        }
        rows.write(writer, row)?;
    }
    writer.out.push(b']');
    Ok(())
}

/// The names of the columns. A column of row names makes R repair names that are missing or repeated, in a way of its own.
fn column_keys<'a>(table: &Table<'a>) -> Result<Keys<'a>, Unsupported> {
    if table.row_names.is_some() && text::missing_or_repeated(table.names) {
        return Err(Unsupported::Foreign);
    }
    Keys::new(table.names)
}

/// `{"column":[...],...}`. Vectors keep their brackets here, whatever `auto_unbox` says.
fn columns(writer: &mut Writer, table: &Table, na: Na, unbox: bool) -> Result<(), Unsupported> {
    let keys = column_keys(table)?;
    writer.out.push(b'{');
    for i in 0..table.columns.len() {
        if i > 0 {
            writer.out.push(b',');
        }
        keys.write(writer.out, i)?;
        let column = table.columns.get(i);
        match view::view(column)? {
            Value::List(items) => writer.nested(|writer| writer.items(&items.list, na, unbox))?,
            Value::Frame(_) => writer.value(column, na, unbox)?,
            _ => writer.value(column, na, false)?,
        }
    }
    if let Some(row_names) = table.row_names {
        if !table.names.is_empty() {
            writer.out.push(b',');
        }
        writer.out.extend_from_slice(b"\"_row\":[");
        for (i, name) in row_names.iter().enumerate() {
            if i > 0 {
                writer.out.push(b',');
            }
            text::string(writer.out, *name)?;
        }
        writer.out.push(b']');
    }
    writer.out.push(b'}');
    Ok(())
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
    Cells { cells: Cells<'a>, whole_days: bool },
    Items(List<'a>),
    Rows(Rows<'a>),
    Array { cells: Cells<'a>, inner: Vec<(usize, usize)> },
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
                keys.push(key);
            }
        }
        if let Some(row_names) = table.row_names {
            columns.push(Column::Cells { cells: Cells::String(row_names), whole_days: false });
            if records {
                keys.push(b"\"_row\":".to_vec());
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
            writer.out.extend_from_slice(key);
            if self.cell(writer, column, row)? {
                first = false;
            } else {
                writer.out.truncate(before);
            }
        }
        writer.out.push(b'}');
        Ok(())
    }

    fn values(&self, writer: &mut Writer, row: usize) -> Result<(), Unsupported> {
        writer.out.push(b'[');
        for (i, column) in self.columns.iter().enumerate() {
            if i > 0 {
                writer.out.push(b',');
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
            Column::Items(list) => writer.value(list.get(row), self.na.in_cell(), self.unbox)?,
            Column::Rows(rows) => writer.nested(|writer| rows.write(writer, row))?,
            Column::Array { cells, inner } => writer.axis(cells, inner, row, self.na.in_cell())?,
        }
        Ok(true)
    }
}

fn column<'a>(writer: &mut Writer, x: Sexp, rows: usize, na: Na, unbox: bool) -> Result<Column<'a>, Unsupported> {
    let (column, len) = match view::view(x)? {
        // raw columns are hexadecimal, with the zeros that this version of R gives them
        Value::Null | Value::Raw(_) => return Err(Unsupported::Foreign),
        Value::List(items) => (Column::Items(items.list), items.list.len()),
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
