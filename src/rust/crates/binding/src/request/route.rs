//! What the worker knows of a route: its handler, and what its params are called.

use router::{ParamType, Pattern};

/// What the worker knows of a route.
#[derive(Debug)]
pub struct RouteInfo {
    /// index into the app's handlers, from 1
    pub handler: u32,
    /// of WebSockets: the same for what happens on them
    pub events: u32,
    pub(super) pattern: String,
    pub(super) params: Vec<(String, ParamType)>,
}

impl RouteInfo {
    /// The route with this pattern.
    pub fn new(pattern: &str, handler: u32, events: u32) -> Result<Self, String> {
        let parsed = Pattern::parse(pattern).map_err(|e| e.to_string())?;
        let params = parsed.params().iter().map(|p| (p.name.clone(), p.kind)).collect();
        Ok(RouteInfo { handler, events, pattern: pattern.to_owned(), params })
    }

    /// Whether the pattern has placeholders.
    pub fn has_params(&self) -> bool {
        !self.params.is_empty()
    }
}
