//! An app as the server knows it: where its requests go. One for each generation; a request stays with the one that it
//! was routed by, as another may number its routes otherwise.

use crate::assets::{Folder, Mounts, WholeFiles};
use crate::config::{AppConfig, JobPart, MountConfig, OnClientGone, RouteConfig, Settings};
use crate::edge::affinity::{Affinity, AffinityWanted};
use crate::edge::docs::Description;
use crate::edge::policies::Policies;
use crate::edge::types::{Bounds, Types};
use crate::jobs::{self, JobRoute};
use crate::natives::Natives;
use crate::respond::OwnErrors;
use crate::websockets::{WebSocketRoute, WebSocketRoutes};
use admission::ms_or_never;
use dispatch::{Batch, Runs};
use exchange::Handlers;
use http::Method;
use httpd::EarlyHints;
use observe::metrics::{self, Routes};
use observe::Log;
use router::{MethodSet, Pattern, Router, RouterBuilder};
use std::io;
use std::sync::Arc;

/// See the module.
pub struct App {
    pub(crate) generation: u32,
    pub(crate) router: Router,
    /// of the jobs that only the app itself has run
    pub(crate) private_jobs: Router,
    /// of WebSockets
    pub(crate) websockets: WebSocketRoutes,
    pub(crate) mounts: Mounts,
    pub(crate) has_not_found: bool,
    /// the form that the app gives errors which the engine answers by itself
    pub(crate) errors: OwnErrors,
    /// what is decided without R
    pub(crate) policies: Policies,
    /// what documents it
    pub(crate) description: Option<Description>,
    /// the C handlers, when they run in this process
    pub(crate) natives: Option<Natives>,
    /// longest wait for a thread of theirs, in ms
    pub(crate) queue_timeout: u64,
    /// how clients are kept with their workers; `None` where any worker will do
    pub(crate) affinity: Option<Affinity>,
    targets: Vec<Target>,
    /// what the routes declare, by their numbers
    types: Vec<Option<Types>>,
    /// what clients of the routes are told ahead, by their numbers
    hints: Vec<Option<Arc<EarlyHints>>>,
    /// what the routes have to do with jobs, by their numbers
    jobs: Vec<Option<JobRoute>>,
    /// limits for what is read of requests to see whether they have these types
    pub(crate) bounds: Bounds,
    not_found: Target,
}

/// What is at the end of a route.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    /// index into the handlers of its kind, from 1
    pub handler: u32,
    /// what runs it
    pub runs: Runs,
    /// which of the app's pools has its handler's workers
    pub pool: u8,
    /// longest time to the answer in ms
    pub timeout: u64,
    /// longest body in bytes
    pub max_body: u64,
    on_client_gone: Option<OnClientGone>,
    /// whether clients are told something ahead: asked for each request, and [`App::hints`] only then
    pub has_hints: bool,
    /// static mounts go before it
    pub rest: bool,
    /// how many of its requests a worker takes at a time, where it takes several
    pub batch: Option<Batch>,
    /// whether its requests are about jobs: asked for each request, and [`App::job`] only then
    pub is_job: bool,
    /// what its requests are counted for
    pub counts_for: metrics::Route,
}

impl Target {
    /// Whether its handler in R is interrupted when the client of a request with this method goes. Unless told
    /// otherwise, only where that leaves nothing half done: `GET` and `HEAD` change nothing (RFC 9110 section 9.2.1).
    pub(crate) fn ends_with_client(&self, method: &Method) -> bool {
        match self.on_client_gone {
            Some(told) => told == OnClientGone::Interrupt,
            None => matches!(*method, Method::GET | Method::HEAD),
        }
    }
}

/// Whether clients are to be kept with their workers. Sessions of visitors have names for that.
fn wants_affinity(settings: &Settings, config: &AppConfig) -> bool {
    let is_kept = |route: &RouteConfig| {
        route.runs == Runs::R
            && route.websocket.as_ref().is_some_and(|websocket| websocket.is_kept && !websocket.is_session)
    };
    match settings.affinity {
        AffinityWanted::Cookie => true,
        AffinityWanted::None => false,
        AffinityWanted::Auto => config.routes.iter().any(is_kept),
    }
}

