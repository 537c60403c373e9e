//! `drover status`, `drover reload`, `drover scale` and `drover stop`: about servers of the program that run.
//! Neighbours: `shown` (how a server looks), `monitor` (`--watch`).

use crate::control::{find, Ending, Found, Reloaded, Request, Rescaled, Status, Wanted};
use crate::exit::{Code, Error};
use crate::monitor;
use crate::shown;
use crate::terminal::print;
use crate::values::{workers_of_pool, Workers};
use clap::Args;
use rustix::process::geteuid;
use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES_OF_STATUS: &str = "\
Examples:
  drover status            all servers of this user, or for root those of all users
  drover status 8080       the one on this port
  drover status --json     for programs: an array with an object for each
  drover status --watch    the one server that runs, each second, until q or Ctrl-C
  drover status 8080 > /dev/null && echo it serves";

const EXAMPLES_OF_RELOAD: &str = "\
Examples:
  drover reload            the one server that runs
  drover reload app.R      the one that serves this file
  drover reload shop       this one of several apps
  git pull && drover reload 8080";

const EXAMPLES_OF_SCALE: &str = "\
Examples:
  drover scale 6           six workers, of the one server that runs
  drover scale gpu=2       two for the routes that have this pool
  drover scale 2-8 8080    as many as are needed, two to eight, of the one on this port
  drover scale auto app.R  as many as this machine has cores";

const EXAMPLES_OF_STOP: &str = "\
Examples:
  drover stop              the one server that runs, when requests in flight are answered
  drover stop 8080 --now   without waiting for them
  drover stop app.R --wait 5s";

/// Which server is meant.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The server, if several run: its port, its app's file or folder, or its process id; or the name of an app
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    #[command(flatten)]
    sockets: Sockets,
}

#[derive(Clone, Debug, Default, Args)]
pub struct Sockets {
    /// The folder where status, reload, scale, stop, profile, failed, replay and jobs find servers [default: drover in
    /// XDG_RUNTIME_DIR, or /tmp/drover-UID]
    #[arg(long = "sockets", value_name = "FOLDER", env = "DROVER_SOCKETS")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES_OF_STATUS)]
pub struct StatusArgs {
    #[command(flatten)]
    which: Which,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Refresh one server every second: rates, times, what each worker runs, errors
    #[arg(long, conflicts_with = "json")]
    watch: bool,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES_OF_RELOAD)]
pub struct ReloadArgs {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES_OF_SCALE)]
pub struct ScaleArgs {
    /// How many: 4, 1-4 or auto; of a pool that routes name NAME=4
    #[arg(value_parser = workers_of_pool)]
    workers: (String, Workers),
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES_OF_STOP)]
pub struct StopArgs {
    #[command(flatten)]
    which: Which,
    /// Stop at once: requests in flight fail
    #[arg(long)]
    now: bool,
    /// How long to wait until it has stopped [default: a little longer than its --drain-delay and --graceful-timeout]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    wait: Option<f64>,
}

/// What a server may take beyond its `drain_delay` and `graceful_timeout`: its processes are asked, terminated and
/// killed then.
const BEYOND: f64 = 10.0;

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    admission::units::seconds(text)
        .filter(|seconds| (0.0..=31_536_000.0).contains(seconds))
        .ok_or_else(|| "must be a number of seconds, or a time such as 500ms, 30s or 2m".to_owned())
}

impl Which {
    /// The server with this name, if one is given, found in these folders.
    pub(crate) fn new(server: Option<String>, sockets: Sockets) -> Self {
        Which { server, sockets }
    }

    /// The servers that are meant.
    fn all(&self) -> Result<Vec<Found>, Error> {
        let wanted = self.server.clone().map(Wanted);
        let found = find(self.sockets.folder.as_deref(), wanted.as_ref());
        if found.is_empty() {
            return Err(Error::new(Code::Missing, self.nothing()));
        }
        Ok(found)
    }

    /// The one server that is meant, or the one app where a server has several. That of another user is, when it is
    /// named.
    pub(crate) fn one(&self) -> Result<Found, Error> {
        let mut found = self.whole()?;
        if found.len() > 1 {
            return Err(several(format!("the server has {} apps: say which by its name", found.len()), &found));
        }
        Ok(found.remove(0))
    }

    /// Those apps that are meant of the one server: all that it has, where none of them is named.
    fn whole(&self) -> Result<Vec<Found>, Error> {
        let mut found = self.all()?;
        if self.server.is_none() && found.iter().any(Found::is_own) {
            found.retain(Found::is_own);
        }
        let mut servers: Vec<&Found> = found.iter().collect();
        servers.dedup_by(|a, b| a.is_with(b));
        if servers.len() > 1 || (self.server.is_none() && !found[0].is_own()) {
            let run =
                if servers.len() > 1 { format!("{} servers run", servers.len()) } else { "one server runs".to_owned() };
            return Err(several(format!("{run}: say which by its port, file or process id"), &found));
        }
        Ok(found)
    }

