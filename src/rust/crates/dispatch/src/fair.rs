//! Requests that wait, in fair order: connections take turns, so that one with a hundred requests, as HTTP/2 allows, does not keep others
//! waiting for all of them. A connection with one request at a time, as every one of HTTP/1.1, waits in the order of coming.

use crate::request::Key;
use std::collections::{HashMap, VecDeque};

/// See the module.
#[derive(Default)]
pub(crate) struct Waiting {
    /// those that a worker gave back: they had their turn
    back: VecDeque<Key>,
    /// connections by their turns, each with the requests that it has in `of`
    turns: VecDeque<u64>,
    of: HashMap<u64, VecDeque<Key>>,
    len: usize,
}

impl Waiting {
    /// One more, of this connection.
    pub(crate) fn push(&mut self, connection: u64, key: Key) {
        let own = self.of.entry(connection).or_default();
        if own.is_empty() {
            self.turns.push_back(connection);
        }
        own.push_back(key);
        self.len += 1;
    }

    /// One that was not to wait any more comes before all others.
    pub(crate) fn give_back(&mut self, key: Key) {
        self.back.push_front(key);
        self.len += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The next one.
    pub(crate) fn front(&self) -> Option<Key> {
        let own = || self.of.get(self.turns.front()?)?.front();
        self.back.front().or_else(own).copied()
    }

    /// Takes the next one.
    pub(crate) fn pop(&mut self) -> Option<Key> {
        let key = self.back.pop_front().or_else(|| self.pop_own())?;
        self.len -= 1;
        Some(key)
    }

    fn pop_own(&mut self) -> Option<Key> {
        let connection = self.turns.pop_front()?;
        let own = self.of.get_mut(&connection)?;
        let key = own.pop_front();
        if own.is_empty() {
            self.of.remove(&connection);
        } else {
            self.turns.push_back(connection);
        }
        key
    }

    /// The oldest of each connection, and of those that were given back.
    pub(crate) fn oldest(&self) -> impl Iterator<Item = Key> + '_ {
        self.back.front().into_iter().chain(self.of.values().filter_map(VecDeque::front)).copied()
    }

    /// It is not wanted any more.
    pub(crate) fn forget(&mut self, key: Key) {
        self.back.retain(|waiting| *waiting != key);
        self.of.retain(|_, own| {
            own.retain(|waiting| *waiting != key);
            !own.is_empty()
        });
        self.turns.retain(|connection| self.of.contains_key(connection));
        self.len = self.back.len() + self.of.values().map(VecDeque::len).sum::<usize>();
    }

    /// All of them.
    pub(crate) fn take_all(&mut self) -> Vec<Key> {
        std::iter::from_fn(|| self.pop()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::keys;

    #[test]
    fn connections_take_turns() {
        let mut waiting = Waiting::default();
        let keys = keys(8);
        for (connection, &key) in [1, 1, 1, 2, 1, 3, 2].into_iter().zip(&keys) {
            waiting.push(connection, key);
        }
        assert_eq!((waiting.len(), waiting.front()), (7, Some(keys[0])));
        assert_eq!(waiting.pop(), Some(keys[0]));
        waiting.give_back(keys[0]);
        assert_eq!(waiting.take_all(), [0, 3, 5, 1, 6, 2, 4].map(|at: usize| keys[at]));
        assert!(waiting.is_empty() && waiting.front().is_none() && waiting.of.is_empty());
    }

    #[test]
    fn what_is_forgotten_keeps_nobody_waiting() {
        let mut waiting = Waiting::default();
        let keys = keys(5);
        for (connection, &key) in [1, 2, 2, 3].into_iter().zip(&keys) {
            waiting.push(connection, key);
        }
        waiting.give_back(keys[4]);
        assert_eq!(waiting.oldest().count(), 4);
        for gone in [0, 1, 4] {
            waiting.forget(keys[gone]);
        }
        assert_eq!(waiting.len(), 2);
        assert_eq!(waiting.take_all(), [keys[2], keys[3]]);
    }
}
