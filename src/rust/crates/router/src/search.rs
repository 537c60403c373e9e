//! One question to the router while it is being answered: which routes matched so far, and what follows from them.

use crate::{Method, MethodSet};

/// No route: larger than the index of any.
const NONE: u32 = u32::MAX;

/// A route where its pattern ends. Indices are the order of registration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) route: u32,
    pub(crate) methods: MethodSet,
}

impl End {
    /// What a route for these methods has at paths that it matches. One for `OPTIONS` alone that is a `catch_all`
    /// answers pre-flights, and says nothing of which paths there are: none.
    fn methods_there(&self, catch_all: bool) -> MethodSet {
        if catch_all && self.methods == Method::Options.into() {
            MethodSet::NONE
        } else {
            self.methods
        }
    }
}

/// What the routes that match a path come to.
pub(crate) enum Found {
    /// the first registered one that takes the method
    Route(u32),
    /// none takes it; these methods have one
    Methods(MethodSet),
}

/// The state of one search.
pub(crate) struct Search {
    method: Method,
    /// the first route that takes the method
    best: u32,
    /// the first route that takes `GET`, when the method is `HEAD`
    get: u32,
    /// the methods of all matching routes; complete when there is no `best`
    methods: MethodSet,
}

impl Search {
    pub(crate) fn new(method: Method) -> Search {
        Search { method, best: NONE, get: NONE, methods: MethodSet::NONE }
    }

    /// Takes note of routes that match, as catch-alls or without.
    pub(crate) fn consider(&mut self, ends: &[End], catch_all: bool) {
        for end in ends {
            self.methods |= end.methods_there(catch_all);
            if end.methods.contains(self.method) {
                self.best = self.best.min(end.route);
            } else if self.method == Method::Head && end.methods.contains(Method::Get) {
                self.get = self.get.min(end.route);
            }
        }
    }

    /// Whether routes from `first` on can still change the outcome.
    pub(crate) fn wants(&self, first: u32) -> bool {
        first < self.best
    }

    pub(crate) fn outcome(self) -> Found {
        // a route for HEAD comes before one for GET, whenever it was registered
        let found = if self.best != NONE { self.best } else { self.get };
        if found == NONE {
            Found::Methods(self.methods)
        } else {
            Found::Route(found)
        }
    }
}
