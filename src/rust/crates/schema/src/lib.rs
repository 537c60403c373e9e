//! Whether values have the types that were declared, by JSON Schema 2020-12, and which ones do not.
//!
//! Pure: no I/O, no clock, nothing of HTTP or R. The engine asks for each request of a route that declares types; R
//! asks when an app is loaded, and about responses in development.
//!
//! Reading order: [`Value`] (one JSON value as it was read, without copies), `representation` (the same as the library
//! jsonschema sees it), [`Shape`] (texts of queries and forms as values), `hostile` (schemas that are refused),
//! [`Schema`], [`Violation`] (what is wrong, for people), `formats`.
#![forbid(unsafe_code)]

mod formats;
mod hostile;
mod representation;
mod schema;
mod shape;
mod value;
mod violation;

pub use schema::Schema;
pub use shape::Shape;
pub use value::{Malformed, Number, Value};
pub use violation::{Violation, MAX_VIOLATIONS};
