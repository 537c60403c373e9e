//! What the server adds for a developer of the app (`drover dev`): when the app does not load, every request gets a
//! page that says why; browsers get errors as pages; and open pages reload after a change.
//! Neighbours: `pipeline`, which asks here first and last; the program, which reports the result of each load.
//!
//! Without WebSockets: a script, which is put into HTML as it goes out, asks for the number of the present state each
//! second.

use crate::edge::navigation::wants_html;
use crate::respond::{is_json, text, unstored};
use bytes::{Bytes, BytesMut};
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, LAST_MODIFIED};
use http::{HeaderValue, Method, StatusCode};
use httpd::{phrase_or_class, Body, Fields, Head, Response};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Asked for by pages: the name of the present state.
const STATE: &str = "/__drover_dev__/generation";
/// What asks for it.
const SCRIPT: &str = "/__drover_dev__/refresh.js";

/// Runs in each page. A server that does not answer is one that is being started again.
const REFRESH: &str = r#"(() => {
  const shown = document.currentScript.dataset.generation;
  const generation = new URL("generation", document.currentScript.src);
  const ask = async () => {
    try {
      const answer = await fetch(generation, { cache: "no-store" });
      if (answer.ok && (await answer.text()) !== shown) return location.reload();
    } catch { }
    setTimeout(ask, 1000);
  };
  setTimeout(ask, 1000);
})();
"#;

const HTML: &str = "text/html; charset=utf-8";

/// Longest page that gets the script: it is held in memory for that.
const LONGEST: u64 = 4 << 20;

/// See the module.
#[derive(Debug)]
pub struct Development {
    /// what the names of states begin with: no other server's do
    name: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// one more with everything new
    number: u64,
    /// why there is no app to show
    problem: Option<Problem>,
}

#[derive(Debug, Clone)]
struct Problem {
    title: String,
    text: String,
}

