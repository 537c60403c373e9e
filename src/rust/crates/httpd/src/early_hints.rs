//! Links that a client is told of before its response (`103`, RFC 8297), so that a browser fetches what a page will
//! need while the page is being made. Neighbours: `connection`, where hints wait; `h1` and `h2`, which write them as
//! soon as whatever answers the request has had its turn.

use crate::response::ResponseFields;
use grammar::bytes::is_value;
use http::header::LINK;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// The fields of one `103`.
#[derive(Debug)]
pub struct EarlyHints(ResponseFields);

impl EarlyHints {
    /// Of links, each the value of a `Link` field.
    ///
    /// # Errors
    /// A text that names the link that could split the response.
    pub fn new<'l>(links: impl Iterator<Item = &'l [u8]>) -> Result<Self, String> {
        let mut fields = ResponseFields::default();
        for link in links {
            if !is_value(link) {
                return Err(format!("a link cannot be '{}'", link.escape_ascii()));
            }
            fields.add(&LINK, link);
        }
        Ok(EarlyHints(fields))
    }

    /// Gives them to the final response, too: to clients that are not told ahead, and to caches. Those that its handler
    /// has given are there already.
    pub fn add_to(&self, fields: &mut ResponseFields) {
        for (_, link) in self.0.all() {
            if !fields.named(&LINK).any(|there| there == link) {
                fields.add(&LINK, link);
            }
        }
    }

    pub(crate) fn fields(&self) -> &ResponseFields {
        &self.0
    }
}

/// Hints for the client of the request that is being answered: given and taken in one turn of its task, so that those
/// of several requests on a connection of HTTP/2 cannot be mixed up.
#[derive(Debug, Default)]
pub struct WaitingHints {
    /// asked first, as nearly all requests have none
    any: AtomicBool,
    hints: Mutex<Vec<Arc<EarlyHints>>>,
}

impl WaitingHints {
    /// These are to be written before anything else.
    pub fn give(&self, hints: Arc<EarlyHints>) {
        self.hints.lock().unwrap_or_else(PoisonError::into_inner).push(hints);
        self.any.store(true, Relaxed);
    }

    pub(crate) fn take(&self) -> Vec<Arc<EarlyHints>> {
        if !self.any.load(Relaxed) {
            return Vec::new();
        }
        self.any.store(false, Relaxed);
        std::mem::take(&mut *self.hints.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: &[u8] = b"</a.css>; rel=preload; as=style";

    #[test]
    fn links_are_fields_that_a_response_has_once() {
        let hints = EarlyHints::new([STYLE, b"<b>; rel=next"].into_iter()).unwrap();
        let text = "link: </a.css>; rel=preload; as=style\r\nlink: <b>; rel=next\r\n";
        assert_eq!(hints.fields().text(), text.as_bytes());
        let given = || [(&b"Link"[..], STYLE)].into_iter();
        let mut fields = ResponseFields::of_handler(None, given).unwrap();
        hints.add_to(&mut fields);
        hints.add_to(&mut fields);
        assert_eq!(fields.named(&LINK).collect::<Vec<_>>(), [STYLE, b"<b>; rel=next"]);
        let said = EarlyHints::new([&b"<a>\r\nx: y"[..]].into_iter()).unwrap_err();
        assert_eq!(said, "a link cannot be '<a>\\r\\nx: y'");
    }

    #[test]
    fn what_waits_is_taken_once_and_in_order() {
        let waiting = WaitingHints::default();
        assert!(waiting.take().is_empty());
        for link in [STYLE, b"<b>"] {
            waiting.give(Arc::new(EarlyHints::new([link].into_iter()).unwrap()));
        }
        let taken = waiting.take();
        assert!(taken[0].fields().text().starts_with(b"link: </a.css>") && taken.len() == 2);
        assert!(waiting.take().is_empty());
    }
}
