//! `drover replay`: a failed request once more, in an R process of its own at the user's terminal. The server only
//! gives the request; R loads the app and calls the handler (R/command-replay.R). Neighbours: `failed`, which lists
//! them; `r`, which starts R.

use crate::exit::{Code, Error};
use crate::failed::{no_id, playable, Id};
use crate::http::field;
use crate::manage::{seconds, Sockets, Which};
use crate::r;
use crate::shown::plain;
use crate::terminal::{print, say};
use crate::tool::{further, loading, Program, Tool, KINDS};
use clap::Args;
use engine::FailedRequest;
use profile::Samples;
use rustix::termios::isatty;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const EXAMPLES: &str = "\
Examples:
  drover replay 00c0ffee00c0ffee                   as drover failed lists it
  drover replay last --with fixed.R                the latest, by changed code
  drover replay last --field 'Authorization: Bearer x'
  drover replay last --profile slow.svg            where its time goes
  drover replay bug.json --with app.R              what drover failed last --json has written";

/// What is asked of `drover replay`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReplayArgs {
    /// The request's id, last for the latest, or a file of drover failed ID --json
    #[arg(value_name = "ID")]
    id: String,
    /// The server, if several run: its port, its app's file or folder, or its process id
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    #[command(flatten)]
    sockets: Sockets,
    /// Another app than the server's, such as a changed file
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
    /// What this file is, where that cannot be detected
    #[arg(long, requires = "with", value_parser = KINDS)]
    kind: Option<String>,
    /// Header field to set, in place of one that was redacted: "Authorization: Bearer x"; may be repeated
    #[arg(long, value_name = "FIELD", value_parser = field)]
    field: Vec<String>,
    /// Do not stop in browser() where the error is; without a terminal it never does
    #[arg(long)]
    no_browser: bool,
    /// Longest time that the handler may take, in seconds; 0 for no end [default: that which it had, if it ended in a
    /// timeout, otherwise no end]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<f64>,
    /// Write a flame graph of where the time goes to this file, an SVG; then it does not stop in browser()
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    #[command(flatten)]
    program: Program,
    /// Arguments of the app, in place of the server's
    #[arg(last = true, value_name = "ARGUMENTS")]
    args: Vec<OsString>,
}

