//! `drover jobs`: the jobs of a server, in a list, or one of them; and some of them retried or cancelled. Neighbours:
//! `control`, by which the server is asked; the engine's `jobs`, which has them.

use crate::control::{Acted, Found, Job, Jobs, Request};
use crate::exit::{Code, Error};
use crate::manage::{gone, Sockets, Which};
use crate::shown::{self, age, json, plain, shortened, table, time};
use crate::terminal::{fail, print};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use engine::{JobAct, JobId, JobLine, JobList, JobProgress, JobState, JobsWanted};
use serde::de::DeserializeOwned;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

const EXAMPLES: &str = "\
Examples:
  drover jobs                          the latest ones of the one server that runs
  drover jobs --state failed 8080      those that have failed, of the server on this port
  drover jobs --kind 'POST /fits' --limit 500 --json
  drover jobs 09dcdb12463563a042b0f00e00e7c4d9";

const EXAMPLES_OF_RETRY: &str = "\
Examples:
  drover jobs retry 09dcdb12463563a042b0f00e00e7c4d9
  drover jobs --state failed --limit 1000 --json | jq -r '.[].id' | xargs drover jobs retry";

const EXAMPLES_OF_CANCEL: &str = "\
Examples:
  drover jobs cancel 09dcdb12463563a042b0f00e00e7c4d9
  drover jobs cancel 09dcdb12463563a042b0f00e00e7c4d9 8080";

/// What is asked of `drover jobs`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct JobsArgs {
    #[command(subcommand)]
    act: Option<Act>,
    /// A job's id; and the server, if several run: its port, its app's file or folder, or its process id
    #[arg(value_name = "ID|SERVER", num_args = 0..=2)]
    words: Vec<String>,
    /// List only jobs in this state
    #[arg(long, value_parser = PossibleValuesParser::new(JobState::ALL.map(JobState::name)))]
    state: Option<String>,
    /// List only jobs of this kind, the method and path that accept them: "POST /fits"
    #[arg(long, value_parser = kind)]
    kind: Option<String>,
    /// List at most this many jobs, the latest
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    sockets: Sockets,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Run failed or cancelled jobs again, as if they were new
    #[command(after_help = EXAMPLES_OF_RETRY)]
    Retry(ActArgs),
    /// Cancel jobs; those that run are interrupted
    #[command(after_help = EXAMPLES_OF_CANCEL)]
    Cancel(ActArgs),
}

#[derive(Debug, Args)]
struct ActArgs {
    /// Ids of jobs; and the server, if several run: its port, its app's file or folder, or its process id
    #[arg(value_name = "ID|SERVER", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    sockets: Sockets,
}

/// How long a server may take: it may have many jobs to look through.
const PATIENCE: Duration = Duration::from_secs(30);

fn kind(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_control) {
        return Err("must be a method and a path, as in \"POST /fits\"".to_owned());
    }
    Ok(text.to_owned())
}

/// Lists jobs, shows one, or has something done to some.
///
/// # Errors
/// When there is no such server or job, or what is wanted cannot be done.
pub(crate) fn jobs(args: &JobsArgs) -> Result<(), Error> {
    match &args.act {
        Some(Act::Retry(to)) => return act(JobAct::Retry, to),
        Some(Act::Cancel(to)) => return act(JobAct::Cancel, to),
        None => {}
    }
    let (ids, server) = read(&args.words)?;
    let id = match ids[..] {
        [] => None,
        [id] => Some(id),
        _ => return Err(Error::new(Code::Usage, "one job at a time can be shown, or a list of all")),
    };
    if id.is_some() && (args.state.is_some() || args.kind.is_some()) {
        return Err(Error::new(Code::Usage, "--state and --kind are for lists: leave out the id"));
    }
    let server = Which::new(server, args.sockets.clone()).one()?;
    let text = match id {
        Some(id) => {
            let job = ask::<Job>(&server, Request::Job(id))?.map_err(unreadable)?.ok_or_else(|| {
                let name = shown::name(&server.status);
                Error::new(Code::Missing, format!("{name} has no job {id}, or not any more; drover jobs lists them"))
            })?;
            if args.json {
                json(&job)?
            } else {
                whole(&job)
            }
        }
        None => {
            let state = args.state.as_deref().and_then(JobState::of_name);
            let wanted = JobsWanted { kind: args.kind.clone(), state, most: args.limit as usize };
            let found = ask::<Jobs>(&server, Request::Jobs(wanted))?.map_err(unreadable)?;
            if args.json {
                json(&found.jobs)?
            } else {
                list(&found, SystemTime::now())
            }
        }
    };
    print(&text)
}

