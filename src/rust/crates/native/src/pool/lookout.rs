//! A thread that watches the threads that run quick handlers. When a handler lasts, the lookout wakes other threads for
//! the jobs behind it, and reports the answers that its thread holds.

use super::Inner;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How long what waits behind a handler that lasts, waits, and twice that at most. Each look costs a wake-up.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

impl Inner {
    /// What the thread does, until the end.
    pub(super) fn look_out(self: &Arc<Self>) {
        loop {
            let queue = self.queue();
            let asleep = self.watch.wait_while(queue, |queue| !queue.is_watching() && !queue.is_stopping());
            if asleep.unwrap_or_else(PoisonError::into_inner).is_stopping() {
                return;
            }
            std::thread::sleep(BETWEEN_LOOKS);
            let mut queue = self.queue();
            let notify = queue.look();
            let wake = queue.wake();
            let rest = self.look_after(&mut queue, wake);
            drop(queue);
            rest.finish();
            notify.iter().for_each(|sink| sink.notify());
        }
    }
}
