//! Dates as MongoDB writes them, `{"$date": ...}`: milliseconds since 1970, or text as in `2026-11-21T08:45:00Z`.
//!
//! Text is read by R, as jsonlite has it, because only R knows what its `strptime()` takes, and the session's time
//! zone: in one call for all texts of a body, as they may be many. Not for finding dates: that is `shape`.

use std::collections::HashMap;

use super::parse::{Counts, Host, JsonError, Limited, Value};
use super::shape::{element, element_double, Shaper, DATE};
use super::time;
use crate::node::{Kind, Node, Str, Time};

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
    fn seconds(&mut self, texts: &[Str], utc: bool) -> Result<Vec<f64>, JsonError> {
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

impl Shaper<'_, '_> {
    /// The times that a value of `$date` stands for; `None` when it is neither numbers nor text.
    ///
    /// # Errors
    /// Times that JSON has no text for, as it has a year of four digits.
    pub fn date(&mut self, value: &Node) -> Result<Option<Node>, JsonError> {
        let times = match value.kind {
            _ if value.time != Time::None => return Ok(None),
            Kind::Int | Kind::Dbl => {
                // SAFETY: numbers, and `i` is less than their number.
                let seconds = (0..value.n).map(|i| unsafe { element_double(value, i) } / 1000.0);
                let seconds: Vec<f64> = seconds.collect();
                let times = self.build.vector(Kind::Dbl, &seconds);
                Node { ndim: value.ndim, dim: value.dim, time: Time::Unzoned, ..times }
            }
            Kind::Str => {
                // SAFETY: texts, and `i` is less than their number.
                let texts: Vec<Str> = (0..value.n).map(|i| unsafe { *element(value, i) }).collect();
                // SAFETY: they point into the body or the arena, which are still there.
                let utc = texts.iter().all(|text| unsafe { text.as_bytes() }.ends_with(b"Z"));
                let seconds = self.dates.seconds(&texts, utc)?;
                let time = if utc { Time::Utc } else { Time::Local };
                Node { time, ..self.build.vector(Kind::Dbl, &seconds) }
            }
            _ => return Ok(None),
        };
        // SAFETY: made here, of doubles.
        let written = |i| time::in_every_zone(unsafe { *element(&times, i) });
        match (0..times.n).all(written) {
            true => Ok(Some(times)),
            false => Err(JsonError::new("a date is not within the years 1000 to 9999")),
        }
    }
}
