//! Ends what takes too long: one task for each I/O thread looks at all its connections now and then, and has the
//! service look at its requests, so that a request costs no timer. It sleeps while there is nothing to look at.

use crate::connection::{Connection, Directive};
use crate::service::Service;
use crate::shared::Shared;
use crate::{new_connections, registry};
use admission::ms;
use exchange::now;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks while requests are out: deadlines are met within this.
const FAST: Duration = Duration::from_millis(25);
/// Between two looks while there are only connections.
const SLOW: Duration = Duration::from_millis(250);
/// Looks without a request out before slowing down.
const LOOKS_BEFORE_SLOW: u32 = 40;
/// Looks without a request out before memory may be given back.
const LOOKS_BEFORE_GIVING_BACK: u32 = 8;

/// A connection that was told to end, and has no request, gets this many ms to do so.
const DRAIN_FOR: u64 = 1000;
/// When the server ends, a connection is kept for this many ms after its last answer: the client's next request may be
/// under way, and gets its answer with the news that it is the last one.
const LAST_CALL: u64 = 250;

/// When what bodies and responses hold is scarce, those that stall get this part of their time.
const HURRIED: u64 = 5;
/// Memory counts as scarce when HTTP/2 responses of a thread that wait to be taken exceed this many bytes.
const MOST_WAITING: usize = 32 << 20;

/// Once this many connections have ended, their memory is worth giving back.
const WORTH_GIVING_BACK: usize = 256;

/// A look takes in this many connections at least, and no less than the share of all that makes a whole round in
/// [`SLOW`]: ten thousand of them, each a few cache lines that nothing else needs, are too many to look at as often as
/// deadlines of requests want.
const SHARE: usize = 256;

/// After this many tasks that it has woken, a look lets others have their turn. Clients that have come together are
/// late together, and each end costs as much as a request: a few hundred in a row are milliseconds.
const WOKEN_AT_ONCE: u32 = 16;

thread_local! {
    static DRAINING: Cell<bool> = const { Cell::new(false) };
}

/// The server ends: connections of this thread end when they have nothing under way. HTTP/2 has a way to say so without
/// losing a request that is on its way.
pub fn drain() {
    DRAINING.set(true);
    new_connections::rest(0);
    registry::with_all(|all| {
        for (_, connection) in all.iter().filter(|(_, c)| c.is_to_be_told()) {
            connection.give(Directive::Drain);
        }
    });
    registry::watch_closely();
}

/// The task. Runs as long as its thread.
pub async fn run(server: Arc<Shared>, service: Arc<dyn Service>) {
    let wake = registry::wake();
    let mut look = Look { server, next: 0, waiting: 0, waited: 0 };
    let mut calm = 0;
    let mut ended = 0;
    let server = look.server.clone();
    let memory = &server.memory;
    memory.wakes();
    loop {
        new_connections::rest(if DRAINING.get() { 0 } else { ms(look.server.limits.keep_alive) });
        let busy = service.expire();
        calm = if busy { 0 } else { calm + 1 };
        let slow = calm >= LOOKS_BEFORE_SLOW && !DRAINING.get();
        registry::watch_slowly(slow);
        let end = look.begin(slow);
        while look.go_on(end) {
            tokio::task::yield_now().await;
        }
        // the allocator keeps what a crowd of connections needed: when the crowd is gone, its memory goes back; what a
        // few long requests have needed, within a while
        let going = registry::ended() - std::mem::replace(&mut ended, registry::ended());
        let crowd = calm >= LOOKS_BEFORE_GIVING_BACK && going == 0 && ended >= WORTH_GIVING_BACK;
        if crowd {
            registry::give_back();
            new_connections::give_back();
            ended = 0;
        }
        if memory.is_due(now()) || crowd {
            service.give_back(crowd);
        }
        if !slow {
            tokio::time::sleep(FAST).await;
        } else if new_connections::is_empty()
            && registry::with_all(|all| all.is_empty())
            && registry::ended() < WORTH_GIVING_BACK
        {
            if memory.sleeps() {
                service.give_back(false);
            }
            wake.notified().await;
            memory.wakes();
            calm = 0;
        } else if tokio::time::timeout(SLOW, wake.notified()).await.is_ok() {
            calm = 0;
        }
    }
}

