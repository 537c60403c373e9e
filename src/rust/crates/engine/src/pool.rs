//! The app and its workers, as those who bring them know them: generations of the app are added, switched to and
//! dropped; workers come and go as `dispatch` has it.

use crate::app::App;
use crate::config::{AppConfig, Settings};
use exchange::{Channels, Handlers};
use httpd::Apart;
use observe::{Level, Log};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

/// The app, for one I/O thread.
pub(crate) struct Current(Arc<App>);

impl Deref for Current {
    type Target = App;

    fn deref(&self) -> &App {
        &self.0
    }
}

struct Apps {
    /// requests route by this one. Each I/O thread has a place for it, with a count of its own, so that no thread waits
    /// for a cache line that another writes to for each request.
    current: Vec<Apart<RwLock<Arc<Current>>>>,
    generations: Mutex<Vec<Arc<App>>>,
    settings: Settings,
    log: Log,
    /// where C handlers of this process say what they want done with WebSockets
    channels: Weak<dyn Channels>,
}

impl Apps {
    fn generations(&self) -> MutexGuard<'_, Vec<Arc<App>>> {
        // nobody panics while holding it
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
        channels: Weak<dyn Channels>,
    ) -> Result<Pool, String> {
        let nothing = Arc::new(App::new(0, &AppConfig::default(), &settings, None)?);
        let current = || Apart(RwLock::new(Arc::new(Current(nothing.clone()))));
        let current = (0..settings.threads.max(1)).map(|_| current()).collect();
        Ok(Pool { apps: Arc::new(Apps { current, generations: Mutex::default(), settings, log, channels }), workers })
    }

    /// The app that requests of an I/O thread are routed by now.
    pub(crate) fn app(&self, thread: usize) -> Arc<Current> {
        self.apps.current[thread].0.read().unwrap_or_else(PoisonError::into_inner).clone()
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
            natives.speak_to(self.apps.channels.clone());
        }
        let app = Arc::new(App::new(generation, config, &self.apps.settings, natives)?);
        if let Some(problem) = &config.errors.problem {
            self.apps.log.line(Level::Warn, problem);
        }
        self.apps.generations().push(app);
        self.workers.add_generation(generation);
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
    }

    /// Takes back a generation that was never switched to. Its workers are retired.
    pub fn drop_generation(&self, generation: u32) {
        self.apps.generations().retain(|app| app.generation != generation);
        self.workers.drop_generation(generation);
    }
}
