//! What a server is told to be, and what an app is to it. One setting has one name everywhere: these are the names of
//! the arguments of `dr_serve()`.

use crate::development::Development;
use crate::edge::access_log::AccessLogFormat;
use crate::edge::affinity::AffinityWanted;
use crate::edge::base_path::{self, BasePath};
use crate::edge::compress::CompressConfig;
use crate::edge::decompress::DecompressConfig;
use crate::edge::policies::{PolicyConfig, RuleConfig};
use crate::edge::response_fields::HeaderConfig;
use crate::edge::types::TypesConfig;
use crate::failed::{Bounds, FailedRequests, Redact};
use admission::Limits;
use dispatch::{Runs, MOST_POOLS};
use httpd::{TlsSettings, Underscores};
use observe::{Console, Format, Level};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The server's settings.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// where to listen, as [`httpd::Listener::bind`] has it
    pub host: Vec<String>,
    /// port of those without one; 0 for a free one
    pub port: u16,
    /// sockets that the program was started with; host and port count for nothing then
    #[serde(skip)]
    pub sockets: Vec<Arc<OwnedFd>>,
    /// where the operator asks how the server is
    #[serde(default)]
    pub admin: Option<String>,
    /// the file with the token that the dashboard's actions ask for; without one they are off
    #[serde(default)]
    pub admin_token: Option<PathBuf>,
    /// where balancers ask how much it can take
    #[serde(default)]
    pub agent_check: Option<String>,
    /// I/O threads
    pub threads: usize,
    /// threads for C handlers, in each process that runs some
    #[serde(default = "cpp_workers")]
    pub cpp_workers: usize,
    /// whether clients are told what went wrong in a handler
    #[serde(default)]
    pub debug: bool,
    /// how endpoints of plumber are answered: for the workers in R
    #[serde(default)]
    pub plumber: Option<String>,
    /// whether literals of patterns match in one case only
    #[serde(default)]
    pub case_sensitive: bool,
    /// what bodies of errors are
    #[serde(default)]
    pub errors: ErrorFormat,
    /// whether `/livez` and `/readyz` are answered
    #[serde(default)]
    pub health: bool,
    /// whether responses are packed where no policy of the app says how
    #[serde(default)]
    pub compress: bool,
    /// whether bodies of requests are unpacked where no policy of the app says how
    #[serde(default)]
    pub decompress: bool,
    /// which clients get the description of the app and the page that shows it
    #[serde(default)]
    pub docs: DocsWanted,
    /// whether figures are counted, and told at `/metrics`
    #[serde(default)]
    pub metrics: bool,
    /// whether the requests of a client go to the worker that had its first
    #[serde(default)]
    pub affinity: AffinityWanted,
    /// what becomes of handlers whose clients have gone; `None`: it depends on the method
    #[serde(default)]
    pub on_client_gone: Option<OnClientGone>,
    /// networks of proxies whose forwarding headers are trusted
    #[serde(default)]
    pub trusted_proxies: Vec<String>,
    /// networks of balancers that begin each connection with a header of PROXY protocol
    #[serde(default)]
    pub proxy_protocol: Vec<String>,
    /// hosts that requests may be for; none: all, in development those of this machine
    #[serde(default)]
    pub allowed_hosts: Vec<String>,
    /// of one of several apps at the same addresses: what it is called
    #[serde(skip)]
    pub name: Option<String>,
    /// of these: whether the app is for `allowed_hosts` and no others
    #[serde(skip)]
    pub by_host: bool,
    /// what stands before the paths of the app in those of requests, see [`Settings::base_path`]
    #[serde(default)]
    pub base_path: Option<String>,
    /// the field by which trusted proxies say what they have taken off the path
    #[serde(default)]
    pub base_path_field: Option<String>,
    /// header fields of responses that have none of their name, as `name: value`
    #[serde(default)]
    pub response_headers: Vec<String>,
    /// what trusted proxies write
    #[serde(default)]
    pub forwarded_fields: proxies::Fields,
    /// what becomes of header fields with `_` in their names; `None`: it depends on whether there is a proxy
    #[serde(default)]
    pub underscores_in_headers: Option<Underscores>,
    /// `stderr`, `none`, or a file
    pub log: String,
    /// how its records are written
    #[serde(default)]
    pub log_format: Format,
    /// those below are left out
    #[serde(default)]
    pub log_level: Level,
    /// where a line is written for each request: `none`, `stderr`, or a file
    #[serde(default = "none")]
    pub access_log: String,
    /// how
    #[serde(default)]
    pub access_log_format: AccessLogFormat,
    /// where spans of requests are sent: a collector of OpenTelemetry
    #[serde(default)]
    pub otlp_endpoint: Option<String>,
    /// the variables of OpenTelemetry, whose names begin with `OTEL_`, at the start of the server
    #[serde(default)]
    pub otel: BTreeMap<String, String>,
    /// what takes the place of standard error in an interactive session
    #[serde(skip)]
    pub console: Option<Console>,
    /// whether the log has colours at a terminal
    #[serde(default)]
    pub colours: bool,
    /// for the developer of the app
    #[serde(skip)]
    pub development: Option<Arc<Development>>,
    /// where the package has the pages of the server itself, as tools/web.sh made them; `None`: they are nowhere
    #[serde(default)]
    pub web: Option<PathBuf>,
    /// names of the limits that are set in any way: an app may change the defaults of the others, but not these
    #[serde(default)]
    pub given: Vec<String>,
    /// most failed requests that are kept; 0 for none
    #[serde(default)]
    pub keep_failed: usize,
    /// how many bytes they may take
    #[serde(default = "keep_failed_size")]
    pub keep_failed_size: f64,
    /// for how long they are kept, in seconds
    #[serde(default = "keep_failed_age")]
    pub keep_failed_age: f64,
    /// names, and paths of JSON, whose values are not kept
    #[serde(default)]
    pub keep_failed_redact: Vec<String>,
    /// the file where jobs are kept; `None`: until the server ends
    #[serde(default)]
    pub jobs_store: Option<PathBuf>,
    /// most that run at once; 0: one fewer than there are workers
    #[serde(default)]
    pub jobs_at_once: usize,
    /// most that are accepted and not over
    #[serde(default = "max_jobs")]
    pub max_jobs: u64,
    /// most bytes that all may take that are kept
    #[serde(default = "max_jobs_size")]
    pub max_jobs_size: f64,
    /// a request that is played again by the only client: what its server knew of the first one
    #[serde(default)]
    pub replays: Option<Replay>,
    /// where spooled bodies and uploads wait
    pub upload_path: PathBuf,
    /// what connections begin with; `None` for cleartext
    #[serde(default)]
    pub tls: Option<TlsSettings>,
    /// bounds
    pub limits: Limits,
}

