//! The policies of an app, and which of them cover a request. Registered in R for an app, which may be mounted below a
//! path, or for some of its paths; compiled here once, when the app is loaded, to a short list for each route.
//!
//! A policy covers paths, not handlers: below its paths it also covers static files, other routes and paths without an
//! answer. Of policies that contradict each other, such as two lists of origins, the closest one counts: that of a
//! mounted app goes before that of the app around it, and of one app the one that was registered last. Of others, such
//! as limits, all count. Ways to authenticate, for the same paths, are alternatives: they are one policy.

use super::auth::config::AuthConfig;
use super::auth::{Auth, Fetched, Fetching, Oidc, Place};
use super::cache::{Cache, CacheConfig};
use super::compress::{Compress, CompressConfig};
use super::cors::{Cors, CorsConfig};
use super::counts::{Memory, Store, Table};
use super::csrf::{Csrf, CsrfConfig};
use super::decompress::{Decompress, DecompressConfig};
use super::limits::{Key, Limit, LimitConfig};
use super::response_fields::{HeaderConfig, UnlessSet};
use super::session::{Session, SessionConfig};
use observe::Log;
use router::{Pattern, Prefixes, Reach};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::num::NonZeroU32;
use std::sync::Arc;

/// A policy, as an app has registered it.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct PolicyConfig {
    /// patterns: it covers all paths below them; of none, all paths
    #[serde(default)]
    pub routes: Vec<String>,
    /// what it says
    pub rule: RuleConfig,
}

/// What a policy says.
#[derive(Debug, Clone, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RuleConfig {
    /// which pages of other origins may read responses
    Cors(CorsConfig),
    /// how many requests may pass in a time
    RateLimit(LimitConfig),
    /// whose pages may send what changes something
    Csrf(CsrfConfig),
    /// which responses are kept and given again
    Cache(CacheConfig),
    /// which clients may pass
    Auth(AuthConfig),
    /// what is kept with clients
    Session(SessionConfig),
    /// fields of responses, unless a handler sets them
    SecurityHeaders(Vec<HeaderConfig>),
    /// which responses are packed
    Compress(CompressConfig),
    /// which bodies of requests are unpacked
    Decompress(DecompressConfig),
}

/// A policy that is ready to decide.
#[derive(Debug)]
pub enum Policy {
    /// see `cors`
    Cors(Cors),
    /// see `limits`
    Limit(Limit),
    /// see `csrf`
    Csrf(Csrf),
    /// see `cache`
    Cache(Arc<Cache>),
    /// see `auth`
    Auth(Auth),
    /// see `session`
    Session(Session),
    /// see `response_fields`
    UnlessSet(UnlessSet),
    /// see `compress`
    Compress(Compress),
    /// see `decompress`
    Decompress(Decompress),
}

/// Which kind a policy is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cors,
    Csrf,
    Cache,
    Auth,
    Session,
    UnlessSet,
    Compress,
    Decompress,
    /// all of them count, and not only the closest: it is the last one here
    Limit,
}

impl Policy {
    fn kind(&self) -> Kind {
        match self {
            Policy::Cors(_) => Kind::Cors,
            Policy::Limit(_) => Kind::Limit,
            Policy::Csrf(_) => Kind::Csrf,
            Policy::Cache(_) => Kind::Cache,
            Policy::Auth(_) => Kind::Auth,
            Policy::Session(_) => Kind::Session,
            Policy::UnlessSet(_) => Kind::UnlessSet,
            Policy::Compress(_) => Kind::Compress,
            Policy::Decompress(_) => Kind::Decompress,
        }
    }

    /// Whether a closer one of the same kind takes its place.
    fn gives_way_to(&self, closer: &Policy) -> bool {
        self.kind() != Kind::Limit && self.kind() == closer.kind()
    }
}

/// The policies that cover a request, by the numbers of their rules. They are looked for once: paths are compared for
/// that.
#[derive(Debug, Clone, Default)]
pub struct Covering {
    /// of each kind but limits, the closest one
    closest: [Option<Number>; Kind::Limit as usize],
    /// in the order of their registration
    limits: SmallVec<[Number; 2]>,
}

/// Of a rule: its index, and 1.
type Number = NonZeroU32;

#[derive(Debug)]
struct Rule {
    policy: Policy,
    prefixes: Prefixes,
}

/// A rule that a route has.
#[derive(Debug, Clone, Copy)]
struct Entry {
    rule: Number,
    /// whether it covers some paths of the route only
    by_path: bool,
}

/// See the module. Without any, nothing is allocated.
#[derive(Debug, Default)]
pub struct Policies {
    rules: Vec<Rule>,
    /// for each route, the closest first
    of_routes: Vec<Box<[Entry]>>,
    /// the same for requests that no route takes
    of_others: Box<[Entry]>,
    /// the limits among the rules: their indices
    limits: Vec<usize>,
    /// of the limits
    counts: Memory,
    tables: Tables,
    /// those that have paths of their own
    logins: Vec<Arc<Oidc>>,
    fetched: Fetched,
}

