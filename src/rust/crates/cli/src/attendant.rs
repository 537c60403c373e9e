//! The main thread of a server: passes on what happens, one way and the other, until the end. Neighbour: `serve`, which
//! starts it.

use crate::banner::Banner;
use crate::control::{Ending, Inspected, Playable, Reloaded, ReplaySettings, Reply, Request, Rescaled, Status};
use crate::dev::Dev;
use crate::exit::{Code, Error};
use crate::notify;
use crate::r::Recipe;
use crate::signals::Asked;
use crate::terminal::{say, write};
use crate::watch::{Change, Need};
use engine::{Address, JobsOperator};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::future::Future;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use supervisor::{Event, Failure, Parts, Service, AUTO};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;

/// Signals that come within this time are one: some programs send theirs to the process and to its group.
const ONE_SIGNAL: Duration = Duration::from_millis(500);
/// Generations of which it is known when they were loaded.
const MOST_LOADED: usize = 100;

/// What the main thread waits for.
pub(crate) enum Note {
    /// the supervisor has something to tell
    Event,
    /// the supervisor tells nothing any more
    Silence,
    /// a signal has come
    Signal(Asked),
    /// a command of the program asks
    Command(Request, Reply),
    /// files of the app have changed
    Changed(Change),
    /// the client that has started it sends no more, and either has all its answers or is not waited for any longer
    HungUp { answered: bool },
}

/// How it ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// as it was told
    Stopped,
    /// to be started again, with other settings
    Again,
}

/// The main thread of a server: passes on what happens, one way and the other, until the end.
pub(crate) struct Attendant {
    service: Service,
    recipe: Recipe,
    banner: Banner,
    ends_within: f64,
    dev: Option<Dev>,
    /// where the endpoint is that a client at the standard streams talks to
    endpoint: Option<watch::Sender<Option<String>>>,
    began: Instant,
    app: Parts,
    /// where it listens, once it does
    url: Option<String>,
    /// the one that serves
    generation: u32,
    /// the replies due after the current reload, and after the next, which begins when the current one has ended
    reloading: Option<Vec<Reply>>,
    next: Option<Vec<Reply>>,
    /// since when it ends
    ending: Option<Instant>,
    again: bool,
    /// when generations began to load, in ms since 1970
    loaded: BTreeMap<u32, u64>,
    /// for whoever plays a failed request again
    settings: ReplaySettings,
    /// of one of several apps: what it is called, and whether it speaks for all
    one_of_several: Option<(String, bool)>,
    /// the generation that was loaded last
    last_loaded: u32,
}

impl Attendant {
    pub(crate) fn new(service: Service, recipe: Recipe, banner: Banner, ends_within: f64, dev: Option<Dev>) -> Self {
        Self {
            service,
            recipe,
            banner,
            ends_within,
            dev,
            endpoint: None,
            began: Instant::now(),
            app: Parts::default(),
            url: None,
            generation: 0,
            reloading: None,
            next: None,
            ending: None,
            again: false,
            loaded: BTreeMap::new(),
            settings: ReplaySettings::default(),
            one_of_several: None,
            last_loaded: 0,
        }
    }

    /// The same, for one of several apps: of this name, reached there. The one that leads says what is true of all.
    pub(crate) fn of_several(self, name: &str, url: String, leads: bool) -> Self {
        Self { one_of_several: Some((name.to_owned(), leads)), url: Some(url), ..self }
    }

    /// Whether what all servers say is this one's to say.
    fn speaks(&self) -> bool {
        self.one_of_several.as_ref().is_none_or(|(_, leads)| *leads)
    }

    /// How its user calls it.
    fn called(&self) -> &str {
        self.one_of_several.as_ref().map_or(&self.banner.file, |(name, _)| name)
    }

    /// The same, for a client at the standard streams, which waits to be told where the app's endpoint is.
    pub(crate) fn telling(self, endpoint: watch::Sender<Option<String>>) -> Self {
        Self { endpoint: Some(endpoint), ..self }
    }

    /// The same, and requests that are played again are to find these settings.
    pub(crate) fn with(self, settings: ReplaySettings) -> Self {
        Self { settings, ..self }
    }

