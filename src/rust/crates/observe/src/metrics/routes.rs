//! Which routes are told apart. A route is known by its pattern, never by a path, so that clients cannot make one up;
//! the first [`MOST_ROUTES`] patterns of a server have a place each, for as long as it lives, and all others share one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Patterns with a place of their own. 200 of them are some 14,000 time series when all have been asked for.
pub const MOST_ROUTES: usize = 200;

/// What requests count for that have no pattern, before the patterns. None of them can be a pattern.
const SPECIAL: [&str; 6] = ["(none)", "(invalid)", "(server)", "(files)", "(not found)", "(other)"];
pub(super) const MOST_CELLS: usize = SPECIAL.len() + MOST_ROUTES;

/// The place of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route(u16);

impl Route {
    /// no route took it, or it was refused before it was routed
    pub const NONE: Route = Route(0);
    /// no request could be made of its bytes
    pub const INVALID: Route = Route(1);
    /// the server's own pages
    pub const SERVER: Route = Route(2);
    /// static files
    pub const FILES: Route = Route(3);
    /// the app's handler for what no route takes
    pub const NOT_FOUND: Route = Route(4);
    /// patterns without a place of their own
    pub const OTHER: Route = Route(5);

    pub(super) fn index(self) -> usize {
        self.0.into()
    }

    /// As a number, for where only numbers can be kept.
    pub fn number(self) -> u16 {
        self.0
    }

    /// The route of a number that [`Route::number`] gave.
    pub fn of_number(number: u16) -> Self {
        Route(number)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Routes(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    places: HashMap<Arc<str>, Route>,
    /// in the order of their places
    patterns: Vec<Arc<str>>,
}

impl Routes {
    /// The place of a pattern. For loading apps, not for requests.
    pub fn place(&self, pattern: &str) -> Route {
        let mut known = self.known();
        if let Some(place) = known.places.get(pattern) {
            return *place;
        }
        if known.patterns.len() == MOST_ROUTES {
            return Route::OTHER;
        }
        let place = Route((SPECIAL.len() + known.patterns.len()) as u16);
        let pattern = Arc::<str>::from(pattern);
        known.places.insert(pattern.clone(), place);
        known.patterns.push(pattern);
        place
    }

    /// The pattern of a place; `None` for those that have none.
    pub fn pattern(&self, place: Route) -> Option<Arc<str>> {
        self.known().patterns.get(place.index().checked_sub(SPECIAL.len())?).cloned()
    }

    /// The name of a place.
    pub fn name(&self, route: Route) -> String {
        match SPECIAL.get(route.index()) {
            Some(name) => (*name).to_owned(),
            None => self.pattern(route).map(|pattern| pattern.to_string()).unwrap_or_default(),
        }
    }

    /// The names of all places that are taken, in order.
    pub(super) fn names(&self) -> Vec<Arc<str>> {
        let special = SPECIAL.iter().map(|name| Arc::from(*name));
        special.chain(self.known().patterns.iter().cloned()).collect()
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_keeps_its_place_and_those_beyond_the_bound_share_one() {
        let routes = Routes::default();
        let first = routes.place("/a");
        assert_eq!((routes.place("/a"), routes.names().last().map(|name| &**name)), (first, Some("/a")));
        for i in 1..MOST_ROUTES {
            assert_ne!(routes.place(&format!("/{i}")), Route::OTHER);
        }
        assert_eq!((routes.place("/beyond"), routes.place("/a")), (Route::OTHER, first));
        assert_eq!(routes.names().len(), MOST_CELLS);
        assert_eq!(&*routes.names()[Route::OTHER.index()], "(other)");
        assert_eq!((routes.pattern(first).as_deref(), routes.pattern(Route::OTHER)), (Some("/a"), None));
    }
}