/// Becomes the R process that plays the request.
///
/// # Errors
/// When there is no such request, it is not whole, or R cannot be started.
pub(crate) fn replay(args: &ReplayArgs) -> Result<(), Error> {
    let mut options: Vec<OsString> = Vec::new();
    let (request, app, kind, mut app_args, env) = match Id::read(&args.id) {
        Some(id) => {
            let server = Which::new(args.server.clone(), args.sockets.clone()).one()?;
            let found = playable(&server, id)?;
            let app = PathBuf::from(&found.app);
            if args.with.is_none() {
                warn_of_changes(&app, found.loaded);
            }
            options.extend(found.settings.plumber.into_iter().flat_map(|how| ["--plumber".into(), how.into()]));
            options.extend(found.settings.case_sensitive.then(|| "--case-sensitive".into()));
            let app_args = found.args.into_iter().map(OsString::from).collect();
            let env = found.env.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
            (found.request, Some(app), found.kind, app_args, env)
        }
        None => (of_file(&args.id)?, None, None, Vec::new(), Vec::new()),
    };
    if let Some(why) = &request.body_missing {
        let why = format!(
            "request {} cannot be played again: its body of {} bytes: {}",
            plain(&request.id),
            request.body_size,
            plain(why)
        );
        return Err(Error::new(Code::App, why));
    }
    let (app, kind) = match (&args.with, app) {
        (Some(with), _) => (with.clone(), args.kind.clone()),
        (None, Some(app)) => (app, kind),
        (None, None) => {
            let why = "a request of a file has no app: name one with --with app.R";
            return Err(Error::new(Code::Usage, why));
        }
    };
    if !args.args.is_empty() {
        app_args.clone_from(&args.args);
    }
    options.extend(kind.iter().flat_map(|kind| ["--kind".into(), kind.into()]));
    options.extend(args.field.iter().flat_map(|field| ["--field".into(), field.into()]));
    options.extend(args.timeout.iter().flat_map(|timeout| ["--timeout".into(), timeout.to_string().into()]));
    let is_interactive = !args.no_browser && args.profile.is_none() && isatty(io::stdin()) && isatty(io::stdout());
    let text = sonic_rs::to_string(&request).map_err(|e| Error::new(Code::System, e.to_string()))?;
    let no_file = |e| Error::new(Code::System, format!("no file for the request: {e}"));
    let file = private_file(&text).map_err(no_file)?;
    let report = args.profile.as_ref().map(|_| private_file("")).transpose().map_err(no_file)?;
    options.extend(report.iter().flat_map(|report| ["--report".into(), report.clone().into()]));
    let words = ["replay".into(), app.clone().into(), "--request".into(), file.clone().into()];
    let words = words.into_iter().chain(options).chain(further(app_args)).collect();
    let tool = Tool { words, app: Some((app, kind)), r: args.program.r.clone(), policies: String::new(), env };
    let tool = loading(tool, None).map_err(|e| Error::new(Code::Usage, e));
    // R removes the file when it has read it: it is left here only if R could not be started
    let outcome = match (tool, &args.profile, &report) {
        (Ok(tool), Some(svg), Some(report)) => {
            let title = format!("{} {}", request.method, request.target);
            r::run_tool(&tool).and_then(|status| draw(report, svg, &title, status))
        }
        (Ok(tool), ..) if is_interactive => Err(r::become_console(&tool)),
        (Ok(tool), ..) => Err(r::become_tool(&tool)),
        (Err(e), ..) => Err(e),
    };
    for file in [Some(file), report].into_iter().flatten() {
        let _ = fs::remove_file(file);
    }
    outcome
}

/// Makes the flame graph of a report, after R has ended with this status.
fn draw(report: &Path, svg: &Path, title: &str, status: i32) -> Result<(), Error> {
    let text = fs::read_to_string(report).unwrap_or_default();
    let mut samples = Samples::default();
    samples.add(&text).map_err(|_| Error::new(Code::App, "there are no samples: the request was not played"))?;
    fs::write(svg, samples.flame_graph(title))
        .map_err(|e| Error::new(Code::System, format!("cannot write {}: {e}", svg.display())))?;
    print(&samples.tables().text())?;
    say(&format!("the flame graph is in {}", svg.display()));
    match status {
        0 => Ok(()),
        _ => Err(Error::new(Code::App, "the request has failed again")),
    }
}

/// Says that the app's file is another one than that which has failed.
fn warn_of_changes(app: &Path, loaded: u64) {
    let changed = fs::metadata(app).and_then(|found| found.modified()).ok();
    let loaded = UNIX_EPOCH + Duration::from_millis(loaded);
    if loaded > UNIX_EPOCH && changed.is_some_and(|changed| changed > loaded) {
        say(&format!("{} has changed since the server loaded what has failed", plain(&app.to_string_lossy())));
    }
}

/// What `drover failed ID --json` has written.
fn of_file(name: &str) -> Result<FailedRequest, Error> {
    if !Path::new(name).is_file() {
        return Err(Error::new(Code::Usage, format!("{}, nor a file", no_id(name))));
    }
    let text = fs::read(name).map_err(|e| Error::new(Code::Missing, format!("cannot read {name}: {e}")))?;
    sonic_rs::from_slice(&text).map_err(|_| {
        Error::new(Code::Usage, format!("{name} has no request: it must be what drover failed ID --json has written"))
    })
}

/// A new file with this text that only this user can read.
fn private_file(text: &str) -> io::Result<PathBuf> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let path = std::env::temp_dir().join(format!("drover-replay-{}-{now:x}.json", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}