impl App {
    /// The app of a generation, with its C handlers if they are to run in this process. `before` is the one that was
    /// served until now, whose limits go on where they stand. `routes`, if requests are counted, tells them apart.
    ///
    /// # Errors
    /// A text that names the pattern, method, folder, header field or policy that is wrong.
    pub(crate) fn new(
        generation: u32,
        config: &AppConfig,
        settings: &Settings,
        natives: Option<Arc<dyn Handlers>>,
        before: Option<&App>,
        log: &Log,
        routes: Option<&Routes>,
    ) -> Result<App, String> {
        let mut builder = RouterBuilder::new(settings.case_sensitive);
        let mut of_websockets = RouterBuilder::new(settings.case_sensitive);
        let mut of_private_jobs = RouterBuilder::new(settings.case_sensitive);
        let mut patterns = Vec::with_capacity(config.routes.len());
        let mut types = Vec::with_capacity(config.routes.len());
        let mut hints = Vec::with_capacity(config.routes.len());
        for (i, route) in config.routes.iter().enumerate() {
            let methods = MethodSet::from_names(route.methods.iter().map(String::as_str)).map_err(|e| e.to_string())?;
            let pattern = Pattern::parse(&route.pattern).map_err(|e| e.to_string())?;
            let declared = route.types.as_ref().map(|declared| Types::new(declared, &pattern)).transpose();
            let of_route = |why| format!("route {}: {why}", route.name());
            types.push(declared.map_err(of_route)?);
            hints.push(hints_of(route).map_err(of_route)?);
            patterns.push((route.name(), pattern.clone()));
            let router = if route.websocket.is_some() {
                &mut of_websockets
            } else if route.job.as_ref().is_some_and(|job| job.private) {
                &mut of_private_jobs
            } else {
                &mut builder
            };
            // a route's target is its index
            router.add(methods, pattern, i as u32);
        }
        let folder = |m: &MountConfig| Folder { mount: m.mount.clone(), directory: m.dir.clone(), links: m.links };
        let own: Vec<Folder> = config.mounts.iter().filter(|m| m.types.is_none()).map(folder).collect();
        // otherwise plumber answers, or both do
        let is_fast = settings.plumber.as_deref().is_none_or(|way| way == "fast");
        let whole = |m: &MountConfig| Some(WholeFiles::new(&m.mount, &m.dir, m.types.as_ref().filter(|_| is_fast)?));
        let whole = config.mounts.iter().filter_map(whole).collect::<io::Result<_>>();
        let mounts = Mounts::new(own).and_then(|mounts| Ok(mounts.and_whole(whole?)));
        let target = |route: &RouteConfig, counts_for| Target {
            handler: route.handler,
            runs: route.runs,
            pool: if route.pool < config.count_of_pools() { route.pool } else { 0 },
            timeout: ms_or_never(route.timeout.unwrap_or(settings.limits.timeout)),
            // the number is R's, which has none that are whole and as large
            max_body: route.max_body.map_or(settings.limits.max_body, |most| most as u64),
            on_client_gone: route.on_client_gone.or(settings.on_client_gone),
            has_hints: !route.early_hints.is_empty(),
            rest: route.rest,
            is_job: route.job.is_some(),
            batch: route.batch.map(|batch| Batch {
                most: batch.max_size as usize,
                bytes: batch.max_bytes as usize,
                wait: (batch.max_wait * 1000.0).ceil() as u64,
            }),
            counts_for,
        };
        let secrets = jobs::secrets(&config.policies);
        let jobs = config.routes.iter();
        let jobs = jobs.map(|route| route.job.as_ref().map(|job| JobRoute::new(job, &secrets)).transpose());
        let limits = &settings.limits;
        let place = |pattern: &str| {
            routes.map_or(metrics::Route::NONE, |routes: &Routes| routes.place(&settings.named(pattern)))
        };
        let targets: Vec<Target> = config.routes.iter().map(|route| target(route, place(&route.pattern))).collect();
        let websockets = config.routes.iter().zip(&targets).enumerate();
        let websockets = websockets.filter_map(|(i, (route, target))| {
            WebSocketRoute::new(i as u32, route, target.timeout, target.max_body, limits.session_idle_timeout)
        });
        Ok(App {
            generation,
            router: builder.build(),
            private_jobs: of_private_jobs.build(),
            mounts: mounts.map_err(|e| format!("static: {e}"))?,
            has_not_found: config.not_found > 0,
            errors: OwnErrors::new(&config.errors.answers)?,
            policies: Policies::new(
                &settings.policies().chain(config.policies.iter().cloned()).collect::<Vec<_>>(),
                &patterns,
                settings.case_sensitive,
                before.map(|before| &before.policies),
                log,
            )?,
            description: config.openapi.json.as_deref().map(|json| Description::new(json, config.openapi.has_servers)),
            natives: natives.map(|handlers| Natives::new(handlers, limits.max_queue)),
            queue_timeout: ms_or_never(limits.queue_timeout),
            websockets: WebSocketRoutes::new(of_websockets.build(), websockets.collect()),
            affinity: wants_affinity(settings, config).then(Affinity::new).transpose()?,
            targets,
            types,
            hints,
            jobs: jobs.collect::<Result<_, _>>()?,
            bounds: Bounds {
                max_fields: limits.max_fields,
                max_json_depth: limits.max_json_depth.try_into().unwrap_or(u32::MAX),
            },
            not_found: target(
                &RouteConfig { handler: config.not_found, ..RouteConfig::default() },
                metrics::Route::NOT_FOUND,
            ),
        })
    }

    /// What a route declares.
    pub(crate) fn types(&self, route: u32) -> Option<&Types> {
        self.types.get(route as usize)?.as_ref()
    }

    /// What clients of a route are told ahead.
    pub(crate) fn hints(&self, route: u32) -> Option<&Arc<EarlyHints>> {
        self.hints.get(route as usize)?.as_ref()
    }

    /// What a route has to do with jobs.
    pub(crate) fn job(&self, route: u32) -> Option<&JobRoute> {
        self.jobs.get(route as usize)?.as_ref()
    }

    /// The same of a route that accepts jobs.
    pub(crate) fn accepts_jobs(&self, route: u32) -> Option<&JobRoute> {
        self.job(route).filter(|job| job.part == JobPart::Accept)
    }

    /// The routes that accept jobs, with their numbers.
    pub(crate) fn kinds_of_jobs(&self) -> impl Iterator<Item = (u32, &JobRoute)> {
        (0..self.jobs.len() as u32).filter_map(|route| Some((route, self.accepts_jobs(route)?)))
    }

    /// What is at the end of a route.
    pub(crate) fn target(&self, route: u32) -> Target {
        self.targets.get(route as usize).copied().unwrap_or(self.not_found)
    }
}

fn hints_of(route: &RouteConfig) -> Result<Option<Arc<EarlyHints>>, String> {
    if route.early_hints.is_empty() {
        return Ok(None);
    }
    EarlyHints::new(route.early_hints.iter().map(String::as_bytes)).map(Arc::new).map(Some)
}
