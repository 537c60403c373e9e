//! Which app answers a request, as HTTP has it: the only one; of several that which its host and path say.

use crate::context::Context;
use crate::jobs;
use crate::natives;
use crate::pipeline;
use ::http::header::HOST;
use dispatch::Home;
use httpd::{this_thread, Answering, Connection, Failure, Head, Incoming, Role, Service};
use observe::metrics::resident_memory;
use std::sync::{Arc, Mutex, PoisonError};

/// See the module.
pub(crate) struct Answers {
    /// for what is for no other
    root: Arc<Context>,
    /// the others, of which the first counts that a request is for
    others: Vec<Other>,
    /// for the first thread
    queues: Mutex<Vec<Home>>,
}

/// One of several apps.
pub(crate) struct Other {
    pub(crate) context: Arc<Context>,
    /// whether it is for its hosts only
    pub(crate) by_host: bool,
}

impl Other {
    fn is_for(&self, head: &Head) -> bool {
        let is_named = || self.context.hosts.name(head.fields.get(&HOST).unwrap_or_default());
        (!self.by_host || is_named()) && self.context.base_path.has(head)
    }
}

impl Answers {
    /// Those that say their hosts go before others, and longer paths before shorter ones.
    pub(crate) fn new(root: Arc<Context>, mut others: Vec<Other>, queues: Vec<Home>) -> Self {
        others.sort_by_key(|other| (!other.by_host, usize::MAX - other.context.base_path.kept().len()));
        Answers { root, others, queues: Mutex::new(queues) }
    }

    fn of(&self, head: &Head, connection: &Connection) -> &Arc<Context> {
        if self.others.is_empty() || connection.role() != Role::App {
            return &self.root;
        }
        self.others.iter().find(|other| other.is_for(head)).map_or(&self.root, |other| &other.context)
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Context>> {
        [&self.root].into_iter().chain(self.others.iter().map(|other| &other.context))
    }
}

impl Service for Answers {
    fn answer(&self, head: Head, body: Incoming, connection: Arc<Connection>) -> Answering {
        pipeline::handle(head, body, connection, |head, connection| self.of(head, connection))
    }

    fn refused(&self, connection: &Connection, id: u64, failure: &Failure) {
        pipeline::refused(connection, id, failure, &self.root);
    }

    fn capacity(&self) -> String {
        self.root.health.capacity()
    }

    fn expire(&self) -> bool {
        if let Some(log) = &self.root.access_log {
            log.flush();
        }
        self.all().filter_map(|context| context.failed.as_ref()).for_each(|failed| failed.forget_old());
        dispatch::expire() | natives::expire()
    }

    fn give_back(&self, crowd: bool) {
        if crowd {
            shm::give_back();
        } else if let Some(bytes) = resident_memory() {
            shm::give_back_what_has_grown(bytes);
        }
    }

    fn begin(&self) {
        let queues = std::mem::take(&mut *self.queues.lock().unwrap_or_else(PoisonError::into_inner));
        if !queues.is_empty() {
            dispatch::install(queues);
            // beside the queues: what their workers say of jobs takes no way between threads
            self.all().for_each(|context| jobs::run(context.clone()));
        }
        if let Some(page) = &self.root.metrics {
            page.metrics.count_here(this_thread());
        }
    }

    fn end(&self) {
        dispatch::uninstall();
        natives::leave();
        if let Some(log) = &self.root.access_log {
            log.flush();
        }
    }

    fn turn(&self) {
        dispatch::turn();
        natives::turn();
    }

    fn park(&self) {
        dispatch::on_park();
        natives::on_park();
    }

    fn unpark(&self) {
        dispatch::on_unpark();
        natives::on_unpark();
    }
}
