//! The latest errors of the log, for later inspection of the server: bounded in number and length.

use crate::record::Record;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// Errors that are kept.
const MOST: usize = 50;
/// Bytes of a message, and of each call of a traceback, that are kept.
const LONGEST: usize = 2000;
/// Calls of a traceback that are kept: the last ones, which are where the error is.
const MOST_CALLS: usize = 30;

/// An error that was logged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecentError {
    /// counts them, from 1
    pub number: u64,
    /// ms since 1970
    pub at: u64,
    /// the worker process that said so
    pub worker: Option<i32>,
    /// the request that it is about, as the log names it
    pub request: Option<String>,
    /// what it says
    pub message: String,
    /// the calls that led to it
    pub calls: Vec<String>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Recent(Mutex<(u64, VecDeque<RecentError>)>);

impl Recent {
    /// One more.
    pub fn add(&self, record: &Record) -> RecentError {
        let parts = record.parts();
        let request = parts.request.map(|id| format!("{id:016x}"));
        let skipped = parts.calls.len().saturating_sub(MOST_CALLS);
        let calls = parts.calls[skipped..].iter().map(|call| shortened(call)).collect();
        let at = record.at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        let (worker, message) = (record.worker, shortened(parts.message));
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, errors) = &mut *known;
        *number += 1;
        if errors.len() == MOST {
            errors.pop_front();
        }
        let error = RecentError { number: *number, at, worker, request, message, calls };
        errors.push_back(error.clone());
        error
    }

    /// The latest ones, the oldest of them first.
    pub fn last(&self, most: usize) -> Vec<RecentError> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.1.iter().skip(known.1.len().saturating_sub(most)).cloned().collect()
    }
}

fn shortened(text: &str) -> String {
    let end = (0..=LONGEST.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let cut = if end < text.len() { " …" } else { "" };
    format!("{}{cut}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Level;
    use std::time::SystemTime;

    fn record(text: String) -> Record {
        Record { at: SystemTime::now(), level: Level::Error, dropped: 0, worker: Some(7), text }
    }

    #[test]
    fn the_latest_are_kept_in_parts() {
        let recent = Recent::default();
        for i in 0..MOST + 3 {
            recent.add(&record(format!("id=00000000000000ff GET /{i} 500 it broke\u{1f}f(x)\u{1f}g(<b>)")));
        }
        let last = recent.last(2);
        assert_eq!(last.iter().map(|e| e.number).collect::<Vec<_>>(), [MOST as u64 + 2, MOST as u64 + 3]);
        assert_eq!((last[1].request.as_deref(), last[1].worker), (Some("00000000000000ff"), Some(7)));
        assert_eq!(last[1].message, format!("GET /{} 500 it broke", MOST + 2));
        assert_eq!(last[1].calls, ["f(x)", "g(<b>)"]);
        assert_eq!(recent.last(1000).len(), MOST);
    }

    #[test]
    fn a_long_one_is_cut_and_of_many_calls_the_last_are_kept() {
        let recent = Recent::default();
        let calls: String = (0..100).map(|i| format!("\u{1f}f{i}()")).collect();
        recent.add(&record("é".repeat(LONGEST) + &calls));
        let one = &recent.last(1)[0];
        assert!(one.message.len() <= LONGEST + 4 && one.message.ends_with(" …"), "{}", one.message.len());
        assert_eq!((one.calls.len(), one.calls.last().map(String::as_str)), (MOST_CALLS, Some("f99()")));
    }
}