/// What policies count in, and how those were registered.
#[derive(Debug, Default)]
struct Tables(Vec<(PolicyConfig, Arc<Table>)>);

impl Tables {
    /// One more, for a policy that was registered like this: that of the app `before`, if there is one, whose counts go
    /// on. Of several policies that are the same, each has its own.
    fn add(&mut self, config: PolicyConfig, of_clients: bool, before: Option<&Tables>) -> Arc<Table> {
        let nth = self.of(&config).count();
        let known = before.and_then(|before| before.of(&config).nth(nth)).cloned();
        let table = known.unwrap_or_else(|| Arc::new(Table::new(of_clients)));
        self.0.push((config, table.clone()));
        table
    }

    fn of<'a>(&'a self, config: &'a PolicyConfig) -> impl Iterator<Item = &'a Arc<Table>> {
        self.0.iter().filter(move |(other, _)| other == config).map(|(_, table)| table)
    }
}

impl Policies {
    /// Those of an app with these routes: names, which no two have, and patterns. Policies that count and are what they
    /// were go on where the app that was served before stopped, and what it has fetched of identity providers is not
    /// fetched again; `log` is for what becomes of that later.
    ///
    /// # Errors
    /// A text that names the policy and what is wrong with it.
    pub fn new(
        configs: &[PolicyConfig],
        routes: &[(String, Pattern)],
        case_sensitive: bool,
        before: Option<&Policies>,
        log: &Log,
    ) -> Result<Self, String> {
        if configs.is_empty() {
            return Ok(Policies::default());
        }
        let (mut fetched, mut logins, mut tables) = (Fetched::default(), Vec::<Arc<Oidc>>::new(), Tables::default());
        let (mut rules, mut limits, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        let tables_before = before.map(|before| &before.tables);
        for (at, config) in configs.iter().enumerate() {
            let policy = match &config.rule {
                RuleConfig::Auth(_) => {
                    let (all, is_last) = alternatives(configs, at);
                    // in the place of the last of them
                    if !is_last {
                        continue;
                    }
                    let before = before.map(|before| &before.fetched);
                    // alternatives have the same routes
                    let table = |auth: &AuthConfig| {
                        let rule = RuleConfig::Auth(auth.clone());
                        tables.add(PolicyConfig { routes: config.routes.clone(), rule }, true, tables_before)
                    };
                    let auth = Auth::new(&all, &mut Fetching { own: &mut fetched, before, log }, table)?;
                    for login in auth.logins() {
                        if logins.iter().any(|other| other.path() == login.path()) {
                            return Err(format!("dr_auth_oidc(): two logins have the path {}", login.path()));
                        }
                        logins.push(login.clone());
                    }
                    Policy::Auth(auth)
                }
                RuleConfig::Cors(cors) => Policy::Cors(Cors::new(cors).map_err(|e| format!("cors: {e}"))?),
                RuleConfig::Csrf(csrf) => Policy::Csrf(Csrf::new(csrf).map_err(|e| format!("csrf: {e}"))?),
                RuleConfig::Cache(cache) => {
                    Policy::Cache(Arc::new(Cache::new(cache).map_err(|e| format!("cache: {e}"))?))
                }
                RuleConfig::Session(session) => {
                    Policy::Session(Session::new(session).map_err(|e| format!("dr_session(): {e}"))?)
                }
                RuleConfig::SecurityHeaders(fields) => {
                    let fields = UnlessSet::new(fields).map_err(|e| format!("security_headers: {e}"))?;
                    Policy::UnlessSet(fields)
                }
                RuleConfig::Compress(compress) => {
                    Policy::Compress(Compress::new(compress).map_err(|e| format!("compress: {e}"))?)
                }
                RuleConfig::Decompress(decompress) => {
                    Policy::Decompress(Decompress::new(decompress).map_err(|e| format!("decompress: {e}"))?)
                }
                RuleConfig::RateLimit(limit) => {
                    let table = tables.add(config.clone(), limit.key != Key::None, tables_before);
                    limits.push(rules.len());
                    counts.push(table.clone());
                    let limit = Limit::new(limit, counts.len() - 1, table, routes);
                    Policy::Limit(limit.map_err(|e| format!("rate_limit: {e}"))?)
                }
            };
            let prefixes = Prefixes::new(config.routes.iter().map(String::as_str), case_sensitive);
            rules.push(Rule { policy, prefixes: prefixes.map_err(|e| e.to_string())? });
        }
        let of_routes = routes.iter().map(|(_, route)| entries(&rules, |rule| rule.prefixes.reach(route))).collect();
        // of any path, the same can be told as of a route that takes all
        let all = Pattern::parse("/*").map_err(|e| e.to_string())?;
        let of_others = entries(&rules, |rule| rule.prefixes.reach(&all));
        Ok(Policies { rules, of_routes, of_others, limits, counts: Memory::new(counts), tables, logins, fetched })
    }

    /// Where requests are counted by limits.
    pub fn store(&self) -> &dyn Store {
        &self.counts
    }

    /// The limit of a number.
    pub fn limit(&self, number: usize) -> Option<&Limit> {
        match &self.rules.get(*self.limits.get(number)?)?.policy {
            Policy::Limit(limit) => Some(limit),
            _ => None,
        }
    }

    /// Whether an app has none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Those that cover a request for a path. `route` is the one that takes it, if one does.
    pub fn covering(&self, route: Option<u32>, raw_path: &str) -> Covering {
        let entries = route.and_then(|route| self.of_routes.get(route as usize)).unwrap_or(&self.of_others);
        let mut covering = Covering::default();
        // the closest ones first
        for entry in entries {
            let rule = self.rule(entry.rule);
            match covering.closest.get_mut(rule.policy.kind() as usize) {
                Some(Some(_)) => {}
                _ if entry.by_path && !rule.prefixes.cover(raw_path) => {}
                Some(closest) => *closest = Some(entry.rule),
                None => covering.limits.push(entry.rule),
            }
        }
        covering.limits.reverse();
        covering
    }

    fn rule(&self, number: Number) -> &Rule {
        &self.rules[number.get() as usize - 1]
    }

    fn closest(&self, covering: &Covering, kind: Kind) -> Option<&Policy> {
        covering.closest[kind as usize].map(|number| &self.rule(number).policy)
    }

    /// The limits that cover a request.
    pub fn limits<'a>(&'a self, covering: &'a Covering) -> impl Iterator<Item = &'a Limit> {
        covering.limits.iter().filter_map(|number| match &self.rule(*number).policy {
            Policy::Limit(limit) => Some(limit),
            _ => None,
        })
    }

    /// The login that a path belongs to, and what it is for there.
    pub fn login(&self, raw_path: &str) -> Option<(&Arc<Oidc>, Place)> {
        self.logins.iter().find_map(|login| Some((login, login.place(raw_path)?)))
    }

    /// All caches.
    pub fn caches(&self) -> impl Iterator<Item = &Arc<Cache>> {
        self.rules.iter().filter_map(|rule| match &rule.policy {
            Policy::Cache(cache) => Some(cache),
            _ => None,
        })
    }
}

/// A method for each kind of which the closest counts.
macro_rules! closest {
    ($($doc:literal $name:ident: $kind:ident($policy:ty)),+) => {
        impl Policies {
            $(
                #[doc = $doc]
                pub fn $name(&self, covering: &Covering) -> Option<&$policy> {
                    match self.closest(covering, Kind::$kind)? {
                        Policy::$kind(policy) => Some(policy),
                        _ => None,
                    }
                }
            )+
        }
    };
}

closest! {
    "The one about pages of other origins." cors: Cors(Cors),
    "The one about requests that other sites' pages send." csrf: Csrf(Csrf),
    "The cache that responses are kept in." cache: Cache(Arc<Cache>),
    "How clients authenticate." auth: Auth(Auth),
    "What is kept with clients." session: Session(Session),
    "Fields that responses have unless they are set." unless_set: UnlessSet(UnlessSet),
    "How responses are packed." compress: Compress(Compress),
    "How bodies of requests are unpacked." decompress: Decompress(Decompress)
}

/// The ways to authenticate that cover the same paths as this one, and whether it is the last of them.
fn alternatives(configs: &[PolicyConfig], at: usize) -> (Vec<&AuthConfig>, bool) {
    let same = configs.iter().enumerate().filter(|(_, other)| other.routes == configs[at].routes);
    let same = same.filter_map(|(at, other)| match &other.rule {
        RuleConfig::Auth(auth) => Some((at, auth)),
        _ => None,
    });
    let (places, all): (Vec<usize>, Vec<&AuthConfig>) = same.unzip();
    (all, places.last() == Some(&at))
}

/// The rules that may cover a request, without those that always give way.
fn entries(rules: &[Rule], reach: impl Fn(&Rule) -> Reach) -> Box<[Entry]> {
    let mut entries: Vec<Entry> = Vec::new();
    for (index, rule) in rules.iter().enumerate().rev() {
        let policy = |entry: &Entry| &rules[entry.rule.get() as usize - 1].policy;
        let gives_way = |entry: &Entry| !entry.by_path && rule.policy.gives_way_to(policy(entry));
        let reach = reach(rule);
        let is_wanted = reach != Reach::Never && !entries.iter().any(gives_way);
        if let Some(rule) = Number::new(index as u32 + 1).filter(|_| is_wanted) {
            entries.push(Entry { rule, by_path: reach == Reach::ByPath });
        }
    }
    entries.into()
}
