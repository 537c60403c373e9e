//! JSON: R values to text (`write`) and text to descriptions of R values (`parse`), with the results of jsonlite.
//!
//! Not for HTTP: other modules send the text and choose its status. Life of a reply: `view` says what an object is,
//! `write` and `frame` lay it out, `parts` has R's answers about foreign parts, `text`, `number` and `time` write the
//! leaves. Life of a body: `parse` reads it into an arena, `shape`, `records` and `dates` find the vectors, matrices,
//! data frames and times in it, `src/build.c` makes R objects. `abi` is what `src/json.c` calls.

mod abi;
mod dates;
mod frame;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod number;
mod options;
mod parse;
mod parts;
mod records;
mod shape;
mod text;
mod time;
mod unsupported;
mod value;
mod view;
mod write;
mod zeros;

pub use host::{Host, WithoutR};
pub(crate) use number::as_r;
pub use options::{Frame, JsonOptions, Na, Time};
pub use parse::{parse, parse_for, ParseOptions, Tree};
pub(crate) use shape::Build;
pub(crate) use text::quoted;
pub use unsupported::Unsupported;
pub use value::JsonError;
pub use write::{refused, write};
