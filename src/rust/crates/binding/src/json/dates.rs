//! Dates as MongoDB writes them, `{"$date": ...}`: milliseconds since 1970, or text as in `2026-11-21T08:45:00Z`.
//!
//! Text is read by R, as jsonlite has it, because only R knows what its `strptime()` takes, and the session's time
//! zone: in one call for all texts of a body, as they may be many. Not for finding dates: that is `shape`.

use std::collections::HashMap;

use super::host::{Host, Limited};
use super::value::{Counts, JsonError, Value, DATE};
use crate::node::Str;

/// The texts of a body that may have to be read as dates.
pub(super) struct Dates<'b, 'h> {
    texts: Vec<&'b str>,
    host: &'h mut dyn Host,
    /// what they say in the session's time zone, and in UTC; once that was asked for
    known: [Option<HashMap<&'b str, f64>>; 2],
}

impl<'b, 'h> Dates<'b, 'h> {
    /// Collects the texts.
    ///
    /// # Errors
    /// Texts that collide in R's string cache: R will make strings of them.
    pub fn of(root: &Value<'b>, counts: &Counts, host: &'h mut Limited) -> Result<Self, JsonError> {
        let mut texts = Vec::new();
        if counts.dates {
            collect(root, false, &mut texts);
            host.check(&mut |visit| texts.iter().try_for_each(|text| visit(text.as_bytes())))?;
        }
        Ok(Dates { texts, host: host.host, known: [None, None] })
    }

    /// The seconds since 1970 of each text; NaN where it is no date.
    pub fn seconds(&mut self, texts: &[Str], utc: bool) -> Result<Vec<f64>, JsonError> {
        let known = &mut self.known[usize::from(utc)];
        if known.is_none() {
            let seconds = self.host.read_dates(&self.texts, utc).filter(|seconds| seconds.len() == self.texts.len());
            let seconds = seconds.ok_or_else(|| JsonError::new("the dates could not be read"))?;
            *known = Some(self.texts.iter().copied().zip(seconds).collect());
        }
        let known = known.as_ref();
        // numbers and words that are no text of the body are no dates
        let second = |text: &Str| {
            // SAFETY: it points into the body or the arena, which are still there.
            let bytes = unsafe { text.as_bytes() };
            std::str::from_utf8(bytes).ok().and_then(|text| known?.get(text).copied())
        };
        Ok(texts.iter().map(|text| second(text).unwrap_or_else(crate::r::na_double)).collect())
    }
}

/// All strings that are, or that arrays hold that are, the value of `$date`.
fn collect<'b>(value: &Value<'b>, dated: bool, texts: &mut Vec<&'b str>) {
    match value {
        Value::String(text) if dated => texts.push(text),
        Value::Array(values) => values.iter().for_each(|value| collect(value, dated, texts)),
        Value::Object(object) => {
            object.keys.iter().zip(object.values).for_each(|(key, value)| collect(value, *key == DATE, texts));
        }
        _ => {}
    }
}
