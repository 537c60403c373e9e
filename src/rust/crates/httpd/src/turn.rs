//! Turns: what a connection may do before others have theirs, and the service's own.

use crate::service::Service;
use std::cell::{Cell, OnceCell};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;
use std::time::{Duration, Instant};

/// The service has a turn when the thread has had no pause for this long: no request waits for a handler because
/// connections keep the thread busy. Not sooner: a service that is given fifty requests at once wakes its handlers
/// once.
const BETWEEN: Duration = Duration::from_micros(400);

/// Turns of connections between two looks at the clock, so that these cost next to nothing.
const LOOK_AFTER: u32 = 16;

thread_local! {
    static SERVICE: OnceCell<Arc<dyn Service>> = const { OnceCell::new() };
    static TURNS: Cell<u32> = const { Cell::new(0) };
    /// when it was first seen that the thread had no pause
    static BUSY_SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// From now on, this thread's turns are those of this service.
pub fn open(service: Arc<dyn Service>) {
    SERVICE.with(|own| drop(own.set(service)));
}

/// A connection has a turn.
pub fn begin() {
    let turns = TURNS.get() + 1;
    TURNS.set(turns % LOOK_AFTER);
    if turns == LOOK_AFTER {
        look(Instant::now());
    }
}

fn look(now: Instant) {
    let Some(since) = BUSY_SINCE.get() else { return BUSY_SINCE.set(Some(now)) };
    if now - since < BETWEEN {
        return;
    }
    BUSY_SINCE.set(Some(now));
    SERVICE.with(|service| {
        if let Some(service) = service.get() {
            service.turn();
        }
    });
}

/// The thread has paused, and the service has seen to what it has to.
pub fn paused() {
    TURNS.set(0);
    BUSY_SINCE.set(None);
}

/// The task goes on when others have had their turn, and sockets have been looked at. A task that wakes itself is only
/// put behind those that are ready, and the runtime polls hundreds of them before it looks at a socket again.
pub fn give_way(cx: &mut Context<'_>) {
    let turn = pin!(tokio::task::yield_now());
    if turn.poll(cx).is_ready() {
        // outside of a runtime
        cx.waker().wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Incoming;
    use crate::connection::Connection;
    use crate::head::Head;
    use crate::response::Failure;
    use crate::service::Answering;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[derive(Default)]
    struct Counting(AtomicU32);

    impl Service for Counting {
        fn answer(&self, _: Head, _: Incoming, _: Arc<Connection>) -> Answering {
            Answering::Now(None)
        }

        fn refused(&self, _: &Connection, _: u64, _: &Failure) {}

        fn expire(&self) -> bool {
            false
        }

        fn turn(&self) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn the_service_has_its_turn_while_the_thread_has_no_pause() {
        let service = Arc::new(Counting::default());
        open(service.clone());
        (0..LOOK_AFTER).for_each(|_| begin());
        assert!(BUSY_SINCE.replace(None).is_some(), "it looks at the clock");
        let start = Instant::now();
        (0..=12).for_each(|i| look(start + i * BETWEEN / 4));
        assert_eq!(service.0.load(Relaxed), 3);
        for i in 13..25 {
            look(start + i * BETWEEN / 4);
            paused();
        }
        assert_eq!(service.0.load(Relaxed), 3);
    }
}
