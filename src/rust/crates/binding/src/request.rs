//! A request in R: its message, and its fields, each computed when it is asked for.
//!
//! A [`Cell`] belongs to one `req` object and is used again for the next request when nothing holds that object any
//! more, so a request that no field of is read costs no allocation. C asks for fields by number ([`Field`]) and makes R
//! objects of the answer at once; what the answer points at lives until C says that they are made. `route`, `upload`
//! and `answer` are its parts, `fault` is why there is none, `rules` is what it is read by; `cells` has the functions
//! that C calls.

mod answer;
mod cells;
mod fault;
mod route;
mod rules;
mod upload;

pub use route::RouteInfo;
pub(crate) use rules::Rules;

use crate::node::{Kind, Node};
use crate::strings;
use answer::Answer;
use engine::with_names;
use exchange::Trace;
use fault::Fault;
use grammar::hex;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use upload::Upload;
use wire::websocket::{Event, What};
use wire::{BodyRef, Request, RequestHead, FLAG_HTTP2, FLAG_HTTPS, FLAG_NAMED, FLAG_WEBSOCKET};
use worker::Job;

/// The fields that are computed here, by the numbers that `src/request.c` uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Method = 0,
    Path = 1,
    Url = 2,
    Query = 3,
    Params = 4,
    Headers = 5,
    Cookies = 6,
    Body = 7,
    Raw = 8,
    Form = 9,
    Files = 10,
    RemoteAddr = 11,
    RemotePort = 12,
    Protocol = 13,
    Host = 14,
    Scheme = 15,
    Id = 16,
    Route = 17,
    Tls = 18,
    /// these two, and `Job`, are JSON, which C reads: see [`cells::drv_cell_json`]
    Auth = 19,
    Session = 20,
    Trace = 21,
    BasePath = 22,
    Job = 23,
    /// of a WebSocket; where C has `json`, for which it does not ask here
    Message = 24,
}

const FIELDS: [Field; 25] = [
    Field::Method,
    Field::Path,
    Field::Url,
    Field::Query,
    Field::Params,
    Field::Headers,
    Field::Cookies,
    Field::Body,
    Field::Raw,
    Field::Form,
    Field::Files,
    Field::RemoteAddr,
    Field::RemotePort,
    Field::Protocol,
    Field::Host,
    Field::Scheme,
    Field::Id,
    Field::Route,
    Field::Tls,
    Field::Auth,
    Field::Session,
    Field::Trace,
    Field::BasePath,
    Field::Job,
    Field::Message,
];

impl Field {
    /// Whether clients choose the strings: all but names of ours.
    fn is_of_the_client(self) -> bool {
        !matches!(self, Field::Raw | Field::RemotePort | Field::Protocol | Field::Scheme | Field::Id | Field::Route)
    }
}

/// See the module.
#[derive(Default)]
pub struct Cell {
    message: Vec<u8>,
    /// the request that waits for the reply; `None` once it was sent
    job: Option<Job>,
    /// the body, when it came in a file and was asked for
    spooled: Option<Vec<u8>>,
    upload: Option<Upload>,
    /// of which the first `reading` are in use: while C makes R objects of one, R may collect garbage, and a finalizer
    /// may read another field
    answers: Vec<Answer>,
    reading: usize,
}

impl Cell {
    /// Where the next message goes. What belonged to the last one is given up.
    pub(crate) fn message_mut(&mut self) -> &mut Vec<u8> {
        // one that R jumped out of is not read any more
        self.reading = 0;
        self.close();
        &mut self.message
    }

    /// The message is that of a new request. Its route, and whether it is something that has happened on a WebSocket
    /// that is open; `None` when it is unreadable.
    pub(crate) fn open(&mut self, job: Job) -> Option<(u32, bool)> {
        self.job = Some(job);
        let head = self.request()?.head;
        let of_socket = head.flags & FLAG_WEBSOCKET != 0;
        Some((head.route, of_socket && self.event().is_some_and(|event| !matches!(event.what, What::Connect(_)))))
    }

    /// The number of its route.
    pub(crate) fn route(&self) -> Option<u32> {
        Some(self.request()?.head.route)
    }

    /// The request that waits for the reply, if it was not sent.
    pub(crate) fn job(&self) -> Option<Job> {
        self.job
    }

    /// The request that is to get the reply; `None` from the second call on.
    pub(crate) fn take_job(&mut self) -> Option<Job> {
        self.job.take()
    }

    /// By which its answer is packed.
    pub(crate) fn terms(&self) -> &[u8] {
        self.request().map_or(b"", |request| request.head.terms)
    }

    /// Nothing has come for a while: what is left of the last request goes, if that has its reply.
    fn rest(&mut self) {
        if self.job.is_none() && self.reading == 0 {
            *self = Cell::default();
        }
    }

