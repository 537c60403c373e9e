//! Requests that wait, in fair order: clients take turns, and so do the connections of a client. A client with many
//! connections, or with a hundred requests on one, as HTTP/2 allows, does not keep others waiting for all of them.
//! Clients with one request at a time wait in the order of arrival.

use crate::request::Key;
use crate::submission::Origin;
use ahash::AHashMap;
use std::collections::VecDeque;

/// See the module.
#[derive(Default)]
pub(crate) struct Waiting {
    /// those that a worker gave back: they had their turn
    back: VecDeque<Key>,
    clients: Turns<Client>,
    len: usize,
}

/// What waits of one client.
#[derive(Default)]
struct Client {
    connections: Turns<VecDeque<Key>>,
    len: usize,
}

impl Client {
    fn pop(&mut self) -> Option<Key> {
        let key = self.connections.take(VecDeque::pop_front, VecDeque::is_empty)?;
        self.len -= 1;
        Some(key)
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All, each with its turn among those of this client, from 0.
    fn all(&self, client: u64) -> Vec<(usize, Origin, Key)> {
        let connections = self.connections.all_in_order();
        let mut all: Vec<_> = connections
            .flat_map(|(connection, own)| {
                own.iter().enumerate().map(move |(turn, key)| (turn, Origin { client, connection }, *key))
            })
            .collect();
        all.sort_by_key(|&(turn, ..)| turn);
        all.iter_mut().enumerate().for_each(|(turn, one)| one.0 = turn);
        all
    }
}

impl Waiting {
    /// One more.
    pub(crate) fn push(&mut self, from: Origin, key: Key) {
        let client = self.clients.of(from.client);
        client.connections.of(from.connection).push_back(key);
        client.len += 1;
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
        let own = || self.clients.first()?.connections.first()?.front();
        self.back.front().or_else(own).copied()
    }

    /// Takes the next one.
    pub(crate) fn pop(&mut self) -> Option<Key> {
        let key = self.back.pop_front().or_else(|| self.clients.take(Client::pop, Client::is_empty))?;
        self.len -= 1;
        Some(key)
    }

    /// The oldest of each connection, and of those that were given back.
    pub(crate) fn oldest(&self) -> impl Iterator<Item = Key> + '_ {
        let connections = self.clients.all().flat_map(|(_, client)| client.connections.all());
        self.back.front().into_iter().chain(connections.filter_map(|(_, own)| own.front())).copied()
    }

    /// All, in turns, and where each comes from.
    pub(crate) fn all(&self) -> Vec<(Origin, Key)> {
        let nobody = Origin { client: 0, connection: 0 };
        let mut all: Vec<_> = self.back.iter().map(|key| (nobody, *key)).collect();
        let mut own: Vec<_> = self.clients.all_in_order().flat_map(|(client, of)| of.all(client)).collect();
        // the first of each, then the second of each
        own.sort_by_key(|&(turn, ..)| turn);
        all.extend(own.into_iter().map(|(_, from, key)| (from, key)));
        all
    }

    /// It is not wanted any more.
    pub(crate) fn forget(&mut self, from: Origin, key: Key) {
        if let Some(at) = self.back.iter().position(|waiting| *waiting == key) {
            self.back.remove(at);
            self.len -= 1;
            return;
        }
        let Some(client) = self.clients.get(from.client) else { return };
        let Some(own) = client.connections.get(from.connection) else { return };
        let Some(at) = own.iter().position(|waiting| *waiting == key) else { return };
        own.remove(at);
        self.len -= 1;
        client.len -= 1;
        client.connections.settle(from.connection, VecDeque::is_empty);
        self.clients.settle(from.client, Client::is_empty);
    }

    /// How many of this client wait.
    pub(crate) fn len_of(&self, client: u64) -> usize {
        self.clients.of.get(&client).map_or(0, |client| client.len)
    }

    /// The client of which most wait, and how many.
    pub(crate) fn longest(&self) -> Option<(u64, usize)> {
        self.clients.all().map(|(name, client)| (name, client.len)).max_by_key(|&(_, len)| len)
    }

    /// The one of this client that would come last: the newest of the connection with most.
    pub(crate) fn last_of(&self, client: u64) -> Option<Key> {
        let connections = self.clients.of.get(&client)?.connections.all();
        connections.max_by_key(|(_, own)| own.len()).and_then(|(_, own)| own.back()).copied()
    }

    /// All of them.
    pub(crate) fn take_all(&mut self) -> Vec<Key> {
        std::iter::from_fn(|| self.pop()).collect()
    }
}

/// Clients or connections that take turns, by their names, each with its own requests.
#[derive(Default)]
struct Turns<T> {
    order: VecDeque<u64>,
    /// hashed quickly, which requests that wait pay for several times, and with keys of this process: a client names
    /// itself by its address
    of: AHashMap<u64, T>,
    /// emptied entries, for the next ones: most come with one request and go with it
    spare: Vec<T>,
}

/// At most this many are kept.
const SPARE: usize = 16;

