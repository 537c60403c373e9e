//! Why there is no other answer to a request, or to bytes that are none. The simplest form of it, a line of text, is
//! here: it is what a client gets whose bytes were refused.

use super::common::CommonFields;
use super::fields::ResponseFields;
use super::status::phrase_or_class;
use crate::date;
use crate::forwarded::REQUEST_ID;
use http::header::CACHE_CONTROL;
use http::{HeaderName, StatusCode};
use observe::metrics::Refusal;
use std::fmt::Write as _;

/// Why there is no other answer.
#[derive(Debug, Clone)]
pub struct Failure {
    /// 4xx or 5xx; 308 where the request is to be made elsewhere
    pub status: StatusCode,
    /// for the client; never the text of an R error
    pub detail: String,
    /// all that is wrong, as a JSON array; empty where `detail` says it
    pub errors: String,
    /// for the log only: which setting or part of the server is behind it
    pub because: String,
    /// the connection is not usable after this
    pub close: bool,
    /// further header fields, such as `Allow` for 405
    pub fields: ResponseFields,
    /// a handler has made it: its detail is what the client is to read
    pub of_handler: bool,
    /// what it is counted as, where its status does not say so
    pub counts_as: Option<Refusal>,
}

impl Failure {
    /// A failure of this status.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let (detail, errors, because, fields) =
            (detail.into(), String::new(), String::new(), ResponseFields::default());
        Failure { status, detail, errors, because, close: false, fields, of_handler: false, counts_as: None }
    }

    /// The same, with a header field. The value is one that a field can have.
    pub fn with(mut self, name: &HeaderName, value: impl AsRef<[u8]>) -> Self {
        self.fields.set(name, value);
        self
    }

    /// The same, with a reason that clients do not see.
    pub fn because(mut self, why: impl std::fmt::Display) -> Self {
        self.because = why.to_string();
        self
    }

    /// The same, because it is over a setting, which only the log names: clients have no use for it.
    pub fn over(self, setting: &str, most: impl std::fmt::Display) -> Self {
        self.because(format_args!("over `{setting}` = {most}"))
    }

    /// The same, with all that is wrong as a JSON array.
    pub fn with_errors(self, errors: String) -> Self {
        Failure { errors, ..self }
    }

    /// The same, counted as this.
    pub fn counts_as(self, refusal: Refusal) -> Self {
        Failure { counts_as: Some(refusal), ..self }
    }

    /// What the log says of it.
    pub fn for_log(&self) -> String {
        let between = if self.detail.is_empty() || self.because.is_empty() { "" } else { ": " };
        format!("{}{between}{}", self.detail, self.because)
    }

    /// The same, made by a handler.
    pub fn of_handler(self) -> Self {
        Failure { of_handler: true, ..self }
    }

    /// The same, and nothing more is read from the connection.
    pub fn closing(self) -> Self {
        Failure { close: true, ..self }
    }

    /// As a line of text; `id` names the request in the log.
    pub fn text(&self, id: u64) -> String {
        let mut text = format!("{} {}", self.status.as_str(), phrase_or_class(self.status.as_u16()));
        if !self.detail.is_empty() {
            let _ = write!(text, ": {}", self.detail);
        }
        if self.status.is_server_error() {
            let _ = write!(text, " (request {id:016x})");
        }
        text.push('\n');
        text
    }

    /// A whole response as bytes, for a connection that no HTTP layer speaks on any more.
    pub(crate) fn whole(&self, id: u64, common: &CommonFields) -> Vec<u8> {
        let body = self.text(id);
        let date = date::now();
        let common = common.others_than(|name| self.fields.get(name).is_some() || *name == CACHE_CONTROL);
        let own = format!("{REQUEST_ID}: {id:016x}\r\n{}", String::from_utf8_lossy(self.fields.text()));
        let further = common.fold(own, |mut text, (name, value)| {
            let _ = write!(text, "{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes()));
            text
        });
        format!(
            "HTTP/1.1 {} {}\r\ncontent-type: text/plain; charset=utf-8\r\ncache-control: no-store\r\n\
             x-content-type-options: nosniff\r\nconnection: close\r\n{further}content-length: {}\r\ndate: {}\r\n\r\n{body}",
            self.status.as_str(),
            phrase_or_class(self.status.as_u16()),
            body.len(),
            String::from_utf8_lossy(&date),
        )
        .into_bytes()
    }
}
