//! How long the handlers of an app's routes take, and which of them are short.

use exchange::follow;

/// A handler that is expected to take no longer, in microseconds, is short in any app.
const SHORT: u32 = 10_000;
/// One that takes longer is long in any app.
const LONG: u32 = 100_000;
/// In between those are short that take so much less time than the longest.
const PART: u32 = 16;

/// What is known of a route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Pace {
    /// nothing
    #[default]
    Untried,
    /// its first handler has begun
    Begun,
    /// microseconds that it is expected to take
    Takes(u32),
}

/// See the module. Routes are numbers; the handler for what is not found, `u32::MAX`, is one, too.
#[derive(Debug, Default)]
pub(crate) struct Paces {
    of: Vec<Pace>,
    /// the route that takes longest, and how long that is
    longest: (u32, u32),
}

impl Paces {
    /// Microseconds that a handler of this route is expected to take; `None` before the first.
    pub fn expected(&self, route: u32) -> Option<u32> {
        match self.get(route) {
            Pace::Takes(micros) => Some(micros),
            Pace::Untried | Pace::Begun => None,
        }
    }

    /// Whether it takes far less time than others of the app. Of one that was never called that is assumed, once.
    pub fn is_short(&self, route: u32) -> bool {
        match self.get(route) {
            Pace::Untried => true,
            Pace::Begun => false,
            Pace::Takes(micros) => micros <= self.most(),
        }
    }

    /// What a short one takes at most, in microseconds.
    pub fn most(&self) -> u32 {
        (self.longest.1 / PART).clamp(SHORT, LONG)
    }

    /// A handler of a route begins of which it is not known how long it takes.
    pub fn begins(&mut self, route: u32) {
        let pace = self.entry(route);
        if *pace == Pace::Untried {
            *pace = Pace::Begun;
        }
    }

    /// One took so long.
    pub fn took(&mut self, route: u32, micros: u32) {
        let before = self.expected(route).unwrap_or(micros);
        let takes = follow(before, micros, 100);
        *self.entry(route) = Pace::Takes(takes);
        if takes >= self.longest.1 || route == self.longest.0 {
            self.longest = (route, takes);
        }
    }

    fn index(route: u32) -> usize {
        // the not-found handler, u32::MAX, comes first
        route.wrapping_add(1) as usize
    }

    fn get(&self, route: u32) -> Pace {
        self.of.get(Self::index(route)).copied().unwrap_or_default()
    }

    fn entry(&mut self, route: u32) -> &mut Pace {
        let index = Self::index(route);
        if index >= self.of.len() {
            self.of.resize(index + 1, Pace::Untried);
        }
        &mut self.of[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pause_is_forgiven_and_a_slow_route_is_not() {
        let mut paces = Paces::default();
        assert_eq!(paces.expected(0), None);
        for _ in 0..100 {
            paces.took(0, 3);
        }
        assert_eq!(paces.expected(0), Some(3));
        paces.took(0, 5_000);
        assert!(paces.expected(0).unwrap() < 25);
        for _ in 0..40 {
            paces.took(0, 3);
        }
        assert!(paces.expected(0).unwrap() <= 4);
        for _ in 0..6 {
            paces.took(0, 300_000);
        }
        assert!(paces.expected(0).unwrap() > 200);
        paces.took(u32::MAX, 9);
        assert_eq!((paces.expected(u32::MAX), paces.expected(7)), (Some(9), None));
    }

    #[test]
    fn short_is_what_takes_far_less_than_the_longest() {
        let mut paces = Paces::default();
        let settles = |paces: &mut Paces, route, micros| (0..500).for_each(|_| paces.took(route, micros));
        settles(&mut paces, 1, 60_000);
        settles(&mut paces, 2, 9_000);
        assert_eq!([1, 2].map(|route| paces.is_short(route)), [false, true]);
        settles(&mut paces, 3, 1_000_000);
        assert_eq!([1, 2, 3].map(|route| paces.is_short(route)), [true, true, false]);
        settles(&mut paces, 4, 3_000_000);
        settles(&mut paces, 1, 110_000);
        assert!(!paces.is_short(1), "it is long in any app");
        // the longest has become quicker
        settles(&mut paces, 4, 1_000);
        settles(&mut paces, 1, 60_000);
        assert_eq!((paces.most(), paces.is_short(4)), (SHORT, true));
    }

    #[test]
    fn what_was_never_called_is_taken_for_short_once() {
        let mut paces = Paces::default();
        assert!(paces.is_short(5));
        paces.begins(5);
        assert_eq!((paces.is_short(5), paces.expected(5), paces.is_short(4)), (false, None, true));
        paces.took(5, 80);
        paces.begins(5);
        assert_eq!((paces.is_short(5), paces.expected(5)), (true, Some(80)));
    }
}
