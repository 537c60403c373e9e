//! What an app says of its WebSockets. They have a router of their own: a path may have a page, and a WebSocket for it.

use crate::config::{RouteConfig, WebSocketConfig};
use admission::ms_or_never;
use dispatch::Runs;
use httpd::ws::Bounds;
use router::{Match, Method, Params, PathError, Router};
use std::sync::Arc;

/// A route of WebSockets.
pub struct WebSocketRoute {
    /// its index among the routes of the app
    pub number: u32,
    /// names it in any app
    pub pattern: Arc<str>,
    /// as it was registered
    pub config: WebSocketConfig,
    /// what may come on one
    pub bounds: Bounds,
    /// longest time that a handler may take for one thing that happens, in ms
    pub timeout: u64,
    /// what runs the handlers of messages
    pub runs: Runs,
    /// the handler to ask before a client is connected: an index into the handlers of R, or of C; 0 for none
    pub asks: u32,
}

impl WebSocketRoute {
    /// Of a route that has one. `max_body`: longest body of a request there; `of_sessions`: how long a visitor may do
    /// nothing, in seconds.
    pub fn new(number: u32, route: &RouteConfig, timeout: u64, max_body: u64, of_sessions: f64) -> Option<Self> {
        let config = route.websocket.clone()?;
        let ms = |seconds: f64| if seconds > 0.0 { ms_or_never(seconds) } else { u64::MAX };
        let longest = config.max_message.map_or(max_body as usize, |bytes| bytes as usize);
        let bounds = Bounds {
            max_message: longest.min(wire::websocket::LONGEST_MESSAGE),
            ping_interval: ms(config.ping_interval),
            idle_timeout: ms(if config.is_session { of_sessions } else { config.idle_timeout }),
            // a page that shows the time is none that somebody looks at
            counts_sent: !config.is_session,
            max_lifetime: ms(config.max_lifetime),
        };
        let (pattern, runs, asks) = (route.pattern.as_str().into(), route.runs, route.handler);
        Some(WebSocketRoute { number, pattern, config, bounds, timeout, runs, asks })
    }
}

impl WebSocketRoute {
    /// Whether a connection stays with the worker that takes it.
    pub fn is_kept(&self) -> bool {
        self.runs != Runs::R || self.config.is_kept
    }
}

/// Those of an app.
pub struct WebSocketRoutes {
    router: Router,
    all: Vec<Arc<WebSocketRoute>>,
}

impl WebSocketRoutes {
    pub fn new(router: Router, all: Vec<WebSocketRoute>) -> Self {
        WebSocketRoutes { router, all: all.into_iter().map(Arc::new).collect() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The one for a path, if there is one.
    ///
    /// # Errors
    /// When the path cannot be decoded.
    pub fn find<'p>(&self, path: &'p str, params: &mut Params<'p>) -> Result<Option<&Arc<WebSocketRoute>>, PathError> {
        match self.router.find(Method::from_name("GET"), path, params) {
            Match::Found { target, .. } => Ok(self.all.iter().find(|route| route.number == target)),
            Match::BadPath(e) => Err(e),
            _ => Ok(None),
        }
    }

    /// The one with this pattern.
    pub fn with_pattern(&self, pattern: &str) -> Option<&Arc<WebSocketRoute>> {
        self.all.iter().find(|route| *route.pattern == *pattern)
    }
}
