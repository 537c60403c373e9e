//! What all connections of a server share: settings, counters, the log, and the threads that they are on.

use crate::budget::Budget;
use crate::client::Proxies;
use crate::listen::Role;
use crate::memory::Memory;
use crate::places::Places;
use crate::response::CommonFields;
use crate::tls::Tls;
use admission::Limits;
use observe::Log;
use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc::UnboundedSender;

/// Connections of whoever runs the server that there may be: probes, a scraper of metrics, a person.
const TO_ADMIN: usize = 64;
/// Names for requests that a thread takes at once.
const IDS_AT_ONCE: u64 = 1024;

thread_local! {
    /// of this I/O thread, from 0
    static NUMBER: Cell<usize> = const { Cell::new(0) };
    /// the next name for a request, and how many there are left
    static IDS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// See the module.
pub struct Shared {
    /// bounds
    pub limits: Arc<Limits>,
    /// where bodies are kept that are too large for memory
    pub(crate) upload_path: PathBuf,
    /// where it tells what happens
    pub log: Log,
    /// what connections begin with, unless they are in cleartext
    pub(crate) tls: Option<Arc<Tls>>,
    /// places that the clients of an address have, if that has a limit
    pub(crate) by_address: Option<Arc<Places>>,
    /// connections that were closed at once, as there was no place for their clients
    refused: AtomicU64,
    /// which proxies are believed
    pub(crate) proxies: Proxies,
    /// fields that all responses have, but those to whoever runs the server
    pub common: CommonFields,
    /// what connections may hold together
    pub budget: Arc<Budget>,
    /// which thread looks after memory
    pub(crate) memory: Memory,
    max_connections: usize,
    /// where its I/O threads are told what to do
    threads: OnceLock<Vec<UnboundedSender<Command>>>,
    /// connections that are open, and of these those that have settled on a thread
    open: AtomicUsize,
    /// those of whoever runs the server
    open_to_admin: AtomicUsize,
    open_by_thread: Vec<Apart<AtomicUsize>>,
    /// whether connections are accepted, or were and some may wait in the kernel
    pub(crate) accepting: AtomicBool,
    draining: AtomicBool,
    ids: AtomicU64,
}

/// In a cache line of its own, as threads write to it all the time. (Two lines: processors fetch them in pairs.)
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Apart<T>(pub T);

/// What an I/O thread is told.
pub(crate) enum Command {
    /// to do this, in the context of its runtime
    Run(Box<dyn FnOnce() + Send>),
    Quit,
}

/// A connection that is open, until dropped.
pub(crate) struct OpenConnection {
    server: Arc<Shared>,
    role: Role,
    thread: Option<usize>,
}

impl OpenConnection {
    /// It stays, on this thread.
    pub fn settle(&mut self, thread: usize) {
        self.server.open_by_thread[thread].0.fetch_add(1, Ordering::Relaxed);
        self.thread = Some(thread);
    }

    pub fn server(&self) -> &Arc<Shared> {
        &self.server
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        if let Some(thread) = self.thread {
            self.server.open_by_thread[thread].0.fetch_sub(1, Ordering::Relaxed);
        }
        if self.role != Role::App {
            self.server.open_to_admin.fetch_sub(1, Ordering::Relaxed);
        } else if self.server.open.fetch_sub(1, Ordering::Relaxed) >= self.server.most_connections() {
            self.server.budget.one_freed.notify_one();
        }
    }
}

impl Shared {
    pub(crate) fn new(limits: Limits, upload_path: PathBuf, log: Log, threads: usize, descriptors: usize) -> Self {
        let max_connections = limits.max_connections.min(descriptors);
        let of_one = Some(limits.max_connections_per_address).filter(|most| *most > 0);
        Shared {
            by_address: of_one.map(Places::new),
            refused: AtomicU64::new(0),
            limits: Arc::new(limits),
            upload_path,
            log,
            tls: None,
            proxies: Proxies::default(),
            common: CommonFields::default(),
            budget: Budget::new(descriptors, max_connections),
            memory: Memory::new(exchange::now()),
            max_connections,
            threads: OnceLock::new(),
            open: AtomicUsize::new(0),
            open_to_admin: AtomicUsize::new(0),
            open_by_thread: (0..threads).map(|_| Apart::default()).collect(),
            accepting: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            ids: AtomicU64::new(first_id()),
        }
    }

    /// Its I/O threads hear from now on.
    pub(crate) fn has_threads(&self, threads: Vec<UnboundedSender<Command>>) {
        self.threads.get_or_init(|| threads);
    }

    /// Counts a connection as open.
    pub(crate) fn enter(self: &Arc<Self>, role: Role) -> OpenConnection {
        self.open_to(role).fetch_add(1, Ordering::Relaxed);
        OpenConnection { server: self.clone(), role, thread: None }
    }

    fn open_to(&self, role: Role) -> &AtomicUsize {
        match role {
            Role::App => &self.open,
            Role::Admin | Role::Agent => &self.open_to_admin,
        }
    }

    /// Connections that there may be now.
    fn most_connections(&self) -> usize {
        self.max_connections.min(self.budget.connections())
    }

    /// TLS, if connections begin with that.
    pub fn tls(&self) -> Option<&Tls> {
        self.tls.as_deref()
    }

    /// Most connections that there may ever be.
    pub(crate) fn max_connections(&self) -> usize {
        self.max_connections
    }

    /// Why there may be no more connections now, for the log.
    pub(crate) fn why_full(&self) -> String {
        let (most, asked) = (self.most_connections(), self.limits.max_connections);
        if most == asked {
            return format!("as many as `max_connections` = {asked} allows");
        }
        format!("as many as the limit of open files (ulimit -n) allows, and files that are being sent leave; `max_connections` is {asked}")
    }

    /// Counts a connection as open, unless there are as many as there may be: then wait until the budget's `one_freed`.
    /// Whoever runs the server has places apart.
    pub(crate) fn try_enter(self: &Arc<Self>, role: Role) -> Option<OpenConnection> {
        let most = if role == Role::App { self.most_connections() } else { TO_ADMIN };
        let one_more = |open| (open < most).then_some(open + 1);
        self.open_to(role).fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        Some(OpenConnection { server: self.clone(), role, thread: None })
    }

    /// A connection is closed at once, as there is no place for its client.
    pub(crate) fn refuses(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// How many were.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// The thread on which a connection of this one is to stay: this one, unless another has far fewer: an eighth of
    /// all, at least two.
    pub(crate) fn place(&self) -> usize {
        let of = |thread: usize| self.open_by_thread[thread].0.load(Ordering::Relaxed);
        let slack = 1 + self.open() / 8;
        let least = (0..self.open_by_thread.len()).map(|thread| (of(thread), thread)).min();
        least.filter(|(n, _)| of(this_thread()) > n + slack).map_or(this_thread(), |(_, thread)| thread)
    }

    fn send(&self, thread: usize, command: Command) {
        if let Some(commands) = self.threads.get().and_then(|threads| threads.get(thread)) {
            // one that has ended hears nothing: the server is stopping
            let _ = commands.send(command);
        }
    }

    /// Has a thread do this, in the context of its runtime.
    pub(crate) fn run_on(&self, thread: usize, what: impl FnOnce() + Send + 'static) {
        self.send(thread, Command::Run(Box::new(what)));
    }

    /// Has each thread do this, in the context of its runtime.
    pub(crate) fn run_on_all(&self, what: impl FnOnce() + Clone + Send + 'static) {
        (0..self.threads()).for_each(|thread| self.run_on(thread, what.clone()));
    }

    /// Has all threads end.
    pub(crate) fn quit(&self) {
        (0..self.threads()).for_each(|thread| self.send(thread, Command::Quit));
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> usize {
        self.open_by_thread.len()
    }

    /// A name for a request, of no meaning and not used before by this server. For its I/O threads.
    pub fn next_id(&self) -> u64 {
        let (next, left) = IDS.get();
        let (id, left) =
            if left > 0 { (next, left) } else { (self.ids.fetch_add(IDS_AT_ONCE, Ordering::Relaxed), IDS_AT_ONCE) };
        IDS.set((id.wrapping_add(1), left - 1));
        // an odd multiplier walks through all 2^64 values before it repeats one
        id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// From now on answers are the last ones of their connections.
    pub(crate) fn drains(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Whether they are.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// The number of this I/O thread, from 0.
pub fn this_thread() -> usize {
    NUMBER.get()
}

/// This thread is an I/O thread with this number.
pub(crate) fn number_this_thread(number: usize) {
    NUMBER.set(number);
}

fn first_id() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u64 ^ u64::from(std::process::id()) << 32
}
