//! Fields that an app wants in all its responses, unless a handler says otherwise: those that tell browsers to be
//! careful. (`X-Content-Type-Options` is in every response of a server: see `httpd`.)

use http::{HeaderName, HeaderValue};
use httpd::ResponseFields;
use serde::{Deserialize, Serialize};

/// A header field of a response.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct HeaderConfig {
    /// in any case
    pub name: String,
    /// without line breaks
    pub value: String,
}

/// See the module.
#[derive(Debug)]
pub struct UnlessSet(Vec<(HeaderName, HeaderValue)>);

impl UnlessSet {
    /// These.
    ///
    /// # Errors
    /// A text that names what cannot be a field.
    pub fn new(fields: &[HeaderConfig]) -> Result<Self, String> {
        let read = |HeaderConfig { name, value }: &HeaderConfig| {
            let wrong = || format!("{name:?} cannot be {value:?}");
            let read = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
            read.ok_or_else(wrong)
        };
        fields.iter().map(read).collect::<Result<_, _>>().map(UnlessSet)
    }

    /// Adds them to a response.
    pub fn dress(&self, fields: &mut ResponseFields) {
        for (name, value) in &self.0 {
            if fields.get(name).is_none() {
                fields.add(name, value);
            }
        }
    }
}
