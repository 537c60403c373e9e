//! How values are written: the arguments of `jsonlite::toJSON()` that the native writer knows.
//!
//! Not for rare ones (`rownames`, `use_signif`, ...): with these the R side calls jsonlite.

/// What stands for a missing value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Na {
    /// `"NA"`, `"NaN"`, `"Inf"` for numbers, `null` for the rest: jsonlite when `na` is not given
    Default,
    /// `null`
    Null,
    /// `"NA"`, `"NaN"`, `"Inf"`
    String,
    /// nothing at all: the field of a record is left out. Only within the rows of a data frame
    Omit,
}

impl Na {
    /// What holds in the lists, matrices and lists of records that are cells of a row.
    pub(super) fn in_cell(self) -> Na {
        match self {
            Na::Omit => Na::Default,
            other => other,
        }
    }
}

/// What a data frame becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Frame {
    /// an array of records
    Rows,
    /// an object of columns
    Columns,
    /// an array of arrays, one for each row
    Values,
}

/// What a `POSIXct` becomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Time {
    /// as `format()` shows it
    String,
    /// `%Y-%m-%dT%H:%M:%S`
    Iso8601,
    /// milliseconds since 1970
    Epoch,
}

/// Arguments of `jsonlite::toJSON()`, by their names there.
#[derive(Clone, Copy, Debug)]
pub struct JsonOptions {
    /// vectors of length 1 are written without brackets
    pub auto_unbox: bool,
    /// what stands for a missing value
    pub na: Na,
    /// `NULL` is `null` instead of `{}`
    pub null_as_null: bool,
    /// what a data frame becomes
    pub frame: Frame,
    /// matrices are arrays of columns instead of rows
    pub column_major: bool,
    /// `Date` is days since 1970 instead of text
    pub date_epoch: bool,
    /// what a `POSIXct` becomes
    pub time: Time,
    /// factors are their codes instead of their labels
    pub factor_integer: bool,
    /// in lines, indented
    pub pretty: bool,
    /// vectors with names are objects
    pub keep_names: bool,
    /// how many digits doubles have behind the point, at most 9; `None`: as many as give the same number back
    pub digits: Option<u8>,
    /// raw vectors are for R to write: not as base64
    pub foreign_raw: bool,
    /// times are for R to write: in a format of the caller's
    pub foreign_times: bool,
}

impl JsonOptions {
    /// What a handler's value is written with: jsonlite's own defaults, but `auto_unbox = TRUE`.
    pub const REPLY: JsonOptions = JsonOptions {
        auto_unbox: true,
        na: Na::Default,
        null_as_null: false,
        frame: Frame::Rows,
        column_major: false,
        date_epoch: false,
        time: Time::String,
        factor_integer: false,
        pretty: false,
        keep_names: false,
        digits: None,
        foreign_raw: false,
        foreign_times: false,
    };
}

impl Default for JsonOptions {
    fn default() -> Self {
        JsonOptions::REPLY
    }
}