impl Settings {
    /// The name of a route, or of what is named as one is (`POST /fits`), as clients have its path: that of one of
    /// several apps is below the path of the app.
    pub(crate) fn named(&self, route: &str) -> String {
        let base_path = self.base_path().ok().filter(|path| self.name.is_some() && !path.is_empty());
        match (base_path, route.find('/')) {
            (Some(base_path), Some(at)) => format!("{}{base_path}{}", &route[..at], &route[at..]),
            _ => route.to_owned(),
        }
    }

    /// The policies that hold around any app.
    pub(crate) fn policies(&self) -> impl Iterator<Item = PolicyConfig> {
        let compress = self.compress.then(|| RuleConfig::Compress(CompressConfig::default()));
        let decompress = self.decompress.then(|| RuleConfig::Decompress(DecompressConfig::default()));
        [compress, decompress].into_iter().flatten().map(|rule| PolicyConfig { routes: Vec::new(), rule })
    }

    /// What stands before the paths of the app in those of requests, without a slash at its end; empty when that is
    /// nothing.
    ///
    /// # Errors
    /// What would be right.
    pub fn base_path(&self) -> Result<&str, String> {
        let given = self.base_path.as_deref().unwrap_or_default();
        base_path::read(given).ok_or_else(|| {
            format!(
                "base_path: must be a path such as /app, of letters, digits and -._~ and of 255 bytes at most, not '{}'",
                given.escape_debug()
            )
        })
    }

