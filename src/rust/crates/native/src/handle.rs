//! What a `drover_request *` points at, and what may be asked of it and done with it in either form.

use crate::abi::{Code, Request, Times};
use crate::cancel::Call;
use crate::direct::Direct;
use crate::draft::Draft;
use crate::form::Form;
use crate::registry::{Entry, Registry};
use crate::shared::Shared;
use crate::{check, cookie};
use bytes::Bytes;
use exchange::{Answer, RequestView};
use grammar::bytes::is_token;
use std::borrow::Cow;
use std::ffi::c_int;
use std::sync::Arc;
use wire::SESSION;

/// See the module.
#[derive(Clone, Copy)]
pub enum Handle<'a> {
    /// of an inline handler, while it is called: for its thread only
    Direct(&'a Direct<'a>),
    /// of a request that outlives the call, or that a thread of the pool handles
    Shared(&'a Shared),
}

impl<'a> Handle<'a> {
    /// The handle behind an address.
    ///
    /// # Safety
    /// It is NULL, or that of a `Direct` or a `Shared`, and still good, as the header defines it.
    pub unsafe fn from_address(address: *mut Request) -> Option<Handle<'a>> {
        // SAFETY: the caller's promise; both begin with their form.
        match unsafe { address.cast::<Form>().as_ref() }? {
            // SAFETY: this form is that of a `Direct`.
            Form::Direct => unsafe { address.cast::<Direct<'a>>().as_ref() }.map(Handle::Direct),
            // SAFETY: this form is that of a `Shared`.
            Form::Shared => unsafe { address.cast::<Shared>().as_ref() }.map(Handle::Shared),
        }
    }