    fn nothing(&self) -> String {
        match &self.server {
            None if geteuid().is_root() => "no server runs that the program has started".to_owned(),
            None => "no server of this user runs that the program has started".to_owned(),
            Some(which) => {
                let others = find(self.sockets.folder.as_deref(), None);
                let mut text = format!("no server runs on port, with process id, or for the file or app {which}");
                for server in &others {
                    let _ = write!(text, "\n    there is {}", shown::name(&server.status));
                }
                text
            }
        }
    }
}

/// That one has to be said, and which there are.
fn several(mut text: String, found: &[Found]) -> Error {
    for server in found {
        let _ = write!(text, "\n    {}", shown::name(&server.status));
    }
    Error::new(Code::Usage, text)
}

/// Shows how servers are.
///
/// # Errors
/// When there is none, or one of them does not serve yet.
pub(crate) fn status(args: &StatusArgs) -> Result<(), Error> {
    if args.watch {
        return monitor::watch(&args.which.one()?);
    }
    let found: Vec<Status> = args.which.all()?.into_iter().map(|server| server.status).collect();
    let text = if args.json {
        sonic_rs::to_string(&found).map_err(|e| Error::new(Code::System, e.to_string()))? + "\n"
    } else {
        found.iter().map(shown::server).collect::<Vec<_>>().join("\n")
    };
    print(&text)?;
    let does_not = |status: &&Status| match status.snapshot.app.as_deref() {
        Some("asleep") => false,
        Some(_) => true,
        None => status.url.is_none(),
    };
    match found.iter().find(does_not) {
        Some(status) => {
            let called = status.name.as_ref().unwrap_or(&status.file);
            Err(Error::new(Code::App, format!("{called} does not serve yet")))
        }
        None => Ok(()),
    }
}

/// Has a server load its app anew, or its apps one after the other, and waits until the new workers serve.
///
/// # Errors
/// Why they do not: of several apps, those of the first that does not.
pub(crate) fn reload(args: &ReloadArgs) -> Result<(), Error> {
    let servers = args.which.whole()?;
    if let [server] = &servers[..] {
        return reload_one(server);
    }
    let mut failed = Ok(());
    for server in servers {
        if server.status.snapshot.app.as_deref() == Some("asleep") {
            print(&format!("{} is asleep: it is loaded anew when it is asked for\n", shown::name(&server.status)))?;
            continue;
        }
        failed = failed.and(reload_one(&server));
    }
    failed
}

fn reload_one(server: &Found) -> Result<(), Error> {
    let (answer, _) = server.ask::<Reloaded>(Request::Reload, None).map_err(|e| gone(server, &e))?;
    match answer {
        Ok(generation) => {
            print(&format!("reloaded: generation {generation} of {} serves\n", shown::name(&server.status)))
        }
        Err(why) if server.status.snapshot.app.is_some() => {
            Err(Error::new(Code::App, format!("{} cannot be loaded: {why}", shown::name(&server.status))))
        }
        Err(why) => Err(Error::new(Code::App, format!("not reloaded, the workers from before go on: {why}"))),
    }
}

/// Has a server run another number of workers, without waiting for them.
///
/// # Errors
/// Why it does not.
pub(crate) fn scale(args: &ScaleArgs) -> Result<(), Error> {
    let server = args.which.one()?;
    let (pool, workers) = &args.workers;
    let (min, max) = workers.bounds();
    let request = Request::Scale { min, max, pool: pool.clone() };
    let patience = Duration::from_secs_f64(BEYOND);
    let (answer, _) = server.ask::<Rescaled>(request, Some(patience)).map_err(|e| gone(&server, &e))?;
    let before = answer.map_err(|why| Error::new(Code::Usage, why))?;
    let (now, before) = (shown::scale((min, max)), shown::scale(before));
    let of_it = if pool.is_empty() { String::new() } else { format!(" of the pool {pool}") };
    print(&format!("scaled {}: {now}{of_it} instead of {before}\n", shown::name(&server.status)))
}

/// Ends a server, and waits for its end.
///
/// # Errors
/// When it has not ended within the time.
pub(crate) fn stop(args: &StopArgs) -> Result<(), Error> {
    let server = args.which.whole()?.remove(0);
    if let Some(name) = server.status.name.as_ref().filter(|name| args.which.server.as_ref() == Some(name)) {
        let pid = server.status.pid;
        let why = format!("{name} is one of several apps, which end together: drover stop {pid} stops their server");
        return Err(Error::new(Code::Usage, why));
    }
    let request = Request::Stop { now: args.now };
    let patience = Duration::from_secs_f64(BEYOND);
    let (ending, asked) = server.ask::<Ending>(request, Some(patience)).map_err(|e| gone(&server, &e))?;
    let wait = args.wait.unwrap_or(ending.within + BEYOND);
    if asked.has_ended(Duration::from_secs_f64(wait)) {
        return print(&format!("stopped {}\n", shown::name_of_server(&server.status)));
    }
    let why = format!(
        "{} has not ended within {wait} s: it waits for requests; --now ends it at once",
        shown::name_of_server(&server.status)
    );
    Err(Error::new(Code::App, why))
}

pub(crate) fn gone(server: &Found, e: &io::Error) -> Error {
    Error::new(Code::App, format!("no answer from {}: {e}", shown::name(&server.status)))
}
