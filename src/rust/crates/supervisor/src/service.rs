//! A server with its processes, as whoever started it sees it.

use crate::asker::{Asker, OnOutcome};
use crate::board::Board;
use crate::inbox::{Command, Inbox};
use crate::os::check_system;
use crate::outlet::{Outlet, Wake};
use crate::reports::Reports;
use crate::supervisor::Supervisor;
use crate::{Event, Failure, PoolOptions, Source, Start};
use engine::{Address, Commands, Gauge, Log, Server, Settings, Snapshot, StartError};
use shm::Alarm;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use wire::control::Inspection;

/// A server and the processes that it needs. Dropping it ends them all at once.
pub struct Service {
    addresses: Vec<Address>,
    urls: Vec<String>,
    apart: Vec<(&'static str, String)>,
    commands: Mutex<Sender<Command>>,
    alarm: Arc<Alarm>,
    events: Mutex<Receiver<Event>>,
    board: Arc<Board>,
    gauge: Gauge,
    commander: Arc<dyn Commands>,
    logs: Vec<Log>,
    /// as they were last set; the supervisor has them, too
    options: Mutex<PoolOptions>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Service {
    /// Binds the address and starts everything; returns before anything is ready.
    ///
    /// # Errors
    /// When the settings are wrong or the address cannot be bound. Nothing is then left running.
    pub fn start(settings: Settings, options: PoolOptions, source: Source, wake: Wake) -> Result<Service, StartError> {
        let start = Prepared::new(&settings, options, source, wake)?;
        Service::over(Server::bind(settings)?, start)
    }

    /// Starts the supervisor of an app of this server.
    ///
    /// # Errors
    /// When the system lacks something. Nothing is then left running.
    pub(crate) fn over(server: Server, start: Prepared) -> Result<Service, StartError> {
        let Prepared { options, source, wake, variables } = start;
        let (addresses, urls, apart) = (server.addresses().to_vec(), server.urls(), server.apart());
        let (logs, gauge) = (server.logs(), server.gauge());
        let commander = server.commands();
        let alarm = Arc::new(Alarm::new()?);
        let board = Arc::new(Board::default());
        if let Some(metrics) = server.metrics() {
            let board = board.clone();
            metrics.workers.watch(server.place(), move || board.quick());
        }
        let (commands, inbox) = channel();
        let (orders, bell) = (Mutex::new(commands.clone()), alarm.clone());
        server.on_action(move |action| {
            let Some(command) = Command::of(&action) else { return };
            // a supervisor that has ended has nothing left to do
            let _ = orders.lock().unwrap_or_else(|e| e.into_inner()).send(command);
            bell.sound();
        });
        let bell = alarm.clone();
        server.on_websockets(move || bell.sound());
        let (sender, events) = channel();
        let outlet = Outlet { events: sender, wake };
        let last_words = outlet.clone();
        let inbox = Inbox::new(&server, inbox, alarm.clone())?;
        let reports = Reports::new(&server, board.clone(), outlet);
        let supervisor = Supervisor::new(server, options.clone(), variables, inbox, reports);
        // processes that are started ask the system to be killed with the thread that starts them: it lasts as long as
        // they
        let thread = std::thread::Builder::new().name("drover-supervisor".into()).spawn(move || {
            if catch_unwind(AssertUnwindSafe(|| supervisor.run(source))).is_err() {
                // its processes have seen their channels close; the panic hook has printed why
                let message = "the supervisor has failed, by a bug in drover".to_owned();
                last_words.send(Event::Failed { kind: Failure::System, message });
                last_words.send(Event::Stopped);
            }
        })?;
        Ok(Service {
            addresses,
            urls,
            apart,
            commands: Mutex::new(commands),
            alarm,
            events: Mutex::new(events),
            board,
            gauge,
            commander,
            logs,
            options: Mutex::new(options),
            thread: Some(thread),
        })
    }

    /// The next event. Without any, waits for one; `None` when the time is over, or after the last.
    pub fn next_event(&self, timeout: Duration) -> Option<Event> {
        self.events.lock().unwrap_or_else(|e| e.into_inner()).recv_timeout(timeout).ok()
    }

    /// The first of the addresses that are bound for clients of the app.
    pub fn address(&self) -> &Address {
        &self.addresses[0]
    }

    /// Where it listens for others, by the names of the settings.
    pub fn apart(&self) -> &[(&'static str, String)] {
        &self.apart
    }

    /// All of them, as they are reached from this machine.
    pub fn urls(&self) -> &[String] {
        &self.urls
    }

    /// Has files of logs opened again, after they were moved.
    pub fn reopen_log(&self) {
        self.logs.iter().for_each(Log::reopen);
    }

    /// How it is, with one row for each worker, the oldest first. Waits for a moment.
    pub fn snapshot(&self) -> Snapshot {
        self.gauge.snapshot(self.board.read())
    }

    /// How much is going on.
    pub fn gauge(&self) -> &Gauge {
        &self.gauge
    }

    /// Has something done, as `wire::command` has it. The answer, if there is one: it may have to be waited for.
    pub fn execute(&self, command: Vec<u8>) -> Option<Vec<u8>> {
        let (reply, answer) = sync_channel(1);
        let now = self.commander.execute(command.into(), &|| {
            let reply = reply.clone();
            Box::new(move |answer| drop(reply.try_send(answer)))
        });
        drop(reply);
        now.or_else(|| answer.recv().ok())
    }

    /// Loads the app anew; when it works, its workers take over. Returns at once: [`Event::Reloaded`] or
    /// [`Event::ReloadFailed`] tells the end. While one is under way, the next waits for it; of several that wait, the
    /// last counts.
    pub fn reload(&self, source: Source) {
        self.command(Command::Reload(source));
    }

    /// How many workers there are at least and at most, in the pool of this name, or in that of routes without one,
    /// whose name is empty.
    pub fn scale(&self, pool: &str) -> (usize, usize) {
        let options = self.options.lock().unwrap_or_else(|e| e.into_inner()).of_pool(pool);
        (options.n_min, options.n_max)
    }

    /// The same, other bounds from now on, for this generation and those to come. Returns at once: workers start, or
    /// end when they have answered what they have.
    ///
    /// # Errors
    /// A text that names what is wrong with the bounds, or that the app has no such pool. Nothing changes then.
    pub fn rescale(&self, pool: &str, n_min: usize, n_max: usize) -> Result<(), String> {
        let known = self.board.pools();
        if !pool.is_empty() && !known.iter().any(|name| name == pool) {
            let which = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(format!("the app has no pool {pool}; its routes name {which}"));
        }
        let mut options = self.options.lock().unwrap_or_else(|e| e.into_inner());
        *options = options.scaled(pool, n_min, n_max)?;
        // with the options held: of two calls the supervisor hears in the order in which they were made
        self.command(Command::Scale(pool.to_owned(), n_min, n_max));
        Ok(())
    }

    /// Gives the present generation a new zygote, after [`Event::ZygoteLost`].
    pub fn adopt_zygote(&self, source: Source) {
        self.command(Command::Adopt(source));
    }

    /// Has the worker with this process id look at itself while it goes on serving, and report. Returns at once:
    /// `reply` is called, from the supervisor's thread, when that is done or cannot be.
    pub fn inspect(&self, pid: i32, what: Inspection, reply: OnOutcome) {
        self.command(Command::Inspect(pid, what, Asker::new(reply)));
    }

    /// Ends everything in peace within `graceful_timeout` seconds (`None`: as the options say); called again, at once.
    /// Returns at once: [`Event::Stopped`] tells the end.
    pub fn stop(&self, graceful_timeout: Option<f64>) {
        self.command(Command::Stop(graceful_timeout));
    }

    /// Where commands go, for others.
    pub(crate) fn commands(&self) -> (Sender<Command>, Arc<Alarm>) {
        (self.commands.lock().unwrap_or_else(|e| e.into_inner()).clone(), self.alarm.clone())
    }

    fn command(&self, command: Command) {
        // a supervisor that has ended has nothing left to do
        let _ = self.commands.lock().unwrap_or_else(|e| e.into_inner()).send(command);
        self.alarm.sound();
    }
}

/// What a supervisor is started with.
pub(crate) struct Prepared {
    options: PoolOptions,
    source: Source,
    wake: Wake,
    /// of processes that are started, and the folder for uploads
    variables: (Vec<(OsString, OsString)>, PathBuf),
}

impl Prepared {
    /// For an app with these settings.
    ///
    /// # Errors
    /// When the settings are wrong.
    pub(crate) fn new(
        settings: &Settings,
        options: PoolOptions,
        source: Source,
        wake: Wake,
    ) -> Result<Self, StartError> {
        options.check().map_err(StartError::Config)?;
        check_system()?;
        if matches!(source, Source::Zygote { .. }) {
            let needs_file = [
                (
                    options.start == Start::Spawn,
                    "start = \"spawn\" needs an app in a file, as each worker loads it by itself",
                ),
                (options.n_min == 0, "no workers at first need an app in a file, which is loaded when it is asked for"),
            ];
            if let Some((_, why)) = needs_file.iter().find(|(is_so, _)| *is_so) {
                return Err(StartError::Config((*why).to_owned()));
            }
        }
        let text = sonic_rs::to_string(settings).map_err(|e| StartError::Config(e.to_string()))?;
        let variables = vec![("DROVER_SETTINGS".into(), text.into()), ("DROVER_SECRET".into(), secret()?.into())];
        Ok(Prepared { options, source, wake, variables: (variables, settings.upload_path.clone()) })
    }
}

/// What all processes that load the app draw its keys from, so that they have the same: 32 bytes in hexadecimal.
fn secret() -> Result<String, StartError> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|e| StartError::System(io::Error::other(e.to_string())))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Drop for Service {
    fn drop(&mut self) {
        self.command(Command::End);
        if let Some(thread) = self.thread.take() {
            // a panic in it was printed by the panic hook
            let _ = thread.join();
        }
    }
}
