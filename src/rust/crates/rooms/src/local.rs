//! The connections and rooms of one server.
//!
//! Behind one lock, which is held for as long as it takes to find somebody, or to put a message into the mailboxes of a
//! room: what is sent goes out in the tasks of the connections. Messages of one worker thus come in their order,
//! whichever threads have the sockets.

use crate::mailbox::Mailbox;
use crate::names::Names;
use crate::store::{Member, Store};
use exchange::{Packet, Unread};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The name of the next connection.
static NAMED: AtomicU64 = AtomicU64::new(1);

/// Most bytes that may wait for all clients together.
const MOST: usize = 48 << 20;

/// See the module.
pub struct Local {
    inner: Mutex<Inner>,
    unread: Unread,
    most: usize,
}

#[derive(Default)]
struct Inner {
    connections: HashMap<u64, Connection>,
    rooms: BTreeMap<Arc<str>, Room>,
    /// of rooms
    names: Names,
    /// bytes of clients that were given up and have still to go
    going: usize,
}

struct Connection {
    mailbox: Arc<Mailbox>,
    rooms: Vec<Arc<str>>,
    /// bytes that it takes with it, once it was given up
    going: usize,
}

impl Default for Local {
    fn default() -> Self {
        Local::with_room_for(MOST)
    }
}

/// Members, by the order in which they came.
#[derive(Default)]
struct Room {
    came: u64,
    by_turn: BTreeMap<u64, Member>,
    turns: HashMap<u64, u64>,
    names: Names,
}

impl Room {
    fn remove(&mut self, connection: u64) {
        let member = self.turns.remove(&connection).and_then(|turn| self.by_turn.remove(&turn));
        if let Some((_, name)) = member {
            self.names.remove(&name);
        }
    }

    /// Whether it is a member now, under this name.
    fn add(&mut self, connection: u64, name: Arc<str>) -> bool {
        if !self.names.add(&name) {
            return false;
        }
        let turn = *self.turns.entry(connection).or_insert_with(|| {
            self.came += 1;
            self.came
        });
        if let Some((_, before)) = self.by_turn.insert(turn, (connection, name)) {
            self.names.remove(&before);
        }
        true
    }
}

impl Inner {
    fn part(&mut self, connection: u64, room: &str) {
        let Some(members) = self.rooms.get_mut(room) else { return };
        members.remove(connection);
        if members.turns.is_empty() {
            if let Some((name, _)) = self.rooms.remove_entry(room) {
                self.names.remove(&name);
            }
        }
    }

    /// Gives up clients that together hold at least `bytes`, those with the most first.
    fn give_up(&mut self, bytes: usize) {
        let held = |connection: &Connection| connection.mailbox.held();
        let mut holders: Vec<_> = self.connections.values_mut().map(|c| (held(c), c)).filter(|(n, _)| *n > 0).collect();
        holders.sort_unstable_by_key(|(held, _)| Reverse(*held));
        let mut given = 0;
        for (held, connection) in holders {
            if given >= bytes {
                return;
            }
            given += held;
            connection.going = connection.mailbox.give_up();
            self.going += connection.going;
        }
    }
}

impl Local {
    /// At most `most` bytes may wait for all clients together.
    fn with_room_for(most: usize) -> Self {
        Local { inner: Mutex::default(), unread: Unread::default(), most }
    }

    /// What counts the messages that are sent.
    pub fn unread(&self) -> &Unread {
        &self.unread
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // no thread panics while holding it
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After something was sent. When too much waits for all clients, room is made at once for a while.
    fn make_room(&self, inner: &mut Inner) {
        let unread = self.unread.bytes().saturating_sub(inner.going);
        if unread > self.most {
            inner.give_up(unread - self.most + self.most / 4);
        }
    }
}

impl Store for Local {
    fn enter(&self, mailbox: Arc<Mailbox>) -> u64 {
        // unique in the process: a name kept from an earlier server matches no connection here
        let name = NAMED.fetch_add(1, Ordering::Relaxed);
        self.inner().connections.insert(name, Connection { mailbox, rooms: Vec::new(), going: 0 });
        name
    }

    fn leave(&self, connection: u64) {
        let mut inner = self.inner();
        let Some(gone) = inner.connections.remove(&connection) else { return };
        inner.going -= gone.going;
        gone.rooms.iter().for_each(|room| inner.part(connection, room));
    }

