//! What is wrong with a part of a request, and the status that says so.
//!
//! Messages name the place and the rule, never the client's bytes: they go to the log and, where the server
//! sends details, to the client. Neighbour: the binding turns a `FieldError` into an R condition with `status`.

use std::fmt;

/// The sort of fault, for callers that treat some differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// the bytes do not follow the format
    Malformed,
    /// not valid UTF-8, or a NUL byte: no R string can hold it
    NotText,
    /// more fields, parts or header bytes than the limits allow
    TooMany,
    /// strings built to share a hash in R's string cache
    Collisions,
    /// a file of a multipart body could not be written to disk
    Spool,
    /// the same, because the disk is full
    DiskFull,
}

/// A part of a request that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    kind: FieldErrorKind,
    message: String,
}

impl FieldError {
    pub(crate) fn new(kind: FieldErrorKind, message: impl Into<String>) -> Self {
        FieldError { kind, message: message.into() }
    }

    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::Malformed, message)
    }

    pub(crate) fn too_many(message: impl Into<String>) -> Self {
        Self::new(FieldErrorKind::TooMany, message)
    }

    /// The sort of fault.
    pub fn kind(&self) -> FieldErrorKind {
        self.kind
    }

    /// One line for the log: which part, which rule, where. Holds nothing that the client sent.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The status to answer with: 400 for everything the client did, 507 for a full disk, 500 for other
    /// failures to write a spooled file.
    pub fn status(&self) -> u16 {
        match self.kind {
            FieldErrorKind::Malformed
            | FieldErrorKind::NotText
            | FieldErrorKind::TooMany
            | FieldErrorKind::Collisions => 400,
            FieldErrorKind::Spool => 500,
            FieldErrorKind::DiskFull => 507,
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FieldError {}
