//! The app's own form for errors that the engine answers by itself. Made once, when the app was loaded, by its function
//! for errors in R: none of it is needed when there is too much to do. Not for errors of handlers, which that function
//! answers as they come.

use crate::config::OwnErrorConfig;
use bytes::Bytes;
use http::header::{DATE, SET_COOKIE};
use http::StatusCode;
use httpd::{Failure, ResponseFields};

/// See the module.
#[derive(Debug, Default)]
pub struct OwnErrors(Vec<OwnError>);

/// One answer, for all clients that accept JSON, or for all others.
#[derive(Debug)]
pub struct OwnError {
    status: StatusCode,
    json: bool,
    /// without those that are the server's to set, or that mean one client or one moment
    pub fields: ResponseFields,
    pub body: Bytes,
}

impl OwnErrors {
    /// Those that an app has made.
    ///
    /// # Errors
    /// What is wrong with a status or a header field.
    pub fn new(answers: &[OwnErrorConfig]) -> Result<Self, String> {
        answers.iter().map(OwnError::new).collect::<Result<_, _>>().map(OwnErrors)
    }

    /// The answer to this failure, unless a handler has made it, or there is none.
    pub fn answer(&self, failure: &Failure, json: bool) -> Option<&OwnError> {
        let fits = |own: &&OwnError| own.status == failure.status && own.json == json;
        self.0.iter().find(fits).filter(|_| !failure.of_handler)
    }
}

impl OwnError {
    fn new(config: &OwnErrorConfig) -> Result<Self, String> {
        let status = StatusCode::from_u16(config.status).map_err(|_| format!("{} is not a status", config.status))?;
        let given = || config.headers.iter().map(|field| (field.name.as_bytes(), field.value.as_bytes()));
        let mut fields = ResponseFields::of_handler(None, given)?;
        fields.said_length = None;
        fields.remove(&DATE);
        fields.remove(&SET_COOKIE);
        Ok(OwnError { status, json: config.json, fields, body: Bytes::copy_from_slice(config.body.as_bytes()) })
    }
}
