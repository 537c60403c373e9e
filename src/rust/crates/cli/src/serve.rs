//! `drover serve`: starts everything, says how that goes, passes on signals and what other commands ask for, and waits for the end.

use crate::control::{Ending, Listener, Reloaded, Reply, Request, Status};
use crate::dev::Dev;
use crate::exit::{Code, Error};
use crate::notify;
use crate::options::Told;
use crate::r::Recipe;
use crate::signals::{self, Asked};
use crate::tell::{say, write};
use crate::watch::{Change, Need};
use engine::{Address, Uploads};
use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use supervisor::{Event, Failure, PoolOptions, Service};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

/// Signals that come within this time are one: some programs send theirs to the process and to its group.
const ONE_SIGNAL: Duration = Duration::from_millis(500);

/// What the main thread waits for.
enum Note {
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
}

/// Wakes the main thread.
struct Doorbell(UnboundedSender<Note>);

impl Drop for Doorbell {
    fn drop(&mut self) {
        // a main thread that listens no more knows already
        let _ = self.0.send(Note::Silence);
    }
}

/// How it ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// as it was told
    Told,
    /// to be started again, with other settings
    Again,
}

/// Serves until told to end.
///
/// # Errors
/// When it cannot be started; nothing is then left running.
pub fn serve(options: &Told, dev: Option<Dev>) -> Result<Ended, Error> {
    let pool = PoolOptions { stays: dev.is_some(), ..options.pool.clone() };
    let recipe = Recipe::new(&options.r, &options.file, options.kind.as_deref())?;
    let recipe = if dev.is_some() { recipe.with_trace() } else { recipe };
    let uploads = uploads(options.upload_path())?;
    let mut settings = options.settings(uploads.path().to_owned());
    settings.development = dev.as_ref().map(|dev| dev.state.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    runtime.block_on(async {
        let (notes, told) = unbounded_channel();
        // before anything is started: a signal must not end the program with processes left to themselves
        let asked = notes.clone();
        signals::listen(move |signal| asked.send(Note::Signal(signal)).is_ok()).map_err(system)?;
        let asked = notes.clone();
        let sockets = options.sockets.as_deref();
        let listening =
            Listener::open(sockets, move |request, reply| asked.send(Note::Command(request, reply)).is_ok());
        if let Err(e) = &listening {
            say(&format!("drover status, reload and stop will not find this server: {e}"));
        }
        if let Some(args) = options.dev.as_ref().filter(|_| dev.is_some()) {
            let changed = notes.clone();
            Dev::watch(options, args, move |change| changed.send(Note::Changed(change)).is_ok()).map_err(system)?;
        }
        let bell = Doorbell(notes);
        let wake = Arc::new(move || drop(bell.0.send(Note::Event)));
        let shown = options.file.display().to_string();
        let banner = Banner { threads: settings.threads, workers: range(&pool), file: shown };
        let graceful_timeout = pool.graceful_timeout;
        let unshared = if pool.n_max > 1 { ", each with variables of its own" } else { "" };
        let service = Service::start(settings, pool, recipe.source(), wake)?;
        let Banner { file, workers, .. } = &banner;
        write(&format!("drover {}: loading {file} (workers={workers}{unshared})", env!("CARGO_PKG_VERSION")));
        let attendant = Attendant {
            service,
            recipe,
            banner,
            graceful_timeout,
            dev,
            began: Instant::now(),
            app: (0, 0, 0),
            url: None,
            generation: 0,
            reloading: None,
            next: None,
            ending: None,
            again: false,
        };
        attendant.attend(told).await
    })
}

fn system(e: std::io::Error) -> Error {
    Error::new(Code::System, e.to_string())
}

/// The folder for large bodies, which goes when it is dropped.
fn uploads(wanted: Option<&Path>) -> Result<Uploads, Error> {
    let place = wanted.map_or_else(std::env::temp_dir, Path::to_owned);
    Uploads::beneath(&place)
        .map_err(|e| Error::new(Code::System, format!("no folder for uploads: {}: {e}", place.display())))
}

/// `4`, or `1-3`.
fn range(pool: &PoolOptions) -> String {
    if pool.n_min == pool.n_max {
        pool.n_min.to_string()
    } else {
        format!("{}-{}", pool.n_min, pool.n_max)
    }
}

/// What the lines at the start say.
struct Banner {
    threads: usize,
    workers: String,
    file: String,
}

/// The main thread of a server: passes on what happens, one way and the other, until the end.
struct Attendant {
    service: Service,
    recipe: Recipe,
    banner: Banner,
    graceful_timeout: f64,
    dev: Option<Dev>,
    began: Instant,
    /// routes, those in C, and static mounts
    app: (usize, usize, usize),
    /// where it listens, once it does
    url: Option<String>,
    /// the one that serves
    generation: u32,
    /// who waits for the reload that is under way, and for the next: one begins when the one before has ended
    reloading: Option<Vec<Reply>>,
    next: Option<Vec<Reply>>,
    /// since when it ends
    ending: Option<Instant>,
    again: bool,
}

impl Attendant {
    async fn attend(mut self, mut notes: UnboundedReceiver<Note>) -> Result<Ended, Error> {
        while let Some(note) = notes.recv().await {
            match note {
                Note::Signal(Asked::Reload) => self.reload(None),
                Note::Signal(Asked::ReopenLog) => self.service.reopen_log(),
                Note::Signal(Asked::End) => self.end(),
                Note::Command(Request::Reload, reply) => self.reload(Some(reply)),
                Note::Command(Request::Status, reply) => reply.say(&self.status()),
                Note::Command(Request::Stop { now }, reply) => {
                    reply.say(&Ending { within: if now { 0.0 } else { self.graceful_timeout } });
                    self.stop(now);
                }
                Note::Changed(change) => match self.dev.as_ref().and_then(|dev| dev.is_told(&change)) {
                    Some(Need::Restart) => {
                        self.again = true;
                        self.stop(false);
                    }
                    Some(_) => self.reload(None),
                    None => {}
                },
                Note::Event => {
                    while let Some(event) = self.service.next_event(Duration::ZERO) {
                        match event {
                            Event::Failed { kind, message } => return Err(failed(kind, &message, &self.banner.file)),
                            Event::Stopped => return Ok(if self.again { Ended::Again } else { Ended::Told }),
                            event => self.hear(event),
                        }
                    }
                }
                Note::Silence => break,
            }
        }
        Err(Error::new(Code::System, "the supervisor has failed"))
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Loaded { seconds, routes, cpp_routes, mounts, .. } => {
                self.app = (routes, cpp_routes, mounts);
                if self.url.is_none() {
                    say(&format!("{} loaded in {seconds:.1} s", self.banner.file));
                }
            }
            Event::WorkerReady { ready, of } if self.url.is_none() => {
                say(&format!("worker {ready} of {of} is ready"));
            }
            Event::Listening(address) => self.listens(&address),
            Event::Reloaded { generation } => {
                self.generation = generation;
                if let Some(dev) = &self.dev {
                    dev.has_loaded();
                }
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

    fn listens(&mut self, address: &Address) {
        let ((routes, cpp_routes, mounts), Banner { threads, workers, .. }) = (self.app, &self.banner);
        write(&format!(
            "drover listening on {} ({}threads={threads}, workers={workers}, \
             routes={routes}, cpp_routes={cpp_routes}, static={mounts}){}",
            url(address),
            bound(address),
            if io::stderr().is_terminal() { "; Ctrl-C stops" } else { "" }
        ));
        let url = url(address);
        if let Some(dev) = &mut self.dev {
            dev.listens(&url);
        }
        self.url = Some(url);
        notify::tell(notify::READY);
        self.generation = 1;
        self.reload_next();
    }

    /// Loads the app anew, after what is being loaded now.
    fn reload(&mut self, reply: Option<Reply>) {
        let starts = self.dev.is_some() && self.url.is_none();
        if self.reloading.is_some() || starts {
            self.next.get_or_insert_default().extend(reply);
        } else {
            self.reloading = Some(reply.into_iter().collect());
            self.service.reload(self.recipe.source());
        }
    }

    fn reloaded(&mut self, outcome: &Reloaded) {
        // without anybody who waits: the supervisor has found another app by itself
        self.reloading.take().into_iter().flatten().for_each(|reply| reply.say(outcome));
        self.reload_next();
    }

    fn reload_next(&mut self) {
        if let Some(replies) = self.next.take() {
            self.reloading = Some(replies);
            self.service.reload(self.recipe.source());
        }
    }

    /// By a signal.
    fn end(&mut self) {
        match self.ending {
            None => {
                say(&format!("ending within {} s; a second signal ends at once", self.graceful_timeout));
                self.stop(false);
            }
            Some(first) if first.elapsed() < ONE_SIGNAL => {}
            Some(_) => {
                say("ending at once");
                self.stop(true);
            }
        }
    }

    /// Ends in peace, or now. Asked again, the supervisor ends at once.
    fn stop(&mut self, now: bool) {
        if self.ending.is_none() {
            self.ending = Some(Instant::now());
            notify::tell(notify::STOPPING);
            self.service.stop(None);
        }
        if now {
            self.service.stop(None);
        }
    }

    fn status(&self) -> Status {
        let gauge = self.service.gauge();
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            file: self.recipe.app().to_string_lossy().into_owned(),
            url: self.url.clone(),
            generation: self.generation,
            age: self.began.elapsed().as_secs_f64(),
            connections: gauge.connections(),
            waiting: gauge.waiting(),
            workers: self.service.status(),
        }
    }
}

/// Where the server is reached from this machine, whatever it is bound to.
fn url(address: &Address) -> String {
    let Address::Inet(mut address) = *address else { return address.to_string() };
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    format!("http://{address}")
}

/// What was bound, when that is more than the URL says.
fn bound(address: &Address) -> String {
    match address.inet() {
        Some(address) if address.ip().is_unspecified() => format!("bound={address}, "),
        _ => String::new(),
    }
}

fn failed(kind: Failure, message: &str, file: &str) -> Error {
    let message = match kind {
        Failure::Load => format!("cannot load {file}: {message}"),
        Failure::WorkerStart => format!("no worker could be started: {message}"),
        Failure::Listen | Failure::System => message.to_owned(),
    };
    Error::new(kind.into(), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_line_has_a_url_to_click_and_what_was_bound() {
        let said = |address: &str| {
            let address = Address::Inet(address.parse().unwrap());
            format!("{} ({}", url(&address), bound(&address))
        };
        assert_eq!(said("0.0.0.0:80"), "http://127.0.0.1:80 (bound=0.0.0.0:80, ");
        assert_eq!(said("[::]:80"), "http://[::1]:80 (bound=[::]:80, ");
        assert_eq!(said("127.0.0.1:80"), "http://127.0.0.1:80 (");
        assert_eq!(url(&Address::Unix("/run/a".into())), "unix:/run/a");
    }
}