    /// The path that the app is below, as the settings have it.
    ///
    /// # Errors
    /// A text that says which of them is wrong, and what would be right.
    pub(crate) fn below(&self) -> Result<BasePath, String> {
        let field = self.base_path_field.as_deref();
        if field.is_some() && self.trusted_proxies.is_empty() {
            return Err("base_path_field: is believed of trusted_proxies only, and there are none".to_owned());
        }
        BasePath::new(self.base_path()?, field, self.case_sensitive).map_err(|e| format!("base_path_field: {e}"))
    }

    /// The place for failed requests; `None` when they are not kept.
    ///
    /// # Errors
    /// What is wrong with these settings.
    pub(crate) fn failed_requests(&self) -> Result<Option<Arc<FailedRequests>>, String> {
        let redact = Redact::new(&self.keep_failed_redact).map_err(|e| format!("keep_failed_redact: {e}"))?;
        if self.keep_failed == 0 {
            return Ok(None);
        }
        let age = Duration::try_from_secs_f64(self.keep_failed_age).map_err(|e| format!("keep_failed_age: {e}"))?;
        let bounds = Bounds { most: self.keep_failed, bytes: self.keep_failed_size as u64, age };
        Ok(Some(Arc::new(FailedRequests::new(bounds, redact))))
    }
}

/// What a handler is told of a request that is played again, and cannot be found out: whoever plays it does not have
/// the client's password.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    /// the authenticated client, an object of JSON
    #[serde(default)]
    pub auth: Option<String>,
    /// what the app kept with the client, a text of JSON
    #[serde(default)]
    pub session: Option<String>,
    /// what stood before its path for clients
    #[serde(default)]
    pub base_path: String,
}

/// Which clients get the documentation of the app.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum DocsWanted {
    /// the operator, and clients on this machine when no others can connect
    #[default]
    Auto,
    /// all clients
    #[serde(rename = "true")]
    Yes,
    /// neither the operator nor any client
    #[serde(rename = "false")]
    No,
}

/// What bodies of errors are that the server makes itself.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum ErrorFormat {
    /// what the client wants, as far as it says so, and otherwise what the app's answers are
    #[default]
    Auto,
    /// problem details (RFC 9457)
    Json,
    /// a line of text
    Text,
}

/// As `inst/settings.dcf` has it.
fn max_jobs() -> u64 {
    100_000
}

/// 1 GiB, likewise.
fn max_jobs_size() -> f64 {
    1_073_741_824.0
}

/// 8 MiB: some hundreds of requests with the seeds of their handlers.
fn keep_failed_size() -> f64 {
    8_388_608.0
}

/// A day.
fn keep_failed_age() -> f64 {
    86_400.0
}

fn none() -> String {
    "none".to_owned()
}

/// As many as fit a small machine.
fn cpp_workers() -> usize {
    4
}

/// What the engine needs to know of an app.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct AppConfig {
    /// the routes, in the order of registration
    #[serde(default)]
    pub routes: Vec<RouteConfig>,
    /// the static mounts, in the order of registration
    #[serde(default, rename = "static")]
    pub mounts: Vec<MountConfig>,
    /// whether it has set timers while it was loaded
    #[serde(default)]
    pub timers: bool,
    /// handler for what no route takes, from 1; 0 for none
    #[serde(default)]
    pub not_found: u32,
    /// handler that runs tasks, from 1, and the next one is told what has come of them; 0 for none
    #[serde(default)]
    pub tasks: u32,
    /// the app's own form for errors that the engine answers by itself
    #[serde(default)]
    pub errors: OwnErrorsConfig,
    /// the pools of workers that its routes name, beside the one for all others
    #[serde(default)]
    pub pools: Vec<String>,
    /// what is decided without R: of an app before those of the apps that are mounted in it
    #[serde(default)]
    pub policies: Vec<PolicyConfig>,
    /// what documents it
    #[serde(default)]
    pub openapi: OpenApiConfig,
    /// where a client of the Model Context Protocol at the program's standard streams has its messages answered: the
    /// target of a request
    #[serde(default)]
    pub mcp: Option<String>,
}

