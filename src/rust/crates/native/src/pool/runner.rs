//! What a thread of the pool does: it takes a job, has its handler run, and looks for the next one.

use super::queue::Job;
use super::Inner;
use crate::draft::Draft;
use crate::received::Received;
use crate::registry::{self, Callee};
use crate::shared::Shared;
use crate::{api, guard, hold, stream, unary};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

impl Inner {
    /// What the thread `me` does, until the end.
    pub(super) fn serve(self: &Arc<Self>, me: usize) {
        let mut queue = self.queue();
        hold::on_this_thread(queue.late(me));
        let mut last_ended = None;
        while !queue.is_stopping() {
            let Some(begun) = queue.take(me) else {
                let held = queue.held(me);
                if !held.is_empty() {
                    drop(queue);
                    held.iter().for_each(|sink| sink.notify());
                    queue = self.queue();
                    continue;
                }
                let bed = queue.sleep(me);
                let woken = bed.wait_while(queue, |queue| !queue.is_called(me) && !queue.is_stopping());
                queue = woken.unwrap_or_else(PoisonError::into_inner);
                last_ended = None;
                continue;
            };
            let wake = queue.wake();
            let rest = self.look_after(&mut queue, wake);
            drop(queue);
            rest.finish();
            begun.notify.iter().for_each(|sink| sink.notify());
            let handler = begun.job.handler;
            // in a row, the end of one is the beginning of the next: a look at the clock is not for nothing
            let began = last_ended.take().filter(|_| begun.notify.is_empty()).unwrap_or_else(Instant::now);
            // a panic is a bug of ours; its message was printed, and the sink that was dropped tells the client
            let _ = catch_unwind(AssertUnwindSafe(|| self.run(begun.job, begun.holds, began)));
            let ended = Instant::now();
            let took = ended.duration_since(began);
            last_ended = Some(ended);
            if let Some(entry) = self.registry.entry(handler) {
                entry.pace.took(took);
            }
            queue = self.queue();
            let notify = queue.done(me, took);
            if !notify.is_empty() {
                drop(queue);
                notify.iter().for_each(|sink| sink.notify());
                drop(notify);
                last_ended = None;
                queue = self.queue();
            }
        }
        let held = queue.held(me);
        queue.ended();
        drop(queue);
        held.iter().for_each(|sink| sink.notify());
        self.ended.notify_all();
    }

    /// Runs a handler. `holds`: its answer need not be told at once.
    fn run(&self, Job { handler, message, received, sink }: Job, holds: bool, began: Instant) {
        if !sink.start() {
            return;
        }
        let Some(entry) = self.registry.entry(handler) else {
            sink.answer(registry::unknown());
            return;
        };
        if matches!(entry.callee, Callee::Ws(_) | Callee::Socket(_)) {
            sink.answer(registry::no_requests());
            return;
        }
        let request = match Received::new(message) {
            Ok(request) => request,
            Err(e) => {
                sink.answer(registry::failed(&format!("its request cannot be read: {e}")));
                return;
            }
        };
        if let Callee::Unary(function) = entry.callee {
            let answer = unary::call(function, entry, request.request());
            let _held = holds.then(|| hold::answers_of(&sink));
            hold::answer(&sink, answer);
            return;
        }
        let shared =
            Shared::new(self.registry.clone(), handler, request, sink.clone(), Draft::default(), [received, began]);
        match entry.callee {
            Callee::Stream(function) => stream::call(function, entry, &shared),
            Callee::Drover(function) => {
                let held = holds.then(|| hold::answers_of(&sink));
                // SAFETY: function and data are those of one spec; the address is good until the call returns, and
                // longer.
                let outcome = unsafe { guard::handler(function, shared.address(), &api::TABLE, entry.data()) };
                drop(held);
                if shared.returned(outcome) {
                    sink.yielded();
                }
            }
            // dealt with above
            Callee::Unary(_) | Callee::Ws(_) | Callee::Socket(_) => {}
        }
    }
}