impl<T: Default> Turns<T> {
    /// The requests of this one; a new one comes last.
    fn of(&mut self, name: u64) -> &mut T {
        self.of.entry(name).or_insert_with(|| {
            self.order.push_back(name);
            self.spare.pop().unwrap_or_default()
        })
    }

    fn get(&mut self, name: u64) -> Option<&mut T> {
        self.of.get_mut(&name)
    }

    /// The requests of the next one.
    fn first(&self) -> Option<&T> {
        self.of.get(self.order.front()?)
    }

    fn all_in_order(&self) -> impl Iterator<Item = (u64, &T)> {
        self.order.iter().filter_map(|name| Some((*name, self.of.get(name)?)))
    }

    fn all(&self) -> impl Iterator<Item = (u64, &T)> {
        self.of.iter().map(|(&name, own)| (name, own))
    }

    /// Takes a request from the next one, which then has the last turn, or none when that was all.
    fn take<R>(&mut self, take: impl FnOnce(&mut T) -> Option<R>, is_empty: impl FnOnce(&T) -> bool) -> Option<R> {
        let name = self.order.pop_front()?;
        let own = self.of.get_mut(&name)?;
        let taken = take(own);
        if is_empty(own) {
            self.remove(name);
        } else {
            self.order.push_back(name);
        }
        taken
    }

    /// Ends the turns of this one if it has nothing left.
    fn settle(&mut self, name: u64, is_empty: impl FnOnce(&T) -> bool) {
        if self.of.get(&name).is_some_and(is_empty) {
            self.order.retain(|other| *other != name);
            self.remove(name);
        }
    }

    fn remove(&mut self, name: u64) {
        if let Some(own) = self.of.remove(&name).filter(|_| self.spare.len() < SPARE) {
            self.spare.push(own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::keys;

    fn from(client: u64, connection: u64) -> Origin {
        Origin { client, connection }
    }

    #[test]
    fn connections_take_turns() {
        let mut waiting = Waiting::default();
        let keys = keys(8);
        for (connection, &key) in [1, 1, 1, 2, 1, 3, 2].into_iter().zip(&keys) {
            waiting.push(from(9, connection), key);
        }
        assert_eq!((waiting.len(), waiting.front()), (7, Some(keys[0])));
        assert_eq!(waiting.pop(), Some(keys[0]));
        waiting.give_back(keys[0]);
        let all: Vec<_> = waiting.all().into_iter().map(|(_, key)| key).collect();
        assert_eq!(all, [0, 3, 5, 1, 6, 2, 4].map(|at: usize| keys[at]));
        assert_eq!(waiting.take_all(), all);
        assert!(waiting.is_empty() && waiting.front().is_none() && waiting.clients.of.is_empty());
    }

    #[test]
    fn clients_take_turns_however_many_connections_they_have() {
        let mut waiting = Waiting::default();
        let keys = keys(7);
        for (origin, &key) in [(1, 1), (1, 2), (1, 3), (1, 3), (2, 4), (2, 4), (3, 5)].into_iter().zip(&keys) {
            waiting.push(from(origin.0, origin.1), key);
        }
        assert_eq!((waiting.len_of(1), waiting.len_of(2), waiting.len_of(4)), (4, 2, 0));
        assert_eq!((waiting.longest(), waiting.last_of(1), waiting.last_of(4)), (Some((1, 4)), Some(keys[3]), None));
        let all: Vec<_> = waiting.all().into_iter().map(|(_, key)| key).collect();
        assert_eq!(all, [0, 4, 6, 1, 5, 2, 3].map(|at: usize| keys[at]));
        assert_eq!(waiting.take_all(), [0, 4, 6, 1, 5, 2, 3].map(|at: usize| keys[at]));
        assert_eq!((waiting.longest(), waiting.len_of(1)), (None, 0));
    }

    #[test]
    fn what_is_forgotten_keeps_nobody_waiting() {
        let mut waiting = Waiting::default();
        let keys = keys(6);
        let origins = [(8, 1), (9, 2), (9, 2), (9, 3)].map(|(client, connection)| from(client, connection));
        for (origin, &key) in origins.into_iter().zip(&keys) {
            waiting.push(origin, key);
        }
        waiting.give_back(keys[4]);
        assert_eq!(waiting.oldest().count(), 4);
        for gone in [0, 1] {
            waiting.forget(origins[gone], keys[gone]);
            waiting.forget(origins[gone], keys[gone]);
        }
        waiting.forget(from(7, 7), keys[4]);
        waiting.forget(from(7, 7), keys[5]);
        assert_eq!((waiting.len(), waiting.len_of(8), waiting.len_of(9)), (2, 0, 2));
        assert_eq!(waiting.take_all(), [keys[2], keys[3]]);
    }

    #[test]
    fn who_comes_again_begins_with_nothing() {
        let mut waiting = Waiting::default();
        let keys = keys(2 * SPARE as u32 + 2);
        for round in 0..2 {
            for (at, &key) in keys.iter().enumerate() {
                waiting.push(from(at as u64, round), key);
            }
            assert_eq!(waiting.take_all(), keys);
        }
        assert_eq!(waiting.clients.spare.len(), SPARE);
    }
}
