//! How many workers there are for visitors that each have one, beside those for requests.

/// The fewest workers without a session: one for pages, and one for the visitor who comes next.
const FREE: usize = 2;

/// See the module. By default visitors have no workers of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sessions {
    taken: usize,
    most: usize,
}

impl Sessions {
    /// So many workers have a session, and there may be so many workers in all.
    pub fn new(taken: usize, most: usize) -> Self {
        Sessions { taken, most }
    }

    /// Whether visitors have workers of their own.
    pub fn are_apart(&self) -> bool {
        self.most > 0
    }

    /// How many workers there should be, of which so many are for requests.
    pub fn target(&self, for_requests: usize) -> usize {
        if for_requests == 0 && self.taken == 0 {
            // the app rests
            0
        } else if self.are_apart() {
            (for_requests.max(FREE) + self.taken).min(self.most)
        } else {
            for_requests
        }
    }

    /// Of so many workers, those without a session.
    pub fn without(&self, workers: usize) -> usize {
        workers.saturating_sub(self.taken)
    }

    /// How many workers without a session stay, though they are unused: all may go when all are, and the app rests.
    pub fn fewest(&self, all_are_unused: bool) -> usize {
        if self.are_apart() && !(all_are_unused && self.taken == 0) {
            FREE
        } else {
            0
        }
    }

    /// Whether another visitor can have a worker while one is left for pages.
    pub fn have_room(&self) -> bool {
        self.taken + FREE <= self.most
    }

    /// Whether there may be one more worker for requests, beside so many workers in all, where these are `n_max` at
    /// most.
    pub fn may_grow(&self, workers: usize, n_max: usize) -> bool {
        self.without(workers) < n_max && (!self.are_apart() || workers < self.most)
    }

    /// Most processes, those that are ending among them, so that visitors who come and go at once do not pile them up;
    /// one more while a worker is replaced.
    pub fn most_processes(&self) -> usize {
        if self.are_apart() {
            self.most + 1
        } else {
            usize::MAX
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_added_for_visitors_up_to_the_bound() {
        let targets = [0, 1, 5, 6, 7, 9].map(|taken| Sessions::new(taken, 8).target(1));
        assert_eq!(targets, [2, 3, 7, 8, 8, 8]);
        assert_eq!([0, 6, 7, 8].map(|taken| Sessions::new(taken, 8).have_room()), [true, true, false, false]);
        assert_eq!(Sessions::new(2, 8).target(4), 6);
        assert_eq!([Sessions::new(0, 8).fewest(true), Sessions::new(1, 8).fewest(true)], [0, 2]);
        assert_eq!([Sessions::new(0, 8).target(0), Sessions::new(1, 8).target(0)], [0, 3]);
        let sessions = Sessions::new(5, 8);
        assert_eq!((sessions.without(7), sessions.without(3), sessions.most_processes()), (2, 0, 9));
        assert_eq!(
            [(6, 3), (8, 3), (7, 3), (8, 9)].map(|(all, n_max)| sessions.may_grow(all, n_max)),
            [true, false, true, false]
        );
    }

    #[test]
    fn nothing_changes_where_they_have_none_of_their_own() {
        let none = Sessions::default();
        assert_eq!((none.target(1), none.without(4), none.most_processes()), (1, 4, usize::MAX));
        assert_eq!((none.may_grow(3, 3), none.may_grow(2, 3)), (false, true));
    }
}