    /// Until the server has ended.
    ///
    /// # Errors
    /// When it could not start, or its supervisor has failed.
    pub(crate) async fn attend(mut self, mut notes: UnboundedReceiver<Note>) -> Result<Ended, Error> {
        while let Some(note) = notes.recv().await {
            match note {
                // what is not loaded is loaded anew when it is asked for
                Note::Signal(Asked::Reload) if self.service.gauge().is_asleep() => {}
                Note::Signal(Asked::Reload) => self.reload(None),
                Note::Signal(Asked::ReopenLog) => self.service.reopen_log(),
                Note::Signal(Asked::End) => self.end(),
                Note::Signal(Asked::More) => self.rescale_by(1),
                Note::Signal(Asked::Fewer) => self.rescale_by(-1),
                Note::Command(Request::Reload, reply) => self.reload(Some(reply)),
                Note::Command(Request::Scale { min, max, pool }, reply) => reply.say(&self.rescale(&pool, min, max)),
                Note::Command(Request::Status, reply) => reply.say(&self.status()),
                Note::Command(Request::Stop { now }, reply) => {
                    reply.say(&Ending { within: if now { 0.0 } else { self.ends_within } });
                    self.stop(now);
                }
                Note::Command(Request::Inspect { worker, what }, reply) => {
                    self.service.inspect(worker, what, Box::new(move |outcome: Inspected| reply.say(&outcome)));
                }
                Note::Command(Request::Failed, reply) => reply.say(&self.service.gauge().failed()),
                Note::Command(Request::Playable { id }, reply) => reply.say(&self.playable(id)),
                Note::Command(Request::Jobs(wanted), reply) => later(reply, self.jobs().list(wanted)),
                Note::Command(Request::Job(id), reply) => later(reply, self.jobs().find(id)),
                Note::Command(Request::Act(act, id), reply) => later(reply, self.jobs().act(act, id)),
                Note::Changed(change) => match self.dev.as_ref().and_then(|dev| dev.is_told(&change)) {
                    Some(Need::Restart) => {
                        self.again = true;
                        self.stop(false);
                    }
                    Some(_) => self.reload(None),
                    None => {}
                },
                Note::HungUp { answered } => self.stop(!answered),
                Note::Event => {
                    while let Some(event) = self.service.next_event(Duration::ZERO) {
                        match event {
                            Event::Failed { kind, message } => return Err(failed(kind, &message, &self.banner.file)),
                            Event::Stopped => return Ok(if self.again { Ended::Again } else { Ended::Stopped }),
                            event => self.handle(event),
                        }
                    }
                }
                Note::Silence => break,
            }
        }
        Err(Error::new(Code::System, "the supervisor has failed"))
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Loaded { generation, seconds, parts } => {
                self.note_load(generation, seconds);
                self.app = parts;
                if self.last_loaded == 0 {
                    say(&format!("{} loaded in {seconds:.1} s", self.called()));
                }
                self.last_loaded = generation;
            }
            Event::WorkerReady { ready, of } if self.url.is_none() && self.generation == 0 => {
                say(&format!("worker {ready} of {of} is ready"));
            }
            Event::Listening(addresses) => self.listens(&addresses),
            Event::ReloadWanted => self.reload(None),
            Event::Reloaded { generation } => {
                self.generation = generation;
                if let Some(dev) = &self.dev {
                    dev.has_loaded();
                }
                self.tell_endpoint();
                self.reloaded(&Ok(generation));
            }
            Event::ReloadFailed { message } => {
                if let Some(dev) = self.dev.as_ref().filter(|_| self.ending.is_none()) {
                    dev.has_failed(&message);
                }
                self.reloaded(&Err(message));
            }
            // the log has the others; a zygote of this program's own is never lost for long
            _ => {}
        }
    }

    fn listens(&mut self, addresses: &[Address]) {
        self.generation = self.last_loaded;
        if self.one_of_several.is_some() {
            return;
        }
        let is_private = self.tell_endpoint();
        write(&match is_private {
            true => self.banner.answering(),
            false => {
                let app = (self.last_loaded > 0).then_some(&self.app);
                self.banner.listening(addresses, self.service.apart(), app)
            }
        });
        // where there is room for one
        let url = addresses.first().map(|address| self.banner.url(address)).unwrap_or_default();
        if let Some(dev) = &mut self.dev {
            dev.listens(&url);
        }
        self.url = Some(url);
        notify::tell(notify::READY);
        self.reload_next();
    }

    /// Tells a client at the standard streams where its messages go; whether there is one.
    fn tell_endpoint(&self) -> bool {
        let told = self.endpoint.as_ref().map(|endpoint| endpoint.send_replace(self.app.mcp.clone()));
        told.is_some()
    }

    /// Loads the app anew, after what is being loaded now.
    fn reload(&mut self, reply: Option<Reply>) {
        if self.reloading.is_some() || self.starts() {
            self.next.get_or_insert_default().extend(reply);
        } else {
            self.reloading = Some(reply.into_iter().collect());
            self.service.reload(self.recipe.source());
        }
    }

    /// Whether the app is loaded for the first time: another time waits for that.
    fn starts(&self) -> bool {
        self.dev.is_some() && self.url.is_none()
    }

    fn reloaded(&mut self, outcome: &Reloaded) {
        // no reply is due when the supervisor has found another app by itself
        self.reloading.take().into_iter().flatten().for_each(|reply| reply.say(outcome));
        self.reload_next();
    }

    fn reload_next(&mut self) {
        if self.starts() {
            return;
        }
        if let Some(replies) = self.next.take() {
            self.reloading = Some(replies);
            self.service.reload(self.recipe.source());
        }
    }

    /// Other bounds for the number of workers; what they were.
    fn rescale(&self, pool: &str, min: usize, max: usize) -> Rescaled {
        let before = self.service.scale(pool);
        self.service.rescale(pool, min, max).map(|()| before)
    }

    /// By a signal: as many more, or fewer, at least and at most. One stays.
    fn rescale_by(&self, more: isize) {
        let (min, max) = self.service.scale("");
        let changed = |count: usize| count.saturating_add_signed(more).max(1);
        // an app that needs none when it is not asked for needs none then
        let min = if min == 0 { 0 } else { changed(min) };
        let max = if max == AUTO { AUTO } else { changed(max) };
        if let Err(why) = self.rescale("", min, max) {
            say(&format!("as many workers as before: {why}"));
        }
    }

    /// By a signal.
    fn end(&mut self) {
        match self.ending {
            None => {
                if self.speaks() {
                    say(&format!("ending within {} s; a second signal ends at once", self.ends_within));
                }
                self.stop(false);
            }
            Some(first) if first.elapsed() < ONE_SIGNAL => {}
            Some(_) => {
                if self.speaks() {
                    say("ending at once");
                }
                self.stop(true);
            }
        }
    }

    /// Ends in peace, or now. Asked again, the supervisor ends at once.
    fn stop(&mut self, now: bool) {
        if self.ending.is_none() {
            self.ending = Some(Instant::now());
            if self.speaks() {
                notify::tell(notify::STOPPING);
            }
            self.service.stop(None);
        }
        if now {
            self.service.stop(None);
        }
    }

    fn note_load(&mut self, generation: u32, seconds: f64) {
        let began = SystemTime::now() - Duration::from_secs_f64(seconds.max(0.0));
        self.loaded.insert(generation, began.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64);
        while self.loaded.len() > MOST_LOADED {
            self.loaded.pop_first();
        }
    }

    fn jobs(&self) -> JobsOperator {
        self.service.gauge().jobs().expect("a service has one app")
    }

    fn playable(&self, id: u64) -> Option<Playable> {
        let request = self.service.gauge().failed_request(id)?;
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        Some(Playable {
            loaded: self.loaded.get(&request.generation).copied().unwrap_or_default(),
            request,
            app: text(self.recipe.app()),
            kind: self.recipe.kind().map(str::to_owned),
            args: self.recipe.args().iter().map(|arg| text(arg)).collect(),
            env: self.recipe.surroundings().iter().map(|(name, value)| (text(name), text(value))).collect(),
            settings: self.settings.clone(),
        })
    }

    fn status(&self) -> Status {
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            user: None,
            name: self.one_of_several.as_ref().map(|(name, _)| name.clone()),
            file: self.recipe.app().to_string_lossy().into_owned(),
            url: self.url.clone(),
            generation: self.generation,
            age: self.began.elapsed().as_secs_f64(),
            scale: self.service.scale(""),
            snapshot: self.service.snapshot(),
        }
    }
}

/// Says the answer once it is there: nothing else waits for it.
fn later<T: Serialize>(reply: Reply, answer: impl Future<Output = T> + Send + 'static) {
    tokio::spawn(async move { reply.say(&answer.await) });
}

fn failed(kind: Failure, message: &str, file: &str) -> Error {
    let message = match kind {
        Failure::Load => format!("cannot load {file}: {message}"),
        Failure::WorkerStart => format!("no worker could be started: {message}"),
        Failure::Listen | Failure::System => message.to_owned(),
    };
    Error::new(kind.into(), message)
}
