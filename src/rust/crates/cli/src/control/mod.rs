//! How the commands `status`, `reload`, `scale`, `stop`, `profile`, `failed`, `replay` and `jobs` reach a server of the
//! program that runs: a socket for each, in a folder that belongs to the user. If nothing listens on a socket, its
//! server has ended or was killed.
//!
//! One line asks and one line of JSON answers. Where a server has several apps, a line that begins with `@NAME ` is for
//! one of them. In reading order: `place` (the folder), `listener` (the server's side),
//! `client` (the commands' side). What a server says, `serve` knows.

mod client;
mod listener;
mod place;

pub(crate) use client::{find, Found, Wanted};
pub(crate) use listener::{Addressee, Listener, Reply};

use engine::{FailedLine, FailedRequest, JobAct, JobId, JobLine, JobList, JobState, JobsWanted, Snapshot};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use supervisor::Inspection;

/// What a server is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// how it is: a [`Status`] of each app
    Status,
    /// to load its app anew: a [`Reloaded`] when that has happened
    Reload,
    /// to have at least and at most this many workers, in the pool of this name, or in that of routes without one: a
    /// [`Rescaled`]
    Scale { min: usize, max: usize, pool: String },
    /// to end as SIGTERM ends it, or at once: an [`Ending`]; then the connection stays open until the process has ended
    Stop { now: bool },
    /// to have a worker, by its process id, look at itself: an [`Inspected`] when it has
    Inspect { worker: i32, what: Inspection },
    /// which failed requests it keeps: a [`Failed`]
    Failed,
    /// one of them, by its id: a [`Playable`], or none
    Playable { id: u64 },
    /// these of its jobs: a [`Jobs`]
    Jobs(JobsWanted),
    /// one of them, by its id: a [`Job`]
    Job(JobId),
    /// to run that once more, or not any more: an [`Acted`]
    Act(JobAct, JobId),
}

/// In the place of a state: each of them.
const ANY: &str = "any";

impl Request {
    const ALL: [(Request, &'static str); 5] = [
        (Request::Status, "status"),
        (Request::Reload, "reload"),
        (Request::Stop { now: false }, "stop"),
        (Request::Stop { now: true }, "stop now"),
        (Request::Failed, "failed"),
    ];

    fn words(&self) -> Cow<'static, str> {
        match self {
            Request::Inspect { worker, what: Inspection::Stacks { millis, interval_us } } => {
                format!("stacks {worker} {millis} {interval_us}").into()
            }
            Request::Inspect { worker, what: Inspection::Objects { millis } } => {
                format!("objects {worker} {millis}").into()
            }
            Request::Playable { id } => format!("failed {id:016x}").into(),
            Request::Scale { min, max, pool } => format!("scale {min} {max} {pool}").trim_end().to_owned().into(),
            Request::Jobs(JobsWanted { kind, state, most }) => {
                let (state, kind) = (state.map_or(ANY, JobState::name), kind.as_deref().unwrap_or_default());
                format!("jobs {most} {state} {kind}").into()
            }
            Request::Job(id) => format!("job {id}").into(),
            Request::Act(act, id) => format!("{} {id}", act.word()).into(),
            _ => Request::ALL.iter().find(|(request, _)| request == self).map_or("", |(_, word)| word).into(),
        }
    }

    fn read(line: &str) -> Option<Request> {
        if let Some((request, _)) = Request::ALL.iter().find(|(_, word)| *word == line) {
            return Some(request.clone());
        }
        let (word, numbers) = line.split_once(' ')?;
        match word {
            "failed" => return Some(Request::Playable { id: u64::from_str_radix(numbers, 16).ok()? }),
            "jobs" => return wanted(numbers).map(Request::Jobs),
            "job" => return JobId::parse(numbers).map(Request::Job),
            "scale" => return scale(numbers),
            _ => {}
        }
        if let Some(act) = JobAct::of(word) {
            return JobId::parse(numbers).map(|id| Request::Act(act, id));
        }
        let numbers = numbers.split(' ').map(|number| number.parse().ok()).collect::<Option<Vec<u32>>>()?;
        let (worker, what) = match (word, &numbers[..]) {
            ("stacks", &[worker, millis, interval_us]) => (worker, Inspection::Stacks { millis, interval_us }),
            ("objects", &[worker, millis]) => (worker, Inspection::Objects { millis }),
            _ => return None,
        };
        Some(Request::Inspect { worker: i32::try_from(worker).ok()?, what })
    }
}

/// How many workers, and of which pool, of the words behind `scale`.
fn scale(words: &str) -> Option<Request> {
    let mut words = words.splitn(3, ' ');
    let mut number = || words.next()?.parse::<u32>().ok().map(|number| number as usize);
    let (min, max) = (number()?, number()?);
    Some(Request::Scale { min, max, pool: words.next().unwrap_or_default().to_owned() })
}

