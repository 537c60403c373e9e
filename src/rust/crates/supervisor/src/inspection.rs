//! Inspections: a worker that serves is asked to look at itself, what R does or what its memory holds, and reports.
//!
//! Not for what is in a report: that is between the worker and the caller (`profile`). Neighbours: `staff` (what
//! workers say), `service` (where callers ask).

use crate::asker::{Asker, UnderWay};
use crate::supervisor::Supervisor;
use crate::worker_handle::{Phase, WorkerHandle};
use std::time::{Duration, Instant};
use wire::control::{Inspection, WorkerOrder};

/// A worker that runs a handler does not hear of it before that has returned: how long is waited for that.
const BUSY: Duration = Duration::from_secs(30);
/// What a worker may report: some thousand stacks of R take a tenth of this.
const MOST_BYTES: usize = 16 << 20;

impl Supervisor {
    /// Asks the worker with this process id to look at itself.
    pub(crate) fn inspect(&mut self, pid: i32, what: Inspection, asker: Asker, now: Instant) {
        let number = self.next_number();
        let Some((_, worker)) = self.staff.with_process(pid) else {
            return asker.say(Err(format!("there is no worker with process id {pid}")));
        };
        if worker.phase != Phase::Serving {
            return asker.say(Err(format!("worker {pid} does not serve: it starts, or ends")));
        }
        if worker.inspection.is_some() {
            return asker.say(Err(format!("worker {pid} is being looked at already: wait until that is done")));
        }
        let mut message = Vec::new();
        WorkerOrder::Inspect { number, what }.encode(&mut message);
        if let Some(Err(e)) = worker.channel.as_ref().map(|channel| channel.send(&message, &[])) {
            return asker.say(Err(format!("worker {pid} cannot be asked: {e}")));
        }
        let takes = match what {
            Inspection::Stacks { millis, .. } | Inspection::Objects { millis } => Duration::from_millis(millis.into()),
        };
        worker.inspection = Some(UnderWay { number, asker, report: Vec::new(), deadline: now + takes + BUSY });
    }

    /// When one that is under way is given up.
    pub(crate) fn inspections_due(&self) -> Option<Instant> {
        self.staff.iter().filter_map(|(_, worker)| Some(worker.inspection.as_ref()?.deadline)).min()
    }

    /// Gives up what takes too long.
    pub(crate) fn look_at_inspections(&mut self, now: Instant) {
        for (_, worker) in self.staff.iter_mut() {
            if let Some(late) = worker.inspection.take_if(|inspection| inspection.deadline <= now) {
                late.asker.say(Err(format!(
                    "{} runs one handler for longer than that takes: it is looked at between requests",
                    worker.name()
                )));
            }
        }
    }
}

impl WorkerHandle {
    /// It has reported a piece, perhaps the last one, of this inspection.
    pub(crate) fn has_reported(&mut self, number: u32, piece: &[u8], last: bool) {
        // of one that was given up
        let Some(inspection) = self.inspection.as_mut().filter(|inspection| inspection.number == number) else {
            return;
        };
        if inspection.report.len() + piece.len() > MOST_BYTES {
            return self.does_not_report(number, "its report is too long");
        }
        inspection.report.extend_from_slice(piece);
        if let Some(done) = self.inspection.take_if(|_| last) {
            let text = String::from_utf8(done.report);
            done.asker.say(text.map_err(|_| "its report is no text".to_owned()));
        }
    }

    /// It cannot report.
    pub(crate) fn does_not_report(&mut self, number: u32, why: &str) {
        if let Some(failed) = self.inspection.take_if(|inspection| inspection.number == number) {
            failed.asker.say(Err(format!("{}: {why}", self.name())));
        }
    }
}
