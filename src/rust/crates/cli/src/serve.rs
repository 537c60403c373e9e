//! `drover serve`: starts everything, and leaves it to the `attendant` until the end. With a client at the standard
//! streams it is `drover mcp`: `mcp` has the bridge to it.

use crate::attendant::{Attendant, Ended, Note};
use crate::banner::Banner;
use crate::control::{Addressee, Listener, ReplaySettings};
use crate::dev::Dev;
use crate::exit::{Code, Error};
use crate::inherited;
use crate::invocation::{Client, Invocation};
use crate::mcp::{Bridge, Streams};
use crate::r::Recipe;
use crate::signals;
use crate::terminal::{self, say, write};
use crate::tls;
use engine::{Format, Settings, Uploads};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use supervisor::{PoolOptions, Service, Wake};
use tokio::sync::mpsc::{unbounded_channel, UnboundedSender};
use tokio::sync::watch;

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
pub fn serve(options: &Invocation, dev: Option<Dev>) -> Result<Ended, Error> {
    // before anything is written, and before there are other processes
    let streams = options.client.as_ref().map(|_| Streams::take().map_err(system)).transpose()?;
    let client = options.client.clone().zip(streams);
    let pool = PoolOptions { stays: dev.is_some(), ..options.pool.clone() };
    let recipe = Recipe::new(&options.r, &options.file, options.kind.as_deref())?.with_args(&options.args);
    let recipe = recipe.with_policies(&options.policies);
    let recipe = recipe.with_words(options.client.iter().flat_map(Client::words));
    let recipe = if dev.is_some() { recipe.with_trace() } else { recipe };
    let uploads = uploads(options.upload_path())?;
    let mut settings = options.settings(uploads.path().to_owned());
    prepare(&mut settings, options)?;
    settings.development = dev.as_ref().map(|dev| dev.state.clone());
    // a program that may become itself anew cannot keep one
    settings.sockets = if dev.is_none() && client.is_none() { inherited::take()? } else { Vec::new() };
    // in a folder that no other user may enter
    let socket = uploads.path().join("mcp");
    if client.is_some() {
        settings.host = vec![format!("unix:{}", socket.display())];
    }
    say_inherited(&settings);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    runtime.block_on(async {
        let (notes, inbox) = unbounded_channel();
        // before anything is started: a signal must not end the program with processes left to themselves
        let asked = notes.clone();
        signals::listen(move |signal| asked.send(Note::Signal(signal)).is_ok()).map_err(system)?;
        // the server of a client is that client's business
        let addressee = client.is_none().then(|| addressee(None, &notes));
        let _listening = addressee.map(|addressee| found_by_commands(options, vec![addressee]));
        if let (Some(dev), Some(args)) = (&dev, &options.dev) {
            let changed = notes.clone();
            dev.watch(options, args, move |change| changed.send(Note::Changed(change)).is_ok()).map_err(system)?;
        }
        let hung_up = notes.clone();
        let wake = wake(notes);
        let file = options.file.display().to_string();
        let banner = Banner::new(file, &settings, &pool);
        let replays = ReplaySettings { plumber: settings.plumber.clone(), case_sensitive: settings.case_sensitive };
        let ends_within = pool.drain_delay + pool.graceful_timeout;
        let longest = settings.limits.max_body;
        let service = Service::start(settings, pool, recipe.source(), wake).map_err(|e| {
            let e = Error::from(e);
            Error::new(e.code, options.with_places(&e.message))
        })?;
        write(&banner.loading());
        let attendant = Attendant::new(service, recipe, banner, ends_within, dev).with(replays);
        let Some((client, streams)) = client else { return attendant.attend(inbox).await };
        let (endpoint, told) = watch::channel(None);
        let patience = Duration::from_secs_f64(ends_within);
        // a server that has ended knows
        let hung_up = move |answered| drop(hung_up.send(Note::HungUp { answered }));
        let bridge = Bridge::open(streams, client, socket, told, longest, patience, hung_up).map_err(system)?;
        let ended = attendant.telling(endpoint).attend(inbox).await;
        bridge.close().await;
        ended
    })
}

/// What is done with the settings of the server before anything is started.
pub(crate) fn prepare(settings: &mut Settings, options: &Invocation) -> Result<(), Error> {
    if settings.log == "stderr" && settings.log_format == Format::Json {
        terminal::for_programs();
    }
    if let Some(tls) = settings.tls.as_mut().filter(|_| options.wants_dev_tls()) {
        let files = tls::add_certificate(tls)?;
        say(&format!("https:// for development: clients that trust {} trust this server", files.ca.display()));
    }
    // before there are threads, which it would have to wait for
    engine::make_room(settings.limits.max_connections);
    Ok(())
}

pub(crate) fn say_inherited(settings: &Settings) {
    match settings.sockets.len() {
        0 => {}
        1 => say("it listens on the socket that it was started with: host and port are not used"),
        n => say(&format!("it listens on the {n} sockets that it was started with: host and port are not used")),
    }
}

/// Has commands reach an app of the server.
pub(crate) fn addressee(name: Option<String>, notes: &UnboundedSender<Note>) -> Addressee {
    let asked = notes.clone();
    Addressee::new(name, move |request, reply| asked.send(Note::Command(request, reply)).is_ok())
}

/// Has commands find this server, as long as what this gives is there.
pub(crate) fn found_by_commands(options: &Invocation, addressees: Vec<Addressee>) -> Option<Listener> {
    match Listener::open(options.sockets.as_deref(), addressees) {
        Ok(listener) => Some(listener),
        Err(e) => {
            say(&format!(
                "drover status, reload, scale, stop, profile, failed, replay and jobs will not find this server: {e}"
            ));
            None
        }
    }
}

/// Has the main thread look when the supervisor has something to tell, or tells nothing any more.
pub(crate) fn wake(notes: UnboundedSender<Note>) -> Wake {
    let bell = Doorbell(notes);
    Arc::new(move || drop(bell.0.send(Note::Event)))
}

pub(crate) fn system(e: std::io::Error) -> Error {
    Error::new(Code::System, e.to_string())
}

/// The folder for large bodies, which goes when it is dropped.
pub(crate) fn uploads(wanted: Option<&Path>) -> Result<Uploads, Error> {
    let place = wanted.map_or_else(std::env::temp_dir, Path::to_owned);
    Uploads::beneath(&place)
        .map_err(|e| Error::new(Code::System, format!("no folder for uploads: {}: {e}", place.display())))
}
