//! A request in the form of drogonR's signatures: C strings and arrays of them.
//!
//! They are written into memory that the thread keeps from call to call, so that a usual request allocates nothing.

use crate::guard::Inputs;
use exchange::RequestView;
use std::cell::Cell;
use std::ffi::c_char;

#[derive(Default)]
struct Strings {
    /// all of them, each ended by a NUL
    text: Vec<u8>,
    /// where each starts in `text`
    starts: Vec<usize>,
    /// the same as addresses: made when `text` does not grow any more
    addresses: Vec<*const c_char>,
}

impl Strings {
    fn clear(&mut self) {
        kept::empty(&mut self.text);
        kept::empty(&mut self.starts);
        kept::empty(&mut self.addresses);
    }

    fn push(&mut self, string: &[u8]) {
        self.starts.push(self.text.len());
        self.text.extend_from_slice(string);
        self.text.push(0);
    }

    /// Names and values in turn; returns the number of pairs. Cookies that came in several fields, as they may over
    /// HTTP/2, are put together (RFC 9113, section 8.2.3).
    fn push_headers(&mut self, request: &dyn RequestView) -> usize {
        let before = self.starts.len();
        let mut cookie = None;
        let mut more_cookies = Vec::new();
        request.each_header(&mut |name, value| {
            if name == b"cookie" {
                if cookie.is_some() {
                    more_cookies.extend_from_slice(b"; ");
                    more_cookies.extend_from_slice(value);
                    return;
                }
                cookie = Some((self.starts.len() + 1, value.len()));
            }
            self.push(name);
            self.push(value);
        });
        if let Some((at, len)) = cookie.filter(|_| !more_cookies.is_empty()) {
            let first = self.starts[at];
            self.starts[at] = self.text.len();
            self.text.extend_from_within(first..first + len);
            self.text.extend_from_slice(&more_cookies);
            self.text.push(0);
        }
        (self.starts.len() - before) / 2
    }

    fn resolve(&mut self) {
        let text = self.text.as_ptr();
        self.addresses.extend(self.starts.iter().map(|&start| text.wrapping_add(start).cast::<c_char>()));
    }
}

thread_local! {
    static SPARE: Cell<Option<Box<Strings>>> = const { Cell::new(None) };
}

/// Calls `f` with the request, which is good until `f` returns.
pub fn with_inputs<T>(request: &dyn RequestView, body: &[u8], f: impl FnOnce(&Inputs) -> T) -> T {
    // taken out while it is used, so that a call within a call has memory of its own
    let mut strings = SPARE.take().unwrap_or_default();
    let query = request.query().filter(|query| !query.is_empty());
    if let Some(query) = query {
        strings.push(query);
    }
    let params_n = request.param_count();
    for at in 0..params_n {
        strings.push(request.param(at).unwrap_or_default());
    }
    let headers_n = strings.push_headers(request);
    strings.resolve();
    let (query_n, addresses) = (usize::from(query.is_some()), strings.addresses.as_slice());
    let array = |from: usize, n: usize| if n == 0 { std::ptr::null() } else { addresses[from..].as_ptr() };
    let result = f(&Inputs {
        body: body.as_ptr().cast(),
        body_len: body.len(),
        query: if query.is_some() { addresses[0] } else { std::ptr::null() },
        params: array(query_n, params_n),
        params_n,
        headers: array(query_n + params_n, headers_n),
        headers_n,
    });
    strings.clear();
    SPARE.set(Some(strings));
    result
}
