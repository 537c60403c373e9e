//! The last thing on a connection, after an answer that ends it: what the client still sends is read and thrown away.
//! Closing a socket on which something is unread, or comes later, resets the connection, and a reset can overtake the
//! answer: a client that uploads what is refused would see a broken pipe, and not why.
//!
//! Bounded in time (`transfer` has the clock) and, where the client has said how much
//! comes, in bytes. It holds the socket, a place among connections and nothing else. Neighbours: `serve`; `h2::stream`,
//! which does the same for a stream, as that may not be reset either.

use crate::connection::{Connection, Directive};
use crate::registry;
use crate::stream::Stream;
use crate::turn::{self, give_way};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// Bytes that may come beyond those that the client has announced: requests that it had sent before it read the answer.
const UNANNOUNCED: u64 = 4 << 20;
/// No limit in bytes, for callers that do not know how many will come: only the time counts.
pub const AS_LONG_AS_IT_MAY: u64 = u64::MAX;
/// Bytes that are read at a time, and how often before others have their turn.
const AT_ONCE: usize = 16 << 10;
const STEPS: usize = 16;

/// How many bytes may come when the client has announced this many.
pub fn after(announced: Option<u64>) -> u64 {
    announced.map_or(AS_LONG_AS_IT_MAY, |bytes| bytes.saturating_add(UNANNOUNCED))
}

/// Ends the sending side, then reads until the client ends its own, has had its time, or has sent more than `most`
/// bytes. A server that ends does not wait for it.
pub async fn linger(mut stream: Stream, state: &Arc<Connection>, most: u64) {
    if state.server().is_draining() || stream.shutdown().is_err() {
        return;
    }
    let _registered = registry::register(state);
    state.lingers();
    let mut left = most;
    poll_fn(|cx| {
        turn::begin();
        state.set_waker(cx.waker());
        state.transfer.set_waker(cx.waker());
        if state.directive() != Directive::None || state.transfer.has_lingered() {
            return Poll::Ready(());
        }
        // here and not in the task, which would be as large for as long as it waits
        let mut sink = [0; AT_ONCE];
        for _ in 0..STEPS {
            match stream.poll_read(cx, &mut sink) {
                Poll::Ready(Ok(n)) if n > 0 && n as u64 <= left => {
                    left -= n as u64;
                    state.transfer.client_sent();
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => {
                    return stream.watch(cx).map_or(Poll::Ready(()), |()| Poll::Pending);
                }
            }
        }
        give_way(cx);
        Poll::Pending
    })
    .await;
}