/// Which jobs, of the words behind `jobs`. A kind has spaces, and is the last of them.
fn wanted(words: &str) -> Option<JobsWanted> {
    let mut words = words.splitn(3, ' ');
    let most = words.next()?.parse().ok()?;
    let state = match words.next()? {
        ANY => None,
        state => Some(JobState::of_name(state)?),
    };
    let kind = words.next().filter(|kind| !kind.is_empty()).map(str::to_owned);
    Some(JobsWanted { kind, state, most })
}

/// How a server is, or one of its apps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Status {
    /// of the program
    pub(crate) version: String,
    /// its process, as it sees itself
    pub(crate) pid: u32,
    /// its owner, if that is not the client's user; filled in by the client
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// of one of several apps: what it is called
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// its app: a path, or a call
    pub(crate) file: String,
    /// where it is reached; none while its first workers start
    pub(crate) url: Option<String>,
    /// loadings of the app that came to serve
    pub(crate) generation: u32,
    /// how many workers it has at least and at most
    pub(crate) scale: (usize, usize),
    /// seconds since it was started
    pub(crate) age: f64,
    /// the rest, as the dashboard has it
    #[serde(flatten)]
    pub(crate) snapshot: Snapshot,
}

/// The app was loaded anew; or the text says why it was not.
pub(crate) type Reloaded = Result<u32, String>;

/// How many workers there were at least and at most before; or the text says why that has not changed.
pub(crate) type Rescaled = Result<(usize, usize), String>;

/// The report of the worker, or why there is none.
pub(crate) type Inspected = Result<String, String>;

/// A line about each failed request that is kept, the latest first; `None` when none are.
pub(crate) type Failed = Option<Vec<FailedLine>>;

/// Jobs; or why they cannot be read.
pub(crate) type Jobs = Result<JobList, String>;

/// A job, if there is one; or why that cannot be read.
pub(crate) type Job = Result<Option<JobLine>, String>;

/// It is done; or the text says why not.
pub(crate) type Acted = Result<(), String>;

/// A failed request, and what it takes to play it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Playable {
    /// the request
    pub(crate) request: FailedRequest,
    /// the app: an absolute path, or a call
    pub(crate) app: String,
    /// what that is, if it was said
    pub(crate) kind: Option<String>,
    /// arguments of the app
    pub(crate) args: Vec<String>,
    /// variables that it has as one of several apps
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) env: Vec<(String, String)>,
    /// when the generation that failed it had been loaded, in ms since 1970; 0 when that is not known any more
    pub(crate) loaded: u64,
    /// settings of the server on which depends which handler runs, as arguments of `dr_serve()`
    pub(crate) settings: ReplaySettings,
}

/// See [`Playable`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReplaySettings {
    pub(crate) plumber: Option<String>,
    pub(crate) case_sensitive: bool,
}

/// The server is shutting down.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Ending {
    /// seconds that requests in flight may take; 0 when it ends at once
    pub(crate) within: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_lines() {
        let what = [Inspection::Stacks { millis: 10_000, interval_us: 5 }, Inspection::Objects { millis: u32::MAX }];
        let inspections = what.map(|what| Request::Inspect { worker: 4711, what });
        let failed = [0, u64::MAX].map(|id| Request::Playable { id });
        let scale = ["", "gpu"].map(|pool| Request::Scale { min: 2, max: 1024, pool: pool.to_owned() });
        let id = JobId::parse("00c0ffee00c0ffee00c0ffee00c0ffee").unwrap();
        let kind = Some("POST /any/<x> y".to_owned());
        let jobs = [
            Request::Jobs(JobsWanted { kind: None, state: None, most: 50 }),
            Request::Jobs(JobsWanted { kind, state: Some(JobState::Failed), most: 1 }),
            Request::Job(id),
            Request::Act(JobAct::Retry, id),
            Request::Act(JobAct::Cancel, id),
        ];
        let others = inspections.into_iter().chain(failed).chain(scale).chain(jobs);
        for request in Request::ALL.map(|(request, _)| request).into_iter().chain(others) {
            assert_eq!(Request::read(&request.words()), Some(request));
        }
        for line in [
            "",
            "stop later",
            "stacks",
            "stacks 1 2",
            "stacks 1 2 x",
            "objects 1 2 3",
            "failed x",
            "objects 3000000000 1",
            "scale 1",
            "scale -1 2",
            "jobs",
            "jobs 50",
            "jobs -1 any ",
            "jobs 50 ended ",
            "job 1",
            "retry 1",
        ] {
            assert_eq!(Request::read(line), None, "{line}");
        }
    }
}
