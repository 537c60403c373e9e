//! `drover serve` of several apps: one server with the addresses, and for each app an `attendant`, as if it were alone.
//! Neighbours: `serve`, of one app; `apps`, where they come from.

use crate::attendant::{Attendant, Note};
use crate::banner::Banner;
use crate::control::ReplaySettings;
use crate::exit::{Code, Error};
use crate::inherited;
use crate::invocation::{Invocation, OfApp};
use crate::notify;
use crate::r::{self, Recipe};
use crate::serve::{addressee, found_by_commands, prepare, say_inherited, system, uploads, wake};
use crate::signals;
use crate::terminal::{count, fail, write};
use engine::{Settings, Uploads};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use supervisor::{AppStart, House, PoolOptions};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;

/// An app before it is started.
struct Prepared {
    app: OfApp,
    recipe: Recipe,
    settings: Settings,
    pool: PoolOptions,
    notes: UnboundedSender<Note>,
    inbox: UnboundedReceiver<Note>,
}

impl Prepared {
    fn new(invocation: &Invocation, app: &OfApp, uploads: &Uploads) -> Result<Self, Error> {
        // files that are named by numbers are those of one supervisor
        let folder = uploads.path().join(&app.name);
        DirBuilder::new().mode(0o700).create(&folder).map_err(system)?;
        let recipe = Recipe::new(&invocation.r, &invocation.file, invocation.kind.as_deref())
            .map_err(|e| Error::new(e.code, format!("the app {}: {}", app.name, e.message)))?;
        let recipe = recipe.with_args(&invocation.args).with_policies(&invocation.policies);
        let recipe = recipe.with_surroundings(r::surroundings(&app.env, app.library.as_deref()));
        let (notes, inbox) = unbounded_channel();
        let (settings, pool) = (invocation.settings(folder), invocation.pool.clone());
        Ok(Prepared { app: app.clone(), recipe, settings, pool, notes, inbox })
    }
}

/// Serves until told to end.
///
/// # Errors
/// When it cannot be started; nothing is then left running. An app that cannot be loaded is no reason.
pub(crate) fn serve(options: &Invocation) -> Result<(), Error> {
    let uploads = uploads(options.upload_path())?;
    let mut settings = options.settings(uploads.path().to_owned());
    prepare(&mut settings, options)?;
    settings.sockets = inherited::take()?;
    say_inherited(&settings);
    let apps = options.apps.iter().filter_map(|one| Some(Prepared::new(one, one.of_app.as_ref()?, &uploads)));
    let apps: Vec<Prepared> = apps.collect::<Result<_, _>>()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    runtime.block_on(async {
        let all: Vec<UnboundedSender<Note>> = apps.iter().map(|app| app.notes.clone()).collect();
        // before anything is started: a signal must not end the program with processes left to themselves
        signals::listen(move |signal| {
            let told = all.iter().filter(|notes| notes.send(Note::Signal(signal)).is_ok());
            told.count() > 0
        })
        .map_err(system)?;
        let addressees = apps.iter().map(|app| addressee(Some(app.app.name.clone()), &app.notes)).collect();
        let _listening = found_by_commands(options, addressees);
        write(&format!("drover {}: {}", env!("CARGO_PKG_VERSION"), count(apps.len() as u64, "app")));
        run(options, settings, apps).await
    })
}

async fn run(options: &Invocation, settings: Settings, apps: Vec<Prepared>) -> Result<(), Error> {
    let banner = Banner::new(String::new(), &settings, &options.pool);
    let starts = apps.iter().map(|app| AppStart {
        settings: app.settings.clone(),
        options: app.pool.clone(),
        source: app.recipe.source(),
        wake: wake(app.notes.clone()),
    });
    let (house, services) = House::start(settings, starts.collect()).map_err(|e| {
        let e = Error::from(e);
        Error::new(e.code, options.with_places(&e.message))
    })?;
    // not before the supervisors are there: requests for an app that is being loaded wait
    house.listen()?;
    write(&banner.open(house.addresses(), &house.apart()));
    let width = apps.iter().map(|app| app.app.name.len()).max().unwrap_or(0);
    let mut attendants = JoinSet::new();
    for (at, (app, service)) in apps.into_iter().zip(services).enumerate() {
        let Prepared { app: OfApp { name, by_host, .. }, recipe, settings, pool, notes: _, inbox } = app;
        let banner = Banner::new(recipe.app().to_string_lossy().into_owned(), &settings, &pool);
        let host = settings.allowed_hosts.first().filter(|_| by_host);
        let url = house.addresses().first().map(|address| banner.url(address)).unwrap_or_default();
        let url = host.map_or_else(|| url.clone(), |host| banner.url_of(host, &url));
        write(&banner.row(&name, &url, width));
        let replays = ReplaySettings { plumber: settings.plumber.clone(), case_sensitive: settings.case_sensitive };
        let ends_within = pool.drain_delay + pool.graceful_timeout;
        let attendant = Attendant::new(service, recipe, banner, ends_within, None).with(replays);
        let attendant = attendant.of_several(&name, url, at == 0);
        attendants.spawn(async move { (name, attendant.attend(inbox).await) });
    }
    notify::tell(notify::READY);
    let mut worst = Ok(());
    while let Some(ended) = attendants.join_next().await {
        match ended {
            Ok((_, Ok(_))) => {}
            Ok((name, Err(e))) => {
                fail(&format!("the app {name} has ended: {}", e.message));
                worst = worst.and(Err(e));
            }
            // the panic hook has printed why
            Err(e) => worst = worst.and(Err(Error::new(Code::System, e.to_string()))),
        }
    }
    worst
}
