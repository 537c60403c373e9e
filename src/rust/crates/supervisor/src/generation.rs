//! One loading of the app and the workers that come of it. A reload makes a new one.
//!
//! Preparing -> Serving -> Draining. One that does not get through Preparing is dropped.

use crate::policy::Backoff;
use crate::scratch::Scratch;
use crate::source::Launch;
use engine::AppConfig;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long a file may load before the log says that it still does, and again: longer than most files take, shorter
/// than an operator's patience. At most half of the time until the deadline, so that the line comes before the end.
const SILENCE: Duration = Duration::from_secs(30);

/// A generation of the app.
#[derive(Debug)]
pub struct Generation {
    /// the app's routes and mounts, once they are known: all its workers have the same
    pub app: Option<AppConfig>,
    /// how its processes are started; none when the session has forked the zygote
    pub launch: Option<Launch>,
    /// the zygote of its workers, when there is one
    pub zygote: Option<u32>,
    /// when it began
    pub since: Instant,
    /// when it is said that it is still on its way, while it prepares
    pub next_word: Instant,
    /// when a zygote is started in the place of one that was lost
    pub restart: Option<Instant>,
    /// whether each of its workers loads the app by itself, instead of being forked from a zygote
    pub spawns: bool,
    /// where zygotes that were lost had their temporary files
    pub kept: Vec<Scratch>,
    /// its pools that no request is left for, of a generation that drains
    dry: BTreeSet<u8>,
    /// of zygotes that were lost
    pub losses: Backoff,
    /// where it is in its life
    pub stage: GenerationStage,
}

/// Where a generation is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenerationStage {
    /// it loads, and its first workers start
    Preparing {
        /// workers that must be ready before it takes over
        of: usize,
        /// when it has failed
        deadline: Instant,
    },
    /// requests go to it
    Serving,
    /// another has taken over; `dry` when no request of it is left
    Draining {
        /// see above
        dry: bool,
    },
}

impl Generation {
    /// One that begins to load.
    pub fn new(launch: Option<Launch>, spawns: bool, of: usize, since: Instant, deadline: Instant) -> Self {
        Generation {
            app: None,
            launch,
            spawns,
            since,
            next_word: since + silence(since, deadline),
            zygote: None,
            restart: None,
            kept: Vec::new(),
            dry: BTreeSet::new(),
            losses: Backoff::of_zygotes(),
            stage: GenerationStage::Preparing { of, deadline },
        }
    }

    /// How many pools of workers it has. Known once the app is: one before.
    pub fn pools(&self) -> u8 {
        self.app.as_ref().map_or(1, AppConfig::count_of_pools)
    }

    /// Whether no request is left for a pool of one that drains.
    pub fn is_dry(&self, pool: u8) -> bool {
        self.dry.contains(&pool)
    }

    /// None is. Whether that is so of all its pools now.
    pub fn is_now_dry(&mut self, pool: u8) -> bool {
        self.dry.insert(pool);
        (0..self.pools()).all(|pool| self.is_dry(pool))
    }

    /// Whether its workers run C handlers, and have a second link for them. Known once the app is.
    pub fn has_c_handlers(&self) -> bool {
        self.app.as_ref().is_some_and(AppConfig::has_c_handlers)
    }

    /// Whether its workers can be those of visitors, who have sessions in it: started when they come.
    pub fn has_sessions(&self) -> bool {
        !self.spawns && self.app.as_ref().is_some_and(AppConfig::has_sessions)
    }

    /// How long it has been preparing, if that is to be said now: the next time after the same silence.
    pub fn has_word(&mut self, now: Instant) -> Option<Duration> {
        let GenerationStage::Preparing { deadline, .. } = self.stage else { return None };
        if self.next_word > now || deadline <= now {
            return None;
        }
        self.next_word = now + silence(self.since, deadline);
        Some(now - self.since)
    }

    /// When the clock must be looked at next.
    pub fn due(&self) -> Option<Instant> {
        match self.stage {
            GenerationStage::Preparing { deadline, .. } => Some(deadline.min(self.next_word)),
            _ => self.restart,
        }
    }

    /// Whether it has not taken over yet.
    pub fn is_preparing(&self) -> bool {
        matches!(self.stage, GenerationStage::Preparing { .. })
    }
}

fn silence(since: Instant, deadline: Instant) -> Duration {
    SILENCE.min((deadline - since) / 2)
}