    fn send(&self, to: u64, packet: Arc<Packet>) {
        let mut inner = self.inner();
        if let Some(connection) = inner.connections.get(&to) {
            connection.mailbox.send(packet);
            self.make_room(&mut inner);
        }
    }

    fn close(&self, connection: u64, code: u16, reason: &str) {
        if let Some(connection) = self.inner().connections.get(&connection) {
            connection.mailbox.close(code, reason);
        }
    }

    fn join(&self, connection: u64, room: &str, name: &str) -> bool {
        let mut inner = self.inner();
        let inner = &mut *inner;
        let Some(joining) = inner.connections.get_mut(&connection) else { return true };
        let room: Arc<str> = match inner.rooms.get_key_value(room) {
            Some((known, _)) => known.clone(),
            None => room.into(),
        };
        let is_new = !inner.rooms.contains_key(&room);
        if is_new && !inner.names.add(&room) {
            return false;
        }
        let members = inner.rooms.entry(room.clone()).or_default();
        let is_member = members.turns.contains_key(&connection);
        // the first name of a room collides with no other
        let joins = members.add(connection, name.into());
        if joins && !is_member {
            joining.rooms.push(room);
        }
        joins
    }

    fn part(&self, connection: u64, room: &str) {
        let mut inner = self.inner();
        if let Some(known) = inner.connections.get_mut(&connection) {
            known.rooms.retain(|joined| **joined != *room);
            inner.part(connection, room);
        }
    }

    fn broadcast(&self, room: &str, packet: Arc<Packet>, except: u64) -> usize {
        let mut inner = self.inner();
        let members = inner.rooms.get(room).map(|room| room.turns.keys());
        let members = members.into_iter().flatten().filter(|connection| **connection != except);
        let mailboxes = members.filter_map(|connection| inner.connections.get(connection));
        let reached = mailboxes.map(|connection| connection.mailbox.send(packet.clone())).count();
        self.make_room(&mut inner);
        reached
    }

    fn members(&self, room: &str) -> Vec<Member> {
        self.inner().rooms.get(room).map(|room| room.by_turn.values().cloned().collect()).unwrap_or_default()
    }