impl AppConfig {
    /// Whether requests go where they go in the other one. Errors may read otherwise: their function in R may say what
    /// time it is.
    pub fn routes_like(&self, other: &AppConfig) -> bool {
        self.routes == other.routes
            && self.mounts == other.mounts
            && self.not_found == other.not_found
            && self.tasks == other.tasks
            && self.policies == other.policies
            && self.pools == other.pools
    }

    /// How many pools of workers it has.
    pub fn count_of_pools(&self) -> u8 {
        self.pools.len().min(MOST_POOLS - 1) as u8 + 1
    }

    /// The name of one of them; `None` for that of requests that name no other.
    pub fn name_of_pool(&self, pool: u8) -> Option<&str> {
        self.pools.get(usize::from(pool.checked_sub(1)?)).map(String::as_str)
    }

    /// Whether any of its handlers is in C.
    pub fn has_c_handlers(&self) -> bool {
        self.routes.iter().any(|route| route.runs != Runs::R)
    }

    /// Whether it does something without being asked, as jobs and timers are.
    pub fn acts_by_itself(&self) -> bool {
        self.timers || self.routes.iter().any(|route| route.job.is_some())
    }

    /// Whether visitors have sessions in it, of which each may have a worker of its own.
    pub fn has_sessions(&self) -> bool {
        self.routes.iter().any(|route| route.websocket.as_ref().is_some_and(|websocket| websocket.is_session))
    }
}

/// The description of the app that R has made when it was loaded.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct OpenApiConfig {
    /// a document of OpenAPI
    #[serde(default)]
    pub json: Option<String>,
    /// whether it says where the app is, see `edge/docs`
    #[serde(default)]
    pub has_servers: bool,
    /// for the log: why there is none
    #[serde(default)]
    pub problem: Option<String>,
}

/// What the app's function for errors has made, when it was loaded, of errors that the engine answers by itself.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct OwnErrorsConfig {
    /// at most two for each status
    #[serde(default)]
    pub answers: Vec<OwnErrorConfig>,
    /// for the log: why there is none for others
    #[serde(default)]
    pub problem: Option<String>,
}

/// The answer to an error.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct OwnErrorConfig {
    /// of the error, which is that of the response
    pub status: u16,
    /// whether it is for clients that accept JSON, or for the others
    pub json: bool,
    /// header fields
    #[serde(default)]
    pub headers: Vec<HeaderConfig>,
    /// the whole body
    pub body: String,
}

/// One route of the app.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RouteConfig {
    /// names of methods, or `ANY`
    pub methods: Vec<String>,
    /// path with placeholders
    pub pattern: String,
    /// index into the app's handlers of its kind, from 1
    pub handler: u32,
    /// what runs it
    #[serde(default)]
    pub runs: Runs,
    /// longest time to the answer in seconds, when it is not the server's
    #[serde(default)]
    pub timeout: Option<f64>,
    /// longest body of a request in bytes, when it is not the server's
    #[serde(default)]
    pub max_body: Option<f64>,
    /// what becomes of its handler when the client has gone, when it is not what the server says
    #[serde(default)]
    pub on_client_gone: Option<OnClientGone>,
    /// links that clients are told of while the handler runs, each the value of a `Link` field
    #[serde(default)]
    pub early_hints: Vec<String>,
    /// whether it is for what neither other routes nor static mounts take
    #[serde(default)]
    pub rest: bool,
    /// how many requests its handler in R takes at a time, where it takes several
    #[serde(default)]
    pub batch: Option<BatchConfig>,
    /// which of the app's pools has its handler's workers, from 1; 0 for the one of all others
    #[serde(default)]
    pub pool: u8,
    /// of a route of jobs: what it is about, and how they are treated
    #[serde(default)]
    pub job: Option<JobConfig>,
    /// what requests have to be like, where the route says so
    #[serde(default)]
    pub types: Option<TypesConfig>,
    /// of a route of WebSockets: `handler` is asked before a client is connected, 0 for none
    #[serde(default)]
    pub websocket: Option<WebSocketConfig>,
}

