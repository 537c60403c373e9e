//! Jobs of the server of this session, as texts of JSON for R, and what is wrong with their schedules. Neighbours:
//! `engine::jobs`, which has them; `src/service.c`, `src/jobs.c`, R/job-list.R, R/job-schedule.R.

use crate::lent::{lend, lent};
use crate::node::Str;
use crate::service::RunningService;
use crate::session::Session;
use crate::shield::shield;
use engine::{JobState, JobsWanted};

/// The latest jobs of the server of this session, at most `most`: an array of JSON with an object for each, as `Ok`; or
/// as `Err` why they cannot be read. NA when there is no server.
///
/// # Safety
/// `service` and `session` are live or null; the texts are C's for the call: a state and a kind, or empty for all. The
/// answer lives until the next one.
#[no_mangle]
pub unsafe extern "C" fn drv_jobs(
    service: *const RunningService,
    session: *const Session,
    state: Str,
    kind: Str,
    most: u32,
) -> Str {
    // SAFETY: the caller's.
    let (service, session, state, kind) =
        unsafe { (service.as_ref(), session.as_ref(), state.as_bytes(), kind.as_bytes()) };
    shield(Str::NA, || {
        let state = std::str::from_utf8(state).ok().and_then(JobState::of_name);
        let kind = Some(String::from_utf8_lossy(kind).into_owned()).filter(|kind| !kind.is_empty());
        let wanted = JobsWanted { kind, state, most: most as usize };
        lent(service, session, |gauge| sonic_rs::to_string(&gauge.jobs()?.list_now(wanted.clone())).ok())
    })
}

/// What is wrong with a line of cron, or with its time zone; NA when nothing is.
///
/// # Safety
/// The texts are C's for the call. The answer lives until the next one.
#[no_mangle]
pub unsafe extern "C" fn drv_cron_wrong(line: Str, zone: Str) -> Str {
    // SAFETY: the caller's.
    let (line, zone) = unsafe { (line.as_bytes(), zone.as_bytes()) };
    let text = String::from_utf8_lossy;
    shield(Str::NA, || lend(engine::check_cron(&text(line), &text(zone)).err()))
}