    /// The request.
    pub fn request(self) -> &'a dyn RequestView {
        match self {
            Handle::Direct(direct) => direct.request(),
            Handle::Shared(shared) => shared.request(),
        }
    }

    fn registry(self) -> &'a Arc<Registry> {
        match self {
            Handle::Direct(direct) => direct.registry(),
            Handle::Shared(shared) => shared.registry(),
        }
    }

    fn number(self) -> u32 {
        match self {
            Handle::Direct(direct) => direct.number(),
            Handle::Shared(shared) => shared.number(),
        }
    }

    /// The handler, which was there when it was called.
    fn entry(self) -> Option<&'a Entry> {
        self.registry().entry(self.number())
    }

    /// The value of a placeholder.
    pub fn param(self, name: &[u8]) -> Option<&'a [u8]> {
        let at = self.entry()?.params.iter().position(|param| param.as_bytes() == name)?;
        self.request().param(at)
    }

    /// The value of a cookie.
    pub fn cookie(self, name: &[u8]) -> Option<&'a [u8]> {
        cookie::find(self.request(), name)
    }

    /// The body; `None` when it cannot be had, which is logged.
    pub fn body(self) -> Option<&'a [u8]> {
        let body = match self {
            Handle::Direct(direct) => direct.body(),
            Handle::Shared(shared) => shared.body(),
        };
        body.map_err(|why| self.log(2, why)).ok()
    }

    /// A line of the log.
    pub fn log(self, level: u8, text: &str) {
        self.registry().log(level, self.request().id(), self.number(), text);
    }

    /// Checks what a response begins with. An absent `content_type` is that of the route, an empty one none.
    fn head(self, status: c_int, content_type: Option<&[u8]>) -> Option<(u16, Option<Cow<'static, [u8]>>)> {
        let content_type = match content_type {
            None => self.entry().map(Entry::content_type),
            Some(b"") => None,
            Some(text) => Some(check::content_type(text)?),
        };
        Some((check::status(status)?, content_type))
    }

    fn answer(self, answer: impl FnOnce(Draft) -> Answer) -> Code {
        match self {
            Handle::Direct(direct) => direct.answer(answer),
            Handle::Shared(shared) => shared.answer(answer),
        }
    }

    /// Answers with a whole response. `body` is called when it is wanted.
    pub fn respond(self, status: c_int, content_type: Option<&[u8]>, body: impl FnOnce() -> Bytes) -> Code {
        let Some((status, content_type)) = self.head(status, content_type) else { return Code::Invalid };
        self.answer(|draft| {
            Answer::Response(exchange::Response { head: draft.into_head(status, content_type), body: body() })
        })
    }

    /// Answers with an error, or breaks a response off that has begun.
    pub fn fail(self, status: c_int, detail: &str) -> Code {
        let Some(status) = check::status(status).filter(|status| *status >= 400) else { return Code::Invalid };
        let why = format!("C handler: {detail}");
        let answer = || Answer::Failure {
            status,
            detail: detail.to_owned().into(),
            // what a client did wrong is no event of the server's
            why: if status >= 500 { why.into() } else { "".into() },
        };
        match self.shared() {
            Some(shared) => shared.fail(detail, answer),
            None => self.answer(|_| answer()),
        }
    }

    /// The form of it that streams, and that other threads may have.
    fn shared(self) -> Option<&'a Shared> {
        match self {
            Handle::Direct(direct) => direct.opened(),
            Handle::Shared(shared) => Some(shared),
        }
    }

    /// Keeps it while it is used, should the last hold on it be released meanwhile.
    pub fn keep(self) -> Option<Arc<Shared>> {
        self.shared().and_then(Shared::keep)
    }

    /// Begins a response that comes piece by piece.
    pub fn begin(self, status: c_int, content_type: Option<&[u8]>) -> Code {
        let Some((status, content_type)) = self.head(status, content_type) else { return Code::Invalid };
        match self {
            Handle::Direct(direct) => match direct.open() {
                Some(shared) => shared.begin(status, content_type),
                None => Code::Done,
            },
            Handle::Shared(shared) => shared.begin(status, content_type),
        }
    }

    /// Sends the next piece.
    pub fn send(self, piece: Bytes, wait: bool) -> Code {
        match self.shared() {
            Some(shared) => shared.send(piece, wait),
            None => self.out_of_turn(),
        }
    }

    /// Ends the body.
    pub fn end(self) -> Code {
        match self.shared() {
            Some(shared) => shared.end(),
            None => self.out_of_turn(),
        }
    }

    /// What pieces are that come before `begin`, or after an answer, in an inline handler.
    fn out_of_turn(self) -> Code {
        match self {
            Handle::Direct(direct) if direct.is_answered() => Code::Done,
            _ => Code::Invalid,
        }
    }

    /// Whether the answer is no longer wanted.
    pub fn is_cancelled(self) -> bool {
        self.shared().is_some_and(Shared::is_cancelled)
    }

    /// Registers a function to be called when it no longer is, or removes it.
    pub fn on_cancel(self, call: Option<Call>) -> Code {
        match self.shared() {
            Some(shared) => shared.on_cancel(call),
            None => self.out_of_turn(),
        }
    }

    /// A handle that is good until it is released; NULL when the request was answered already.
    pub fn defer(self) -> *mut Request {
        let shared = match self {
            Handle::Direct(direct) => direct.open(),
            Handle::Shared(shared) => Some(shared),
        };
        shared.and_then(Shared::defer).map_or(std::ptr::null_mut(), |shared| Arc::into_raw(shared).cast_mut().cast())
    }

    /// Adds a header field to the response.
    pub fn add_header(self, name: &[u8], value: &[u8]) -> Code {
        if !check::is_field(name, value) {
            return Code::Invalid;
        }
        self.edit(|draft| draft.add(name, value))
    }

    /// Has the client keep a session; `None` ends the one that it has. The server sees whether it can be one.
    pub fn set_session(self, json: Option<&[u8]>) -> Code {
        match json {
            Some(b"") => Code::Invalid,
            json => self.edit(|draft| draft.add(SESSION, json.unwrap_or_default())),
        }
    }

    /// Adds a duration to the response's `Server-Timing`.
    pub fn mark(self, name: &[u8], duration_ns: u64) -> Code {
        match std::str::from_utf8(name) {
            Ok(text) if is_token(name) => self.edit(|draft| draft.mark(text, duration_ns)),
            _ => Code::Invalid,
        }
    }

    fn edit(self, edit: impl FnOnce(&mut Draft)) -> Code {
        match self {
            Handle::Direct(direct) => direct.edit(edit),
            Handle::Shared(shared) => shared.edit(edit),
        }
    }

    /// When things happened.
    pub fn times(self) -> Times {
        match self {
            Handle::Direct(direct) => direct.times(),
            Handle::Shared(shared) => shared.times(),
        }
    }
}
