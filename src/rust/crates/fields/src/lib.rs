//! Reading the parts of a request: query, form, cookies, multipart, and the string-cache guard.
//!
//! The worker's side calls this when a handler touches the field, never before, so a request pays only for
//! what is read. Everything works on byte slices of the request and borrows from them where nothing has to be
//! decoded. Text that comes out is valid UTF-8 without NUL, because that is what an R string can hold.
//!
//! Not here: JSON (the binding parses it straight to R values), headers and the body's framing (the engine),
//! and bounds on the whole body (`admission::Limits`).
#![forbid(unsafe_code)]

mod disposition;
mod error;
mod text;

pub mod cookies;
pub mod guard;
pub mod multipart;
pub mod query;
pub mod spool;

pub use error::{FieldError, FieldErrorKind};

use std::borrow::Cow;

/// A name and its value, borrowed from the request where nothing had to be decoded.
pub type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);