    /// The reply is sent: files of the request go.
    pub(crate) fn close(&mut self) {
        if self.reading == 0 {
            self.upload = None;
            self.spooled = None;
        }
    }

    /// As the server names it.
    pub(crate) fn id(&self) -> Option<u64> {
        self.request().map(|request| request.head.id)
    }

    fn request(&self) -> Option<Request<'_>> {
        Request::decode(&self.message).ok()
    }

    /// `id=... METHOD /path ` for a log line.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        if let Some(r) = self.request() {
            let told = [r.head.remote_addr, r.head.method, r.head.base_path, r.head.path];
            let [addr, method, base, path] = told.map(String::from_utf8_lossy);
            let _ = write!(text, "id={:016x} {addr} {method} {base}{path} ", r.head.id);
        }
        text
    }

    /// A line of the log about the request; `None` when there is none.
    pub(crate) fn line(&self, text: &str) -> Option<String> {
        self.request()?;
        let line = format!("{}{text}", self.describe());
        Some(with_names(line, &self.trace(), self.given_id().as_deref()))
    }

    /// What a trusted proxy calls it.
    fn given_id(&self) -> Option<String> {
        let request = self.request().filter(|request| request.head.flags & FLAG_NAMED != 0)?;
        let (_, id) = request.headers().find(|(name, _)| *name == b"x-request-id")?;
        Some(String::from_utf8_lossy(id).into_owned())
    }

    /// Reads a body that waits in a file, once.
    fn load_body(&mut self) -> Result<(), Fault> {
        let path = match self.request().ok_or(Fault::GONE)?.head.body {
            BodyRef::Spooled { path, .. } if self.spooled.is_none() => PathBuf::from(OsStr::from_bytes(path)),
            _ => return Ok(()),
        };
        let bytes = fs::read(path).map_err(|e| Fault::new(500, format!("the stored body cannot be read: {e}")))?;
        self.spooled = Some(bytes);
        Ok(())
    }

    /// What has happened on a WebSocket, if that is what the request is for.
    pub(crate) fn event(&self) -> Option<Event<'_>> {
        let head = self.request()?.head;
        match head.body {
            BodyRef::Inline(bytes) if head.flags & FLAG_WEBSOCKET != 0 => Event::decode(bytes).ok(),
            _ => None,
        }
    }

    /// The body's bytes, once loaded.
    fn body(&self) -> &[u8] {
        match (&self.spooled, self.request()) {
            (Some(bytes), _) => bytes,
            // its body is the event
            (None, Some(Request { head, .. })) if head.flags & FLAG_WEBSOCKET != 0 => &[],
            (None, Some(Request { head: RequestHead { body: BodyRef::Inline(bytes), .. }, .. })) => bytes,
            _ => &[],
        }
    }

    /// Whether it is a request with this method for this target, as sent, and has no body.
    fn asks_for(&self, method: &[u8], target: &[u8]) -> bool {
        self.request().is_some_and(|request| {
            let head = request.head;
            head.target == target && head.method == method && matches!(head.body, BodyRef::Inline(b""))
        })
    }

    fn header(&self, name: &[u8]) -> Option<&[u8]> {
        self.request()?.headers().find(|(n, _)| *n == name).map(|(_, v)| v)
    }

    /// The trace that the request belongs to.
    fn trace(&self) -> Trace {
        let mut fields = self.request().into_iter().flat_map(|r| r.headers()).filter(|(n, _)| *n == b"traceparent");
        let only = fields.next().filter(|_| fields.next().is_none()).map(|(_, value)| value);
        Trace::new(self.request().map_or(0, |r| r.head.id), only)
    }

    /// The values of a header field, joined by commas; `None` when there is none.
    fn joined_header(&self, name: &[u8]) -> Option<Vec<u8>> {
        let values: Vec<&[u8]> =
            self.request()?.headers().filter(|(n, _)| *n == name).map(|(_, value)| value).collect();
        (!values.is_empty()).then(|| values.join(&b","[..]))
    }

    fn media(&self) -> Media {
        let Some(value) = self.header(b"content-type") else { return Media::Other };
        let essence = value.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
        if essence.eq_ignore_ascii_case(b"application/x-www-form-urlencoded") {
            Media::Form
        } else if essence.eq_ignore_ascii_case(b"multipart/form-data") {
            Media::Multipart
        } else {
            Media::Other
        }
    }

    /// Reads a multipart body, once.
    fn load_upload(&mut self, rules: &Rules) -> Result<(), Fault> {
        if self.upload.is_none() && self.media() == Media::Multipart {
            let content_type = self.header(b"content-type").unwrap_or_default();
            self.upload = Some(Upload::read(content_type, self.body(), rules)?);
        }
        Ok(())
    }

    /// The answer, which is in use until `reading` is set back.
    fn ask(&mut self, field: Field, rules: &Rules) -> Result<&Node, Fault> {
        if matches!(field, Field::Body | Field::Raw | Field::Form | Field::Files | Field::Query) {
            self.load_body()?;
        }
        if matches!(field, Field::Form | Field::Files) {
            self.load_upload(rules)?;
        }
        if self.answers.len() == self.reading {
            self.answers.push(Answer::default());
        }
        let mut answer = std::mem::take(&mut self.answers[self.reading]);
        answer.clear();
        let result = self.fill(field, rules, &mut answer);
        let at = self.reading;
        self.answers[at] = answer;
        result?;
        let root = &self.answers[at].root;
        if field.is_of_the_client() {
            strings::check(root, rules.limits.max_collisions)?;
        }
        self.reading += 1;
        Ok(root)
    }

    fn fill(&self, field: Field, rules: &Rules, answer: &mut Answer) -> Result<(), Fault> {
        let request = self.request().ok_or(Fault::GONE)?;
        let head = request.head;
        let Rules { routes, limits, .. } = rules;
        let route = routes.get(head.route as usize);
        match field {
            Field::Method => answer.string(head.method),
            Field::Path => answer.string(head.path),
            Field::Url => answer.string(head.target),
            Field::BasePath => answer.string(head.base_path),
            Field::RemoteAddr => answer.string(head.remote_addr),
            Field::RemotePort => answer.int(i32::from(head.remote_port)),
            Field::Protocol => answer.string(if head.flags & FLAG_HTTP2 != 0 { b"HTTP/2" } else { b"HTTP/1.1" }),
            Field::Scheme => answer.string(if head.flags & FLAG_HTTPS != 0 { b"https" } else { b"http" }),
            Field::Tls => answer.of_tls(request.tls()),
            Field::Auth | Field::Session | Field::Job => return Err(Fault::GONE),
            Field::Trace => answer.of_trace(&self.trace(), self.joined_header(b"tracestate")),
            Field::Host => answer.string(self.header(b"host").unwrap_or_default()),
            Field::Id => answer.owned_string(hex::digits(head.id).to_vec()),
            Field::Route => match route {
                Some(route) => answer.owned_string(route.pattern.clone().into_bytes()),
                None => answer.missing_string(),
            },
            Field::Params => answer.params(route.map_or(&[], |r| &r.params), request.params()),
            Field::Headers => {
                let fields = request.headers().map(|(name, value)| (name, as_text(value)));
                // RFC 9113, section 8.2.3: a client may split its cookies
                answer.joined(fields, |name| if name == b"cookie" { b"; " } else { b", " });
            }
            Field::Cookies => {
                let values = request.headers().filter(|(n, _)| *n == b"cookie").map(|(_, v)| v);
                answer.pairs(fields::cookies::parse(values, limits.max_fields)?);
            }
            Field::Query => {
                let mut pairs = fields::query::parse(request.query(), limits.max_fields)?;
                if self.media() == Media::Form {
                    pairs.extend(fields::query::parse_form(self.body(), limits.max_fields)?);
                }
                answer.pairs(pairs);
            }
            Field::Message => match self.event().map(|event| event.what) {
                Some(What::Text(bytes)) if is_text(bytes) => answer.string(bytes),
                Some(What::Text(bytes) | What::Binary(bytes)) => answer.root = Node::vector(Kind::Raw, bytes),
                _ => return Err(Fault::GONE),
            },
            Field::Body if is_text(self.body()) => answer.string(self.body()),
            Field::Body | Field::Raw => answer.root = Node::vector(Kind::Raw, self.body()),
            Field::Form => match (self.media(), &self.upload) {
                (Media::Form, _) => answer.pairs(fields::query::parse_form(self.body(), limits.max_fields)?),
                (_, Some(upload)) => {
                    let pairs = upload.fields.iter().map(|(n, v)| (n.as_str().into(), v.as_str().into()));
                    answer.pairs(pairs.collect());
                }
                _ => answer.named_strings(),
            },
            Field::Files => answer.files(self.upload.as_ref().map_or(&[], |u| &u.files), self.body()),
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Media {
    Form,
    Multipart,
    Other,
}

/// Whether an R string can hold it.
fn is_text(bytes: &[u8]) -> bool {
    bytes.len() <= i32::MAX as usize && !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

/// A header value as text: bytes that are not UTF-8 are taken for Latin-1, as RFC 9110 section 5.5 has it.
fn as_text(bytes: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(bytes) {
        Ok(_) => Cow::Borrowed(bytes),
        Err(_) => Cow::Owned(bytes.iter().map(|&b| b as char).collect::<String>().into_bytes()),
    }
}