/// Ids, and the server behind them if one is named.
fn read(words: &[String]) -> Result<(Vec<JobId>, Option<String>), Error> {
    let mut ids = Vec::new();
    for (i, word) in words.iter().enumerate() {
        match JobId::parse(word) {
            Some(id) => ids.push(id),
            None if i + 1 == words.len() => return Ok((ids, Some(word.clone()))),
            None => {
                let why = format!("{} is no id of a job: 32 digits, as drover jobs lists them", plain(word));
                return Err(Error::new(Code::Usage, why));
            }
        }
    }
    Ok((ids, None))
}

fn ask<T: DeserializeOwned>(server: &Found, request: Request) -> Result<T, Error> {
    let (answer, _) = server.ask(request, Some(PATIENCE)).map_err(|e| gone(server, &e))?;
    Ok(answer)
}

fn unreadable(why: String) -> Error {
    Error::new(Code::App, plain(&why))
}

/// Has it done to each of the jobs, and says of which it was not.
fn act(act: JobAct, to: &ActArgs) -> Result<(), Error> {
    let (ids, server) = read(&to.words)?;
    if ids.is_empty() {
        return Err(Error::new(Code::Usage, "which jobs? drover jobs lists their ids"));
    }
    let server = Which::new(server, to.sockets.clone()).one()?;
    let done = match act {
        JobAct::Retry => "retried",
        JobAct::Cancel => "cancelled",
    };
    let mut last = None;
    for id in ids {
        match ask::<Acted>(&server, Request::Act(act, id))? {
            Ok(()) => print(&format!("{done} {id}\n"))?,
            Err(why) => {
                let why = format!("cannot {} {id}: {}", act.word(), plain(&why));
                // the one that ends the program is said at its end
                if let Some(before) = last.replace(why) {
                    fail(&before);
                }
            }
        }
    }
    last.map_or(Ok(()), |why| Err(Error::new(Code::App, why)))
}

fn list(found: &JobList, now: SystemTime) -> String {
    let counts = shown::jobs(&found.counts);
    if counts.is_empty() {
        return "no jobs, or none that are still kept\n".to_owned();
    }
    if found.jobs.is_empty() {
        return "none of these\n".to_owned() + &counts;
    }
    let rows = found.jobs.iter().map(|job| {
        let since = |then: &str, until: SystemTime| {
            let then = humantime::parse_rfc3339(then).ok()?;
            Some(until.duration_since(then).unwrap_or_default().as_secs_f64())
        };
        let until = job.ended.as_deref().map_or(Some(now), |ended| humantime::parse_rfc3339(ended).ok());
        let ran = job.began.as_deref().zip(until).and_then(|(began, until)| since(began, until));
        let has_run = job.ended.is_some() || job.state == JobState::Running.name();
        [
            plain(&job.id),
            plain(&job.state),
            shortened(&job.kind),
            job.attempt.to_string(),
            since(&job.created, now).map_or_else(String::new, age),
            ran.filter(|_| has_run).map_or_else(String::new, time),
            shortened(said(job).lines().next().unwrap_or_default()),
        ]
    });
    table(["id", "state", "kind", "attempt", "age", "took", "error or progress"], rows) + &counts
}

/// What is to be said of a job beside its state.
fn said(job: &JobLine) -> String {
    let next = job.due.as_ref().map(|due| format!("from {due}"));
    let said = [job.progress.as_ref().map(progress), next, job.error.clone()];
    said.into_iter().flatten().collect::<Vec<_>>().join(": ")
}

/// `3 of 50: resampling`
fn progress(said: &JobProgress) -> String {
    let total = said.total.map_or_else(String::new, |total| format!(" of {total}"));
    let message = said.message.as_ref().map_or_else(String::new, |message| format!(": {message}"));
    format!("{}{total}{message}", said.done)
}

