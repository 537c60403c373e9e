//! An inline call of a handler of drover's interface: on the thread that has the request, which is not copied. No
//! locks, and no allocations but those of the answer.
//!
//! A handler that answers later or piece by piece `opens` it: then the request goes on as a `shared` one, to which
//! answers through this handle go, too. The request of a WebSocket cannot be opened: it is answered at once, or not.

use crate::abi::{Code, Request, Times};
use crate::body::Mapped;
use crate::draft::Draft;
use crate::form::Form;
use crate::received::Received;
use crate::registry::{self, Registry};
use crate::shared::Shared;
use crate::{buffers, clock};
use exchange::{Answer, RequestView, Sink};
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::time::Instant;

/// See the module.
#[repr(C)]
pub struct Direct<'a> {
    form: Form,
    registry: &'a Arc<Registry>,
    number: u32,
    request: &'a dyn RequestView,
    /// `None` when it cannot be opened
    later: RefCell<Option<&'a mut dyn FnMut() -> Arc<dyn Sink>>>,
    mapped: Mapped,
    draft: RefCell<Draft>,
    answer: RefCell<Option<Answer>>,
    opened: OnceCell<Arc<Shared>>,
    started_at: Cell<Option<Instant>>,
}

impl<'a> Direct<'a> {
    pub fn new(
        number: u32,
        registry: &'a Arc<Registry>,
        request: &'a dyn RequestView,
        later: Option<&'a mut dyn FnMut() -> Arc<dyn Sink>>,
    ) -> Self {
        Direct {
            form: Form::Direct,
            registry,
            number,
            request,
            later: RefCell::new(later),
            mapped: Mapped::default(),
            draft: RefCell::default(),
            answer: RefCell::default(),
            opened: OnceCell::new(),
            started_at: Cell::new(None),
        }
    }

    /// For C, as long as this is there.
    pub fn address(&self) -> *mut Request {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// What it was answered with, if it was.
    pub fn into_answer(self) -> Option<Answer> {
        self.answer.into_inner()
    }

    pub fn request(&self) -> &'a dyn RequestView {
        self.request
    }

    pub fn registry(&self) -> &'a Arc<Registry> {
        self.registry
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    pub fn body(&self) -> Result<&[u8], &str> {
        self.mapped.body(self.request)
    }

    /// Whether it was answered while it was not opened.
    pub fn is_answered(&self) -> bool {
        self.answer.borrow().is_some()
    }

    /// What it goes on as, once it was opened.
    pub fn opened(&self) -> Option<&Shared> {
        self.opened.get().map(|opened| &**opened)
    }

    /// Opens it. `None` when it was answered already, or cannot be.
    pub fn open(&self) -> Option<&Shared> {
        if self.is_answered() || self.later.borrow().is_none() {
            return None;
        }
        let opened = self.opened.get_or_init(|| {
            let mut message = buffers::take();
            self.request.encode(&mut message);
            // it cannot fail: what is written is what is read
            let received = Received::new(message).unwrap_or_else(|e| panic!("a request that cannot be read: {e}"));
            let sink = self.later.borrow_mut().as_mut().map(|later| later());
            let sink = sink.unwrap_or_else(|| panic!("a request that cannot be opened was"));
            let draft = self.draft.take();
            Shared::new(self.registry.clone(), self.number, received, sink, draft, [self.started_at(); 2])
        });
        Some(opened)
    }

    pub fn answer(&self, answer: impl FnOnce(Draft) -> Answer) -> Code {
        if let Some(shared) = self.opened() {
            return shared.answer(answer);
        }
        if self.is_answered() {
            return Code::Done;
        }
        let answer = answer(self.draft.take());
        *self.answer.borrow_mut() = Some(answer);
        Code::Ok
    }

    pub fn edit(&self, edit: impl FnOnce(&mut Draft)) -> Code {
        if let Some(shared) = self.opened() {
            return shared.edit(edit);
        }
        if self.is_answered() {
            return Code::Done;
        }
        edit(&mut self.draft.borrow_mut());
        Code::Ok
    }

    /// The first time that anybody asks: an inline handler is called at once, and most never ask.
    fn started_at(&self) -> Instant {
        let at = self.started_at.get().unwrap_or_else(Instant::now);
        self.started_at.set(Some(at));
        at
    }

    pub fn times(&self) -> Times {
        let at = clock::instant_ns(self.started_at());
        Times { size: size_of::<Times>(), received_ns: at, started_ns: at, deadline_ns: 0 }
    }

    /// The handler has returned, or failed. `None` when the answer comes by way of the sink.
    pub fn returned(self, outcome: Result<(), String>) -> Option<Answer> {
        if let Some(shared) = self.opened() {
            shared.returned(outcome);
            return None;
        }
        Some(match (self.answer.take(), outcome) {
            (Some(answer), Ok(())) => answer,
            (Some(answer), Err(why)) => {
                self.registry.log(2, self.request.id(), self.number, &format!("after its answer: {why}"));
                answer
            }
            (None, Ok(())) => registry::failed("it returned without an answer"),
            (None, Err(why)) => registry::failed(&why),
        })
    }
}
