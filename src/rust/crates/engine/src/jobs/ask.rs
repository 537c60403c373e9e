//! What the app asks of a job, from a handler or from the session that serves: the answers are those of
//! [`wire::command::JobAsk`]. Neighbours: `pages`, what clients ask; `operator`, what whoever runs the server does.

use super::operator::{said, JobsOperator};
use super::shown::{self, JobLine};
use super::{wanted, JobAct};
use crate::context::Context;
use ::jobs::{Desk, Job, JobId, State};
use serde::Serialize;
use std::sync::Arc;
use wire::command::{Answer, JobAsk, Named};

/// Has `then` told the answer.
pub fn ask(context: &Context, ask: JobAsk, which: &str, then: impl FnOnce(Answer) + Send + 'static) {
    let which = which.to_owned();
    let act = move |context: Arc<Context>| async move { answer(&context, ask, &which).await };
    wanted::want(context, act, |answered| {
        then(Answer(answered.unwrap_or_else(|why| vec![(2, why.into_bytes())])));
    });
}

async fn answer(context: &Context, ask: JobAsk, which: &str) -> Result<Vec<Named>, String> {
    let none = vec![(0, Vec::new())];
    let Some(desk) = context.jobs.desk.get() else { return Ok(none) };
    let id = JobId::parse(which);
    let answered = match (ask, id) {
        (JobAsk::State, Some(id)) => desk.ask(move |store| store.find(id)).await.map_err(said)?.map(state),
        (JobAsk::Keyed, _) => keyed(desk, which).await?.map(state),
        (JobAsk::Result, Some(id)) => result(desk, id).await?,
        (JobAsk::Cancel, Some(id)) => {
            let operator = JobsOperator::new(context.jobs.clone(), context.pool().clone());
            // there is none, or it is over
            operator.act(JobAct::Cancel, id).await.ok().map(|()| vec![(1, Vec::new())])
        }
        (_, None) => None,
    };
    Ok(answered.unwrap_or(none))
}

async fn keyed(desk: &Desk, which: &str) -> Result<Option<Job>, String> {
    let Some((kind, key)) = which.split_once('\n') else { return Ok(None) };
    let (kind, key) = (kind.to_owned(), shown::own_key(key));
    desk.ask(move |store| store.find_keyed(&kind, &key)).await.map_err(said)
}

#[derive(Serialize)]
struct Told {
    #[serde(flatten)]
    job: JobLine,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

fn state(job: Job) -> Vec<Named> {
    let key = job.key.as_deref().and_then(shown::given_key).map(str::to_owned);
    let told = Told { job: job.into(), key };
    // of a map without keys that are none, so that it is never an error
    vec![(1, sonic_rs::to_vec(&told).unwrap_or_default())]
}

async fn result(desk: &Desk, id: JobId) -> Result<Option<Vec<Named>>, String> {
    let found = desk.ask(move |store| {
        let Some(job) = store.find(id)? else { return Ok(None) };
        let outcome = if job.state == State::Done { store.result(id)? } else { None };
        Ok(Some((job, outcome)))
    });
    Ok(found.await.map_err(said)?.map(|(job, outcome)| match outcome {
        Some(outcome) => {
            let content_type = outcome.content_type.unwrap_or_default();
            vec![(1, content_type.into_bytes()), (outcome.status.into(), outcome.body)]
        }
        None => vec![(3, shown::why_none(&job).into_bytes())],
    }))
}
