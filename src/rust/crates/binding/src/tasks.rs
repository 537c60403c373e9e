//! Tasks of `dr_async()`: what R wants another worker to run. `src/tasks.c` calls this; what comes of one is a request.

use crate::link::Link;
use crate::node::Str;
use crate::request::Cell;
use crate::shield::shield;
use wire::task::{Task, LONGEST_TASK};

/// Has a task run for the request of `cell`, or for none. `timeout` in ms; 0 for as long as the request may take. The
/// task's number, from 1; 0 when there is no server, -1 when the call is too long, -2 when the request was answered.
///
/// # Safety
/// `link` is live, `cell` is live or null; the call is C's for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_task_say(link: *mut Link, cell: *const Cell, timeout: f64, call: Str) -> f64 {
    // SAFETY: the caller's.
    let (link, cell, call) = unsafe { (&mut *link, cell.as_ref(), call.as_bytes()) };
    shield(0.0, || {
        if call.len() > LONGEST_TASK {
            return -1.0;
        }
        let request = match cell.map(Cell::job) {
            Some(Some(job)) => job.to_word(),
            Some(None) => return -2.0,
            None => 0,
        };
        link.tasks += 1;
        let (number, route) = (link.tasks, (link.rules.routes.len() - 2) as u32);
        let mut message = Vec::with_capacity(call.len() + 64);
        Task { number, route, request, timeout: timeout as u64, call }.encode(&mut message);
        if link.worker.say(&message, false) {
            number as f64
        } else {
            0.0
        }
    })
}
