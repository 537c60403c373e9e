//! The app and its workers, for the program that loads and starts them: it adds generations of the app, switches to
//! them and drops them; workers come and go as `dispatch` has it.

use crate::app::App;
use crate::config::{AppConfig, Settings};
use crate::presence::{Presence, Start};
use exchange::{Handlers, WebSocketCommands};
use httpd::Apart;
use observe::metrics::Routes;
use observe::{Level, Log};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Instant;
use tokio::sync::Notify;

/// The app, for one I/O thread.
pub(crate) struct Current(Arc<App>);

impl Deref for Current {
    type Target = App;

    fn deref(&self) -> &App {
        &self.0
    }
}

struct Apps {
    presence: Presence,
    /// told when requests are routed by another app
    switched: Notify,
    /// requests route by this one. Each I/O thread has a place for it, with a count of its own, so that no thread waits
    /// for a cache line that another writes to for each request.
    current: Vec<Apart<RwLock<Arc<Current>>>>,
    generations: Mutex<Vec<Arc<App>>>,
    settings: Settings,
    log: Log,
    /// where C handlers of this process say what they want done with WebSockets
    commands: Weak<dyn WebSocketCommands>,
    /// what tells routes apart, if metrics or traces are on
    routes: Option<Arc<Routes>>,
}

impl Apps {
    fn generations(&self) -> MutexGuard<'_, Vec<Arc<App>>> {
        // no code panics while holding this lock
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Handle to the app and the workers of a server.
#[derive(Clone)]
pub struct Pool {
    apps: Arc<Apps>,
    workers: dispatch::Pool,
}

/// Its workers.
impl Deref for Pool {
    type Target = dispatch::Pool;

    fn deref(&self) -> &dispatch::Pool {
        &self.workers
    }
}

impl Pool {
    pub(crate) fn new(
        settings: Settings,
        workers: dispatch::Pool,
        log: Log,
        commands: Weak<dyn WebSocketCommands>,
        routes: Option<Arc<Routes>>,
    ) -> Result<Pool, String> {
        let nothing = Arc::new(App::new(0, &AppConfig::default(), &settings, None, None, &log, None)?);
        let current = || Apart(RwLock::new(Arc::new(Current(nothing.clone()))));
        let current = (0..settings.threads.max(1)).map(|_| current()).collect();
        let (presence, switched, generations) = (Presence::default(), Notify::new(), Mutex::default());
        let apps = Apps { presence, switched, current, generations, settings, log, commands, routes };
        Ok(Pool { apps: Arc::new(apps), workers })
    }

    /// Whether its app is one of several at the same addresses.
    pub(crate) fn is_one_of_several(&self) -> bool {
        self.apps.settings.name.is_some()
    }

    pub(crate) fn presence(&self) -> &Presence {
        &self.apps.presence
    }

    /// For a request: waits until the app is there, which is started if it is not being started already.
    pub(crate) fn start(&self) -> Start {
        let limits = &self.apps.settings.limits;
        self.apps.presence.start(limits.max_queue, limits.timeout, || self.workers.want())
    }

    /// See [`Settings::named`].
    pub(crate) fn named(&self, route: &str) -> String {
        self.apps.settings.named(route)
    }

    /// Whether an app has ever been loaded, which requests can be routed by.
    pub(crate) fn is_known(&self, thread: usize) -> bool {
        self.app(thread).generation > 0
    }

    /// The app has workers: requests go to them from now on.
    pub fn serves(&self) {
        self.apps.presence.is_now_here();
    }

    /// The app has none, until it is asked for: see [`dispatch::PoolEvent::Wanted`].
    pub fn sleeps(&self) {
        self.apps.presence.is_now_asleep();
    }

    /// The app is being loaded. Requests wait for it.
    pub fn starts(&self) {
        self.apps.presence.is_starting();
    }

    /// The app could not be loaded: those who wait for it are told so, and so are those who come before this time.
    pub fn has_failed(&self, until: Instant) {
        self.apps.presence.has_failed(until);
    }

    /// Forgets the responses that `is_old` says so of: of what their requests ask for, and what their tags are. How
    /// many those were.
    pub(crate) fn purge(&self, is_old: impl Fn(&[u8], &[u8]) -> bool) -> usize {
        let generations = self.apps.generations();
        let caches = generations.iter().flat_map(|app| app.policies.caches());
        caches.map(|cache| cache.purge(&is_old)).sum()
    }

    /// The app that requests of an I/O thread are routed by now.
    pub(crate) fn app(&self, thread: usize) -> Arc<Current> {
        self.apps.current[thread].0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The pattern of a route, as metrics name it; empty for one that is not known any more.
    pub(crate) fn pattern(&self, generation: u32, route: u32) -> String {
        let generations = self.apps.generations();
        let app = generations.iter().find(|app| app.generation == generation);
        let names = self.apps.routes.as_ref();
        app.zip(names).map(|(app, names)| names.name(app.target(route).counts_for)).unwrap_or_default()
    }

    /// Makes a generation of the app known. No request goes to it before [`Pool::switch_to`]. `natives` are its C
    /// handlers, when they are to run in this process and not in its workers.
    ///
    /// # Errors
    /// A text that names the pattern, method or folder that is wrong.
    pub fn add_generation(
        &self,
        generation: u32,
        config: &AppConfig,
        natives: Option<Arc<dyn Handlers>>,
    ) -> Result<(), String> {
        if let Some(natives) = &natives {
            natives.speak_to(self.apps.commands.clone());
        }
        let before = self.app(0);
        let Apps { settings, routes, log, .. } = &*self.apps;
        let app = Arc::new(App::new(generation, config, settings, natives, Some(&before), log, routes.as_deref())?);
        for problem in [&config.errors.problem, &config.openapi.problem].into_iter().flatten() {
            self.apps.log.line(Level::Warn, problem);
        }
        self.apps.generations().push(app);
        self.workers.add_generation(generation, config.count_of_pools());
        Ok(())
    }

    /// From now on requests go to this generation. The workers of older ones are retired as they have nothing left to
    /// do.
    pub fn switch_to(&self, generation: u32) {
        let mut generations = self.apps.generations();
        let Some(app) = generations.iter().find(|app| app.generation == generation) else { return };
        for current in &self.apps.current {
            *current.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Current(app.clone()));
        }
        generations.retain(|app| app.generation >= generation);
        self.workers.switch_to(generation);
        self.apps.switched.notify_one();
    }

    /// Waits until requests are routed by another app. For one caller.
    pub(crate) async fn switched(&self) {
        self.apps.switched.notified().await;
    }

    /// Takes back a generation that was never switched to. Its workers are retired.
    pub fn drop_generation(&self, generation: u32) {
        self.apps.generations().retain(|app| app.generation != generation);
        self.workers.drop_generation(generation);
    }
}
