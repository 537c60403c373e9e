//! What begins attempts: as many as workers can be spared for, whenever something may have changed.

use super::{attempt, wanted, UnderWay};
use crate::context::Context;
use crate::pool::Current;
use ::jobs::{now, Room, StoreError};
use observe::Level;
use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// How often it looks while jobs wait that cannot begin, for want of a worker or of a route: of these nothing is told.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// See the module. In the context of the runtime of the thread that has the queue; ends with it.
pub fn run(context: Arc<Context>) {
    wanted::listen(context.clone());
    tokio::spawn(async move {
        loop {
            let wait = match begin(&context).await {
                Ok(wait) => wait,
                Err(e) => {
                    context.jobs.log.line(Level::Error, &format!("the store of jobs: {e}"));
                    Some(10 * LOOK_AGAIN)
                }
            };
            let until = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = context.jobs.wake.notified() => {}
                () = context.pool().switched() => {}
                () = until => {}
            }
        }
    });
}

/// Begins what may begin. How long until there is to be another look, if nothing happens before.
async fn begin(context: &Arc<Context>) -> Result<Option<Duration>, StoreError> {
    let jobs = &context.jobs;
    let app = context.app();
    let scheduled: Vec<_> = app.kinds_of_jobs().filter_map(|(_, job)| job.schedule.clone()).collect();
    let desk = if scheduled.is_empty() { jobs.desk.get() } else { Some(jobs.desk()?) };
    let Some(desk) = desk.filter(|_| !jobs.ends.load(Relaxed)) else { return Ok(None) };
    let turn = scheduled.iter().map(|kind| kind.wait(now())).min();
    let rooms = rooms(context, &app);
    let begun = desk.ask(move |store| {
        scheduled.iter().try_for_each(|kind| kind.take_turn(store, now()))?;
        let mut attempts = Vec::new();
        for (kinds, free) in rooms.iter().filter(|(_, free)| *free > 0) {
            attempts.extend(store.claim(kinds, *free, now())?);
        }
        Ok((attempts, store.next_due()?, store.unfinished()))
    });
    let (attempts, due, unfinished) = begun.await?;
    for attempt in attempts {
        let (cancel, cancelled) = oneshot::channel();
        let (id, number) = (attempt.id, attempt.attempt);
        jobs.under_way().insert(id, UnderWay { kind: attempt.kind.clone(), attempt: number, cancel });
        tokio::spawn(attempt::run(context.clone(), attempt, cancelled));
        if jobs.missed().contains(&(id, number)) {
            jobs.interrupt(id, number);
        }
    }
    // what is left there has ended: nothing is claimed that is not under way by now
    jobs.missed().clear();
    let others = unfinished > jobs.under_way().len() as u64;
    let due = due.map(|due| Duration::from_millis(due.saturating_sub(now())));
    Ok(due.into_iter().chain(turn).chain(others.then_some(LOOK_AGAIN)).min())
}

/// How many more jobs may begin, by the pools of workers that their kinds have: of each kind, and of all of them.
fn rooms(context: &Context, app: &Current) -> Vec<(Vec<Room>, usize)> {
    let jobs = &context.jobs;
    let under_way = jobs.under_way();
    let of_kind = |kind: &str| under_way.values().filter(|attempt| attempt.kind == kind).count();
    let mut of_pools = BTreeMap::<u8, (Vec<Room>, usize)>::new();
    for (route, job) in app.kinds_of_jobs() {
        let running = of_kind(&job.kind);
        let (kinds, busy) = of_pools.entry(app.target(route).pool).or_default();
        kinds.push(Room { kind: job.kind.clone(), free: job.at_once.saturating_sub(running) });
        *busy += running;
    }
    // what runs of an app that had other kinds
    let others = under_way.len().saturating_sub(of_pools.values().map(|(_, busy)| busy).sum());
    if let Some((_, busy)) = of_pools.get_mut(&0) {
        *busy += others;
    }
    let free = |(pool, (kinds, busy)): (u8, (Vec<Room>, usize))| {
        let ready = context.pool().ready_in(pool);
        // in a pool that routes name, one more is started for what waits
        let ready = ready + usize::from(pool > 0 && context.pool().may_grow(pool));
        let most = match jobs.at_once {
            // one is kept for requests whose clients wait, where there is more than one; in such a pool none is
            0 if pool == 0 => ready.saturating_sub(1).max(1).min(ready),
            0 => ready,
            most => most.min(ready),
        };
        (kinds, most.saturating_sub(busy))
    };
    of_pools.into_iter().map(free).collect()
}