impl RouteConfig {
    /// What people would call it. Of routes that differ, another one.
    pub(crate) fn name(&self) -> String {
        let kind = if self.websocket.is_some() { "WebSocket " } else { "" };
        format!("{kind}{} {}", self.methods.join("|"), self.pattern)
    }
}

/// What a route of jobs is for, and how jobs of its kind are treated. The numbers are R's; spans are in seconds.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct JobConfig {
    /// what its requests want
    pub part: JobPart,
    /// the method and path of the route that accepts them
    pub kind: String,
    /// whether they are the app's own, and no request asks for any
    #[serde(default)]
    pub private: bool,
    /// how often a job that has failed is tried again
    #[serde(default)]
    pub retries: f64,
    /// before the first such attempt
    #[serde(default)]
    pub backoff: f64,
    /// how long one that is over can be asked for
    #[serde(default)]
    pub keep: f64,
    /// most that run at once, if there is such a bound
    #[serde(default)]
    pub at_once: Option<f64>,
    /// those of kinds with more go first
    #[serde(default)]
    pub priority: f64,
    /// how often there is one by itself, if at all
    #[serde(default)]
    pub every: Option<f64>,
    /// the same as a line of cron
    #[serde(default)]
    pub cron: Option<String>,
    /// the time zone of that line
    #[serde(default)]
    pub tz: Option<String>,
}

/// What is wanted of jobs.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum JobPart {
    /// a new one
    Accept,
    /// how one is
    Show,
    /// what has come of it
    Result,
    /// that it ends
    Cancel,
}

/// How many requests a handler takes at a time. The numbers are R's.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct BatchConfig {
    /// most requests
    pub max_size: f64,
    /// most bytes of all together
    pub max_bytes: f64,
    /// how long the first waits for others, in seconds
    #[serde(default)]
    pub max_wait: f64,
}

/// What is special about a route of WebSockets. Times are in seconds, 0 for no end.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WebSocketConfig {
    /// index into the handlers in R, from 1: what happens on one goes there; 0 when the route's handler, in C, has it
    pub events: u32,
    /// whether it wants to know that one is closed
    #[serde(default)]
    pub on_close: bool,
    /// whether a connection belongs to the worker in R that takes it: its handler says which that is
    #[serde(default)]
    pub is_kept: bool,
    /// whether each is the session of a visitor, which may have a worker of its own
    #[serde(default)]
    pub is_session: bool,
    /// sub-protocols, the preferred one first
    #[serde(default)]
    pub protocols: Vec<String>,
    /// pages that may connect, beside those of the server itself; `None` for all that send no cookies
    #[serde(default)]
    pub origins: Option<Vec<String>>,
    /// whether messages may be compressed
    #[serde(default)]
    pub deflate: bool,
    /// longest message in bytes; `None` for that of a body
    #[serde(default)]
    pub max_message: Option<f64>,
    /// most that may be open; 0 for no limit
    #[serde(default)]
    pub max_conns: f64,
    /// a client that has said nothing for so long is asked whether it is there
    #[serde(default)]
    pub ping_interval: f64,
    /// one without messages ends after so long
    #[serde(default)]
    pub idle_timeout: f64,
    /// every one ends after so long
    #[serde(default)]
    pub max_lifetime: f64,
}

/// What becomes of a handler in R that runs when its client goes. A C handler is told, and decides for itself.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum OnClientGone {
    /// it runs to its end, or to its deadline
    Finish,
    /// it is interrupted
    Interrupt,
}

/// A folder whose files are served under a path.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct MountConfig {
    /// prefix of the path
    pub mount: String,
    /// the folder
    pub dir: String,
    /// whether links are followed that lead out of it: of a package's own files, which may be those of another
    #[serde(default)]
    pub links: bool,
    /// of a router of plumber, which answers otherwise: types of contents by the endings of names
    #[serde(default)]
    pub types: Option<BTreeMap<String, String>>,
}