impl Development {
    /// Nothing has been loaded yet.
    #[expect(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        Development { name: format!("{now:x}"), state: Mutex::default() }
    }

    /// The app serves, or a file that it sends is another one: pages are loaded again.
    pub fn has_changed(&self) {
        self.set(None);
    }

    /// A file that the app sends is another one: pages are loaded again, and what is wrong stays so.
    pub fn refresh(&self) {
        self.lock().number += 1;
    }

    /// The app could not be loaded. `title` is a line, `text` is why.
    pub fn has_failed(&self, title: &str, text: &str) {
        self.set(Some(Problem { title: title.to_owned(), text: text.to_owned() }));
    }

    fn set(&self, problem: Option<Problem>) {
        let mut state = self.lock();
        state.number += 1;
        state.problem = problem;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // no code panics while holding this lock
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The name of the present state.
    fn generation(&self) -> String {
        format!("{}.{}", self.name, self.lock().number)
    }

    /// The answer to a request that no app is to see: those of the script, and all while the app does not load.
    pub(crate) fn answer(&self, head: &Head) -> Option<Response> {
        match head.path() {
            STATE => return Some(text(StatusCode::OK, self.generation())),
            SCRIPT => return Some(unstored(StatusCode::OK, "text/javascript; charset=utf-8", REFRESH)),
            _ => {}
        }
        let problem = self.lock().problem.clone()?;
        let (status, is_page) = (StatusCode::INTERNAL_SERVER_ERROR, wants_html(&head.fields));
        Some(if is_page {
            unstored(status, HTML, page(&problem))
        } else {
            text(status, format!("{}\n\n{}\n", problem.title, problem.text))
        })
    }

    /// Makes browsers reload this page after a change, whether it is a page of the app or the text of an error.
    pub(crate) fn keep_new(&self, method: &Method, request: &Fields, base_path: &str, response: &mut Response) {
        let is_part =
            response.status == StatusCode::PARTIAL_CONTENT || response.fields.get(&CONTENT_ENCODING).is_some();
        if is_part || *method == Method::HEAD {
            return;
        }
        if media_type(response).is_some_and(|kind| kind.eq_ignore_ascii_case("text/html")) {
            self.add_script(response, base_path, |bytes| bytes);
        } else if is_text_of_error(response) && wants_html(request) {
            let status = response.status;
            let title = format!("{} {}", status.as_u16(), phrase_or_class(status.as_u16()));
            self.add_script(response, base_path, |bytes| {
                page(&Problem { title, text: String::from_utf8_lossy(&bytes).into_owned() }).into()
            });
        }
    }

    /// Makes a page of the body, with the script. It is not to be kept by the browser: without the script of another
    /// time.
    fn add_script(&self, response: &mut Response, base_path: &str, page_of: impl FnOnce(Bytes) -> Bytes) {
        let Some(bytes) = response.body.read(LONGEST) else { return };
        let generation = self.generation();
        let script = format!("<script src=\"{base_path}{SCRIPT}\" data-generation=\"{generation}\"></script>");
        response.body = Body::bytes(with_script(page_of(bytes), &script));
        response.fields.set(&CONTENT_TYPE, HeaderValue::from_static(HTML));
        response.fields.length = None;
        response.fields.remove(&ETAG);
        response.fields.remove(&LAST_MODIFIED);
        response.fields.set(&CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

/// Without its parameters.
fn media_type(response: &Response) -> Option<&str> {
    let kind = std::str::from_utf8(response.fields.get(&CONTENT_TYPE)?).ok()?;
    Some(kind.split(';').next().unwrap_or_default().trim())
}

/// Whether it is an error that its reader can mend. A request for another host (421) gets no page of this one.
fn is_text_of_error(response: &Response) -> bool {
    let status = response.status;
    let is_text = media_type(response).is_none_or(|kind| kind.eq_ignore_ascii_case("text/plain") || is_json(kind));
    (status.is_client_error() || status.is_server_error()) && status != StatusCode::MISDIRECTED_REQUEST && is_text
}

/// Before the end of the body, or at the end of the text.
fn with_script(page: Bytes, script: &str) -> Bytes {
    let end = page.windows(7).rposition(|window| window.eq_ignore_ascii_case(b"</body>")).unwrap_or(page.len());
    let mut out = BytesMut::with_capacity(page.len() + script.len());
    out.extend_from_slice(&page[..end]);
    out.extend_from_slice(script.as_bytes());
    out.extend_from_slice(&page[end..]);
    out.freeze()
}

fn page(problem: &Problem) -> String {
    let mut page = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    escape(&problem.title, &mut page);
    page.push_str(
        "</title>\n\
         <style>body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 3rem auto; padding: 0 1rem }\n\
         pre { background: #f4f4f4; color: #111; padding: 1rem; overflow-x: auto; border-left: 4px solid #c00 }\n\
         small { color: #666 }</style></head>\n<body><h1>",
    );
    escape(&problem.title, &mut page);
    page.push_str("</h1>\n<pre>");
    escape(&problem.text, &mut page);
    page.push_str("</pre>\n<small>drover dev: this page refreshes when a file changes.</small>\n</body></html>\n");
    page
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() && c != '\n' && c != '\t' => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::ACCEPT;

    fn html(body: &str) -> Response {
        unstored(StatusCode::OK, HTML, body.to_owned())
    }

    fn asked(accept: &'static str) -> Fields {
        Fields::from_iter([(ACCEPT, accept)])
    }

    fn sent(development: &Development, mut response: Response, method: &Method, accept: &'static str) -> String {
        development.keep_new(method, &asked(accept), "", &mut response);
        String::from_utf8(response.body.take_bytes().unwrap().to_vec()).unwrap()
    }

    const BROWSER: &str = "text/html,*/*;q=0.8";

    #[test]
    fn pages_get_the_script_and_nothing_else_does() {
        let development = Development::new();
        let script = format!("<script src=\"{SCRIPT}\" data-generation=\"{}\"></script>", development.generation());
        let get = |response| sent(&development, response, &Method::GET, BROWSER);
        assert_eq!(get(html("<p>a</p></BODY></html>")), format!("<p>a</p>{script}</BODY></html>"));
        assert_eq!(get(html("a")), format!("a{script}"));
        assert_eq!(sent(&development, html("a"), &Method::HEAD, BROWSER), "a");
        assert_eq!(get(unstored(StatusCode::OK, "text/html5", "a")), "a");
        assert_eq!(get(unstored(StatusCode::OK, "application/json", "{}")), "{}");
        assert_eq!(get(unstored(StatusCode::PARTIAL_CONTENT, "text/html", "a")), "a");
        let mut packed = html("a");
        packed.fields.set(&CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert_eq!(get(packed), "a");
    }

    #[test]
    fn an_error_is_a_page_to_a_browser_and_to_nobody_else() {
        let development = Development::new();
        let error = |status, kind| unstored(StatusCode::from_u16(status).unwrap(), kind, "why: a<b");
        let get = |response| sent(&development, response, &Method::GET, BROWSER);
        for kind in ["text/plain; charset=utf-8", "application/problem+json", "application/json"] {
            let page = get(error(500, kind));
            assert!(page.contains("<h1>500 Internal Server Error</h1>\n<pre>why: a&lt;b</pre>"), "{page}");
            assert!(page.contains(SCRIPT) && get(error(404, kind)).contains(SCRIPT), "{page}");
            assert_eq!(get(error(200, kind)), "why: a<b");
            assert_eq!(sent(&development, error(500, kind), &Method::GET, "application/json"), "why: a<b");
        }
        assert_eq!(get(error(421, "text/plain")), "why: a<b");
        assert_eq!(get(error(500, "image/png")), "why: a<b");
        let mut response = error(500, "text/plain");
        development.keep_new(&Method::GET, &asked(BROWSER), "", &mut response);
        assert_eq!(response.fields.get(&CONTENT_TYPE), Some(HTML.as_bytes()));
    }

    #[test]
    fn a_page_with_the_script_is_not_kept() {
        let mut response = html("a");
        response.fields.set(&ETAG, HeaderValue::from_static("\"1\""));
        response.fields.set(&CACHE_CONTROL, HeaderValue::from_static("max-age=60"));
        response.fields.length = Some(1);
        Development::new().keep_new(&Method::GET, &asked(BROWSER), "", &mut response);
        assert_eq!((response.fields.get(&ETAG), response.fields.length), (None, None));
        assert_eq!(response.fields.get(&CACHE_CONTROL), Some(&b"no-store"[..]));
    }

    #[test]
    fn each_change_has_a_name_of_its_own() {
        let development = Development::new();
        let mut names = vec![development.generation()];
        development.has_failed("x", "y");
        names.push(development.generation());
        development.refresh();
        names.push(development.generation());
        assert!(development.lock().problem.is_some(), "a picture that changed mends no app");
        development.has_changed();
        names.push(development.generation());
        assert!(development.lock().problem.is_none());
        names.dedup();
        assert_eq!(names.len(), 4);
    }

    #[test]
    fn what_r_says_is_text() {
        let page = page(&Problem { title: "a<b".to_owned(), text: "f(\"<script>\")\n\u{1b}[31m".to_owned() });
        assert!(
            page.contains("<h1>a&lt;b</h1>") && page.contains("f(&quot;&lt;script&gt;&quot;)\n\\u{1b}[31m"),
            "{page}"
        );
    }
}
