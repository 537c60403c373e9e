//! `drover profile`: what workers of a server that runs spend their time on, or what their memory holds. What is made
//! of their reports is the crate `profile`; how a server is found and asked, `manage` and `control`.

use crate::control::{Found, Inspected, Request};
use crate::exit::{Code, Error};
use crate::manage::{gone, seconds, Which};
use crate::shown;
use crate::terminal::{count, print, say};
use clap::Args;
use profile::{Objects, Samples};
use std::path::PathBuf;
use std::time::Duration;
use supervisor::{Inspection, WorkerState, WorkerStatus};

const EXAMPLES: &str = "\
Examples:
  drover profile                       ten seconds of the worker that has been busiest
  drover profile 8080 --all            of each worker, one after the other
  drover profile --seconds 1m --output shop.svg
  drover profile --memory              the largest objects that it holds";

/// What is asked of `drover profile`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ProfileArgs {
    #[command(flatten)]
    which: Which,
    /// The worker's process id [default: the busiest one]
    #[arg(long, value_name = "PID", conflicts_with = "all")]
    worker: Option<i32>,
    /// All workers, one after the other
    #[arg(long)]
    all: bool,
    /// How long to sample a worker
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = within)]
    seconds: f64,
    /// CPU time between two samples
    #[arg(long, value_name = "SECONDS", default_value = "10ms", value_parser = interval)]
    interval: f64,
    /// File for the flame graph, an SVG [default: profile.svg]
    #[arg(long, value_name = "FILE", conflicts_with = "memory")]
    output: Option<PathBuf>,
    /// Show the largest objects instead of times
    #[arg(long)]
    memory: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How long a worker that runs a handler may take beyond the time: it answers between requests, and its server gives up
/// before.
const BEYOND: Duration = Duration::from_secs(45);

fn within(text: &str) -> Result<f64, String> {
    seconds(text).ok().filter(|seconds| (0.1..=600.0).contains(seconds)).ok_or_else(|| {
        "must be between 100ms and 10m: a number of seconds, or a time such as 500ms, 30s or 2m".to_owned()
    })
}

fn interval(text: &str) -> Result<f64, String> {
    seconds(text)
        .ok()
        .filter(|seconds| (0.001..=1.0).contains(seconds))
        .ok_or_else(|| "must be between 1ms and 1s, such as 5ms".to_owned())
}

/// Looks into the workers of a server.
///
/// # Errors
/// When there is no such server or worker, or one does not report.
pub(crate) fn profile(args: &ProfileArgs) -> Result<(), Error> {
    let server = args.which.one()?;
    let workers = chosen(args, &server)?;
    if args.memory {
        return memory(args, &server, &workers);
    }
    let mut samples = Samples::default();
    for &worker in &workers {
        if !args.json {
            say(&format!("sampling worker {worker} for {} s", args.seconds));
        }
        let interval_us = (args.interval * 1e6) as u32;
        let report = inspected(args, &server, worker, Inspection::Stacks { millis: millis(args), interval_us })?;
        samples.add(&report).map_err(|e| Error::new(Code::App, format!("worker {worker}: {e}")))?;
    }
    let file = args.output.clone().unwrap_or_else(|| "profile.svg".into());
    let title = format!("{}, {}", server.status.file, count(workers.len() as u64, "worker"));
    std::fs::write(&file, samples.flame_graph(&title))
        .map_err(|e| Error::new(Code::System, format!("cannot write {}: {e}", file.display())))?;
    let tables = samples.tables();
    if args.json {
        return print(&(tables.json() + "\n"));
    }
    print(&tables.text())?;
    say(&format!("the flame graph is in {}", file.display()));
    Ok(())
}

fn memory(args: &ProfileArgs, server: &Found, workers: &[i32]) -> Result<(), Error> {
    for &worker in workers {
        let report = inspected(args, server, worker, Inspection::Objects { millis: millis(args) })?;
        let objects = Objects::read(&report).map_err(|e| Error::new(Code::App, format!("worker {worker}: {e}")))?;
        let text = if args.json { objects.json() + "\n" } else { format!("worker {worker}: {}", objects.text()) };
        print(&text)?;
    }
    Ok(())
}

fn millis(args: &ProfileArgs) -> u32 {
    (args.seconds * 1000.0) as u32
}

/// The workers that are meant.
fn chosen(args: &ProfileArgs, server: &Found) -> Result<Vec<i32>, Error> {
    let serves = |worker: &&WorkerStatus| worker.alive && matches!(worker.state, WorkerState::Idle | WorkerState::Busy);
    let serving: Vec<&WorkerStatus> = server.status.snapshot.workers.iter().filter(serves).collect();
    if let Some(pid) = args.worker {
        if serving.iter().any(|worker| worker.pid == pid) {
            return Ok(vec![pid]);
        }
        let pids: Vec<String> = serving.iter().map(|worker| worker.pid.to_string()).collect();
        let why = format!("{} has no worker with process id {pid} that serves", shown::name(&server.status));
        return Err(Error::new(Code::Missing, format!("{why}\n    there is {}", pids.join(", "))));
    }
    let busiest = serving.iter().max_by(|a, b| a.busy.total_cmp(&b.busy));
    match busiest {
        None => Err(Error::new(Code::App, format!("no worker of {} serves yet", shown::name(&server.status)))),
        Some(_) if args.all => Ok(serving.iter().map(|worker| worker.pid).collect()),
        Some(busiest) => Ok(vec![busiest.pid]),
    }
}

fn inspected(args: &ProfileArgs, server: &Found, worker: i32, what: Inspection) -> Result<String, Error> {
    let wait = Duration::from_secs_f64(args.seconds) + BEYOND;
    let request = Request::Inspect { worker, what };
    let (report, _) = server.ask::<Inspected>(request, Some(wait)).map_err(|e| gone(server, &e))?;
    report.map_err(|why| Error::new(Code::App, why))
}