    fn rooms(&self) -> Vec<(Arc<str>, usize)> {
        self.inner().rooms.iter().map(|(name, room)| (name.clone(), room.turns.len())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::Outgoing;
    use bytes::Bytes;
    use std::task::{Context, Poll, Waker};

    fn enter(store: &Local) -> (u64, Arc<Mailbox>) {
        let mailbox = Arc::new(Mailbox::new(1000));
        (store.enter(mailbox.clone()), mailbox)
    }

    fn hello() -> Arc<Packet> {
        Arc::new(Packet::new(true, Bytes::from_static(b"hello"), &Unread::default()))
    }

    fn got(mailbox: &Mailbox) -> usize {
        let mut cx = Context::from_waker(Waker::noop());
        std::iter::from_fn(|| match mailbox.poll(&mut cx) {
            Poll::Ready(Outgoing::Message(_)) => Some(()),
            _ => None,
        })
        .count()
    }

    fn names(store: &Local, room: &str) -> Vec<String> {
        store.members(room).iter().map(|(_, name)| name.to_string()).collect()
    }

    #[test]
    fn messages_go_to_one_or_to_a_room() {
        let store = Local::default();
        let (a, of_a) = enter(&store);
        let (b, of_b) = enter(&store);
        assert_ne!(a, b);
        store.send(a, hello());
        store.send(99, hello());
        assert_eq!((got(&of_a), got(&of_b)), (1, 0));
        store.join(a, "x", "");
        store.join(b, "x", "");
        store.join(b, "x", "");
        assert_eq!(store.broadcast("x", hello(), 0), 2);
        assert_eq!((got(&of_a), got(&of_b)), (1, 1));
        assert_eq!(store.broadcast("x", hello(), a), 1);
        assert_eq!((got(&of_a), got(&of_b)), (0, 1));
        assert_eq!(store.broadcast("y", hello(), 0), 0);
        store.part(a, "x");
        assert_eq!(store.broadcast("x", hello(), 0), 1);
    }

    #[test]
    fn members_are_listed_as_they_came_and_go_with_their_connections() {
        let store = Local::default();
        let [a, b, c] = [(); 3].map(|()| enter(&store).0);
        for (connection, name) in [(b, "Bea"), (a, "Ann"), (c, "Cem")] {
            store.join(connection, "x", name);
        }
        store.join(a, "y", "");
        store.join(b, "x", "Bob");
        assert_eq!(names(&store, "x"), ["Bob", "Ann", "Cem"]);
        assert_eq!(store.rooms(), [("x".into(), 3), ("y".into(), 1)]);
        store.leave(a);
        store.join(a, "x", "again");
        assert_eq!(names(&store, "x"), ["Bob", "Cem"]);
        assert_eq!(store.rooms(), [("x".into(), 2)]);
        store.leave(b);
        store.leave(c);
        assert!(store.rooms().is_empty() && store.inner().connections.is_empty());
        assert!(store.inner().rooms.is_empty());
    }

    #[test]
    fn names_that_collide_in_r_are_refused_and_nobody_else() {
        // "Ab" and "BA" have one hash in R
        let block = |bit: u32| if bit == 0 { "Ab" } else { "BA" };
        let built: Vec<String> = (0..64_u32).map(|bits| (0..6).map(|i| block(bits >> i & 1)).collect()).collect();
        let store = Local::default();
        let clients = [(); 64].map(|()| enter(&store).0);
        let joined = clients.iter().zip(&built).filter(|(client, name)| store.join(**client, "x", name)).count();
        assert_eq!((joined, store.members("x").len()), (32, 32));
        assert!(store.join(clients[63], "x", "Ann") && store.join(clients[62], "x", &built[0]));
        assert!(!store.join(clients[63], "x", &built[63]), "nor by another name later");
        assert_eq!(names(&store, "x").iter().filter(|name| *name == "Ann").count(), 1);
        // one that leaves, or takes another name, makes room for one
        store.leave(clients[1]);
        assert!(store.join(clients[63], "x", &built[63]) && !store.join(clients[61], "x", &built[61]));
        // rooms are listed too
        let opened = built.iter().filter(|room| store.join(clients[0], room, "")).count();
        assert_eq!((opened, store.rooms().len()), (32, 33));
        clients.iter().for_each(|client| store.leave(*client));
        assert!(store.join(enter(&store).0, &built[63], ""));
    }

    #[test]
    fn those_who_hold_most_are_given_up_when_all_hold_too_much() {
        let store = Local::with_room_for(1000);
        let say = |to, len| store.send(to, Arc::new(Packet::new(false, vec![0; len].into(), store.unread())));
        let clients = [(); 4].map(|()| enter(&store));
        let is_over = |mailbox: &Mailbox| mailbox.poll_over(&mut Context::from_waker(Waker::noop())).is_ready();
        for ((name, _), len) in clients.iter().zip([100, 400, 10, 200]) {
            say(*name, len);
        }
        let of_socket = clients[1].1.poll(&mut Context::from_waker(Waker::noop()));
        assert!(of_socket.is_ready());
        assert!(clients.iter().all(|(_, mailbox)| !is_over(mailbox)));
        say(clients[0].0, 100);
        assert_eq!(clients.each_ref().map(|(_, mailbox)| is_over(mailbox)), [false, true, false, false]);
        // its bytes stay counted until it has gone, and no other client is given up for them
        say(clients[2].0, 10);
        assert_eq!(clients.iter().filter(|(_, mailbox)| is_over(mailbox)).count(), 1);
        clients.iter().for_each(|(name, _)| store.leave(*name));
        assert_eq!(store.inner().going, 0);
        drop((clients, of_socket));
        assert_eq!(store.unread().bytes(), 0);
    }

    #[test]
    fn a_message_to_many_counts_once() {
        let store = Local::with_room_for(1000);
        let clients = [(); 20].map(|()| enter(&store));
        assert!(clients.iter().all(|(name, _)| store.join(*name, "x", "")));
        let packet = Arc::new(Packet::new(false, vec![0; 900].into(), store.unread()));
        assert_eq!(store.broadcast("x", packet, 0), 20);
        assert!(clients.iter().all(|(_, mailbox)| got(mailbox) == 1));
    }
}
