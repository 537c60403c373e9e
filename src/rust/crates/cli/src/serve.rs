//! `drover serve`: starts everything, says how that goes, passes signals on, and waits for the end.

use crate::exit::{Code, Error};
use crate::options::Told;
use crate::r::Recipe;
use crate::signals::{self, Asked};
use crate::tell::{say, write};
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
}

/// Wakes the main thread.
struct Doorbell(UnboundedSender<Note>);

impl Drop for Doorbell {
    fn drop(&mut self) {
        // a main thread that listens no more knows already
        let _ = self.0.send(Note::Silence);
    }
}

/// Serves until told to end.
///
/// # Errors
/// When it cannot be started; nothing is then left running.
pub fn serve(options: &Told) -> Result<(), Error> {
    let pool = options.pool.clone();
    let recipe = Recipe::new(&options.r, &options.file, options.kind.as_deref())?;
    let uploads = uploads(options.upload_path())?;
    let settings = options.settings(uploads.path().to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    runtime.block_on(async {
        let (notes, told) = unbounded_channel();
        // before anything is started: a signal must not end the program with processes left to themselves
        let asked = notes.clone();
        signals::listen(move |signal| asked.send(Note::Signal(signal)).is_ok()).map_err(system)?;
        let bell = Doorbell(notes);
        let wake = Arc::new(move || drop(bell.0.send(Note::Event)));
        let shown = options.file.display().to_string();
        let banner = Banner { threads: settings.threads, workers: range(&pool), file: shown };
        let graceful_timeout = pool.graceful_timeout;
        let unshared = if pool.n_max > 1 { ", each with variables of its own" } else { "" };
        let service = Service::start(settings, pool, recipe.source(), wake)?;
        let Banner { file, workers, .. } = &banner;
        write(&format!("drover {}: loading {file} (workers={workers}{unshared})", env!("CARGO_PKG_VERSION")));
        attend(&service, told, &recipe, banner, graceful_timeout).await
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

/// Passes on what happens, one way and the other, until the end.
async fn attend(
    service: &Service,
    mut notes: UnboundedReceiver<Note>,
    recipe: &Recipe,
    banner: Banner,
    graceful_timeout: f64,
) -> Result<(), Error> {
    let mut app = (0, 0, 0);
    let mut listening = false;
    let mut ending: Option<Instant> = None;
    while let Some(note) = notes.recv().await {
        match note {
            Note::Signal(Asked::Reload) => service.reload(recipe.source()),
            Note::Signal(Asked::ReopenLog) => service.reopen_log(),
            Note::Signal(Asked::End) => match ending {
                None => {
                    say(&format!("ending within {graceful_timeout} s; a second signal ends at once"));
                    ending = Some(Instant::now());
                    service.stop(None);
                }
                Some(first) if first.elapsed() < ONE_SIGNAL => {}
                Some(_) => {
                    say("ending at once");
                    service.stop(None);
                }
            },
            Note::Event => {
                while let Some(event) = service.next_event(Duration::ZERO) {
                    match event {
                        Event::Loaded { seconds, routes, cpp_routes, mounts, .. } => {
                            app = (routes, cpp_routes, mounts);
                            if !listening {
                                say(&format!("{} loaded in {seconds:.1} s", banner.file));
                            }
                        }
                        Event::WorkerReady { ready, of } if !listening => {
                            say(&format!("worker {ready} of {of} is ready"));
                        }
                        Event::Listening(address) => {
                            listening = true;
                            let Banner { threads, workers, .. } = &banner;
                            let (routes, cpp_routes, mounts) = app;
                            write(&format!(
                                "drover listening on {} ({}threads={threads}, workers={workers}, \
                                 routes={routes}, cpp_routes={cpp_routes}, static={mounts}){}",
                                url(&address),
                                bound(&address),
                                if io::stderr().is_terminal() { "; Ctrl-C stops" } else { "" }
                            ));
                        }
                        Event::Failed { kind, message } => return Err(failed(kind, &message, &banner.file)),
                        Event::Stopped => return Ok(()),
                        // the log has these; a zygote of this program's own is never lost for long
                        Event::WorkerReady { .. }
                        | Event::Reloaded { .. }
                        | Event::ReloadFailed { .. }
                        | Event::ZygoteLost => {}
                    }
                }
            }
            Note::Silence => break,
        }
    }
    Err(Error::new(Code::System, "the supervisor has failed"))
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