/// All of one.
fn whole(job: &JobLine) -> String {
    let mut text = String::new();
    let mut say = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<10}{}", plain(value));
    };
    say("id", &job.id);
    say("kind", &job.kind);
    say("state", &job.state);
    say("attempt", &job.attempt.to_string());
    say("created", &job.created);
    let rest = [
        ("due", job.due.clone()),
        ("began", job.began.clone()),
        ("ended", job.ended.clone()),
        ("progress", job.progress.as_ref().map(progress)),
        ("error", job.error.clone()),
    ];
    for (name, value) in rest {
        if let Some(value) = value {
            say(name, &value);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use engine::JobCounts;

    #[derive(Debug, Parser)]
    struct Words {
        #[command(flatten)]
        jobs: JobsArgs,
    }

    fn parse(words: &[&str]) -> Result<JobsArgs, String> {
        let words = std::iter::once("jobs").chain(words.iter().copied());
        Words::try_parse_from(words).map(|words| words.jobs).map_err(|e| e.to_string())
    }

    const ID: &str = "00c0ffee00c0ffee00c0ffee00c0ffee";

    #[test]
    fn ids_are_told_from_servers() {
        let words = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            read(&words).map(|(ids, server)| (ids.len(), server)).map_err(|e| (e.code, e.message))
        };
        assert_eq!(words(&[]), Ok((0, None)));
        assert_eq!(words(&["8080"]), Ok((0, Some("8080".to_owned()))));
        assert_eq!(words(&[ID, ID]), Ok((2, None)));
        assert_eq!(words(&[ID, "app.R"]), Ok((1, Some("app.R".to_owned()))));
        let (code, why) = words(&["8080", ID]).unwrap_err();
        assert!(code == Code::Usage && why.starts_with("8080 is no id of a job"), "{why}");
    }

    #[test]
    fn what_is_wanted_is_a_list_one_job_or_an_act() {
        let args = parse(&["8080", "--state", "failed", "--kind", "POST /fits", "--json"]).unwrap();
        assert!(args.act.is_none() && args.json && args.limit == 50 && args.words == ["8080"]);
        assert_eq!((args.state.as_deref(), args.kind.as_deref()), (Some("failed"), Some("POST /fits")));
        assert!(matches!(parse(&["retry", ID, "8080"]).unwrap().act, Some(Act::Retry(to)) if to.words == [ID, "8080"]));
        assert!(matches!(parse(&["cancel", ID]).unwrap().act, Some(Act::Cancel(to)) if to.words == [ID]));
        for wrong in [&["retry"][..], &["--state", "over"], &["--limit", "0"], &["--kind", "a\nb"], &["--kind", ""]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_list_has_a_line_for_each_and_texts_of_others_stay_text() {
        let job = JobLine {
            id: ID.into(),
            state: "running".into(),
            kind: "POST /fits".into(),
            attempt: 2,
            created: "2026-11-28T12:00:00.000Z".into(),
            began: Some("2026-11-28T12:00:50.000Z".into()),
            progress: Some(JobProgress { done: 3.0, total: Some(50.0), message: Some("re\u{1b}[2J\nsampling".into()) }),
            ..JobLine::default()
        };
        let failed = JobLine {
            state: "failed".into(),
            ended: Some("2026-11-28T12:00:52.500Z".into()),
            progress: None,
            error: Some("no such\u{9b}31m column".into()),
            ..job.clone()
        };
        let waits = JobLine { due: Some("2026-11-28T12:30:00.000Z".into()), ended: None, ..failed.clone() };
        let counts = JobCounts { running: 1, failed: 2, ..JobCounts::default() };
        let now = humantime::parse_rfc3339("2026-11-28T12:01:00Z").unwrap();
        let text = list(&JobList { jobs: vec![job.clone(), failed, waits], counts }, now);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert!(lines[1].ends_with("running  POST /fits        2  1.0 min   10 s  3 of 50: re\u{fffd}[2J"), "{text}");
        assert!(lines[2].ends_with(" 2.5 s  no such\u{fffd}31m column"), "{text}");
        assert!(lines[3].ends_with("from 2026-11-28T12:30:00.000Z: no such\u{fffd}31m column"), "{text}");
        assert_eq!(lines[4], "jobs: 1 running, 2 failed");
        assert!(whole(&job).contains("progress  3 of 50: re\u{fffd}[2J\u{fffd}sampling\n"), "{}", whole(&job));
        assert_eq!(list(&JobList::default(), now).lines().count(), 1);
    }
}
