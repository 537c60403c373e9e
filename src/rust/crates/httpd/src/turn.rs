//! Turns: what a connection may do before others have theirs.

use std::future::Future;
use std::pin::pin;
use std::task::Context;

/// The task goes on when others have had their turn, and sockets have been looked at. Who wakes itself is only put behind the tasks that are
/// ready, and the runtime polls hundreds of them before it looks at a socket again.
pub fn give_way(cx: &mut Context<'_>) {
    let turn = pin!(tokio::task::yield_now());
    if turn.poll(cx).is_ready() {
        // outside of a runtime
        cx.waker().wake_by_ref();
    }
}
