//! Why a value has no text that is written here.

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
