//! Whether a person looks at what a request gets: a browser that opens a page, and no script or program that wants
//! data.

use http::header::ACCEPT;
use http::{HeaderName, Method};
use httpd::{ascii, ws, Fields, Head};

const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Whether a browser opens a page with it.
pub fn is_navigation(head: &Head) -> bool {
    let is_safe = matches!(head.method, Method::GET | Method::HEAD);
    is_safe
        && !ws::is_wanted(head)
        && head.fields.get(&MODE).map_or_else(|| wants_html(&head.fields), |mode| mode == b"navigate")
}

/// Browsers name it in `Accept`; clients that ask for data do not.
pub fn wants_html(request: &Fields) -> bool {
    request.all(&ACCEPT).filter_map(ascii).any(|value| value.to_ascii_lowercase().contains("text/html"))
}