struct Look {
    server: Arc<Shared>,
    /// the place to go on from
    next: usize,
    /// bytes of responses that wait to be taken, in this round so far and in all of the one before
    waiting: usize,
    waited: usize,
}

impl Look {
    /// Begins a look at all connections, or at a share of them. Gives the place where it ends.
    fn begin(&mut self, all: bool) -> usize {
        let places = registry::with_all(|connections| connections.capacity());
        if all || self.next >= places {
            self.next = 0;
            self.waited = std::mem::take(&mut self.waiting);
        }
        let share = (places / (SLOW.as_millis() / FAST.as_millis()) as usize).max(SHARE);
        if all {
            places
        } else {
            self.next + share
        }
    }

    /// Goes on with a look. `false` when it is over, and `true` when others are to have their turn first.
    fn go_on(&mut self, end: usize) -> bool {
        let now = now();
        let scarce = self.server.budget.is_scarce() || self.waited > MOST_WAITING;
        registry::with_all(|connections| {
            let mut woken = 0;
            while self.next < end && woken < WOKEN_AT_ONCE {
                woken += connections.get(self.next).map_or(0, |connection| self.look_at(connection, now, scarce));
                self.next += 1;
            }
            self.next < end.min(connections.capacity())
        })
    }

    /// Gives how many tasks it has woken.
    fn look_at(&mut self, c: &Connection, now: u64, scarce: bool) -> u32 {
        let limits = &self.server.limits;
        let patience = |seconds| ms(seconds) / if scarce { HURRIED } else { 1 };
        let mut woken = 0;
        let mut wakes = |is_woken: bool| woken += u32::from(is_woken);
        c.has_stayed();
        if c.head_for(now).is_some_and(|t| t > self.patience_with_head(c, scarce)) {
            wakes(c.give(Directive::HeaderTimeout));
        }
        if c.write_blocked_for(now).is_some_and(|t| t > patience(limits.write_timeout)) {
            wakes(c.give(Directive::WriteTimeout));
        }
        c.for_each_transfer(|transfer| {
            wakes(transfer.check_body(now, patience(limits.body_timeout), limits.min_body_rate));
            wakes(transfer.check_response(now, patience(limits.write_timeout)));
            wakes(transfer.check_linger(now));
            self.waiting += transfer.waiting();
        });
        let keep_alive = if DRAINING.get() { LAST_CALL } else { ms(limits.keep_alive) };
        if let Some(idle) = c.idle_for(now) {
            if c.directive() == Directive::Drain && idle > DRAIN_FOR {
                wakes(c.give(Directive::Close));
            } else if idle > keep_alive {
                wakes(c.give(Directive::Drain));
            }
        }
        woken
    }
}

impl Look {
    /// How many ms a header section may take. A handshake has the same, less when there are too many, and little when
    /// the server ends: its client has sent no request yet.
    fn patience_with_head(&self, c: &Connection, scarce: bool) -> u64 {
        let most = ms(self.server.limits.header_timeout) / if scarce { HURRIED } else { 1 };
        match &self.server.tls {
            Some(tls) if c.tls().is_none() => {
                let most = if tls.is_crowded() { most / HURRIED } else { most };
                if DRAINING.get() {
                    most.min(DRAIN_FOR)
                } else {
                    most
                }
            }
            _ => most,
        }
    }
}

/// Looks at one connection, now.
#[cfg(feature = "fuzzing")]
pub fn look(server: &Arc<Shared>, connection: &Connection) {
    let scarce = server.budget.is_scarce();
    Look { server: server.clone(), next: 0, waiting: 0, waited: 0 }.look_at(connection, now(), scarce);
}

#[cfg(test)]
mod tests;
