//! The program drover: serves an app in a file from R processes that it looks after, without any R in itself.
//!
//! `options` is what it can be told, by flags, variables and a settings `file`, with `help`; `table` has the
//! settings, and `values` what these may be; `words` completes what people write in short, `terminal` what it
//! prints, `surroundings` tells what of it was taken for what, `blame` where a wrong value comes from; `r` finds R
//! and the package; `serve` starts everything, on a socket that may be `inherited`, the `attendant` passes on what
//! happens and what `signals` and `control` ask for, and the `banner` says where it serves; `house` starts several
//! `apps` of the settings file, which `several` makes of it; `dev`, `watch` and
//! `written` are for the developer of an app; `exit` has the exit codes. `mcp` serves a client that has started it,
//! by its standard streams. `manage` asks servers that run, `profiling` looks into their workers, `failed` and
//! `replay` have the requests that they have failed, `jobs` their jobs, `bench` loads one, `http` is what it and
//! `mcp` speak, `unit` writes a service, `users` have names, `openapi` is a command of R, `install` makes a link
//! and completions, `password` hashes one. What the processes do is the business of `supervisor`.
#![forbid(unsafe_code)]

mod apps;
mod attendant;
mod banner;
mod bench;
mod blame;
mod control;
mod dev;
mod docker;
mod exit;
mod failed;
mod file;
mod given;
mod help;
mod house;
mod http;
mod inherited;
mod install;
mod invocation;
mod jobs;
mod manage;
mod mcp;
mod monitor;
mod nearest;
mod notify;
mod openapi;
#[cfg(not(feature = "fuzzing"))]
mod options;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod options;
mod password;
mod policies;
mod processes;
mod profiling;
mod r;
mod replay;
mod restrict;
mod said;
mod serve;
mod several;
mod shown;
mod signals;
mod surroundings;
mod table;
mod terminal;
mod tls;
mod tool;
mod unit;
mod users;
mod values;
mod watch;
mod words;
mod written;

use attendant::Ended;
use options::{Asked, Own};
use std::ffi::OsString;

/// Runs the program with these arguments, the first of which is its name. Returns its exit code when it has ended.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let args = words::complete(args, std::env::var_os("DROVER_FILE").is_some());
    let invocation = match options::read(args) {
        Ok(Asked::Serve(invocation)) => invocation,
        Ok(Asked::Tool(tool)) => return end(&r::become_tool(&tool)),
        Ok(Asked::Checks(checks)) => return check(&checks),
        Ok(Asked::Own(own)) => return carry_out(&own).map_or_else(|e| end(&e), |()| exit::SUCCESS),
        Err(e) => {
            // nowhere to complain when neither output can be written
            let _ = e.print();
            // help and version are no errors
            return if e.use_stderr() { exit::Code::Usage as u8 } else { exit::SUCCESS };
        }
    };
    for note in &invocation.notes {
        terminal::say(note);
    }
    let dev = invocation.dev.as_ref().map(|args| dev::Dev::new(args, &invocation.file));
    restrict::privileges();
    if !invocation.apps.is_empty() {
        return house::serve(&invocation).map_or_else(|e| end(&e), |()| exit::SUCCESS);
    }
    match serve::serve(&invocation, dev) {
        Ok(Ended::Stopped) => exit::SUCCESS,
        Ok(Ended::Again) => {
            end(&exit::Error::new(exit::Code::System, format!("cannot start again: {}", dev::start_again())))
        }
        Err(e) => end(&e),
    }
}

/// Does what the program does without a server of its own.
fn carry_out(own: &Own) -> Result<(), exit::Error> {
    match own {
        Own::Status(args) => manage::status(args),
        Own::Reload(args) => manage::reload(args),
        Own::Scale(args) => manage::scale(args),
        Own::Stop(args) => manage::stop(args),
        Own::Profile(args) => profiling::profile(args),
        Own::Failed(args) => failed::failed(args),
        Own::Replay(args) => replay::replay(args),
        Own::Jobs(args) => jobs::jobs(args),
        Own::Systemd(args) => unit::print(args, options::read_serving),
        Own::Bench(args) => bench::run(args),
        Own::Completions(args) => install::completions(args, options::command()),
        Own::Install(args) => install::link(args),
        Own::HashPassword(args) => password::hash(args),
    }
}

/// Checks one app after the other. The exit code is that of the first that is wrong.
fn check(apps: &[(String, tool::Tool)]) -> u8 {
    let mut worst = exit::SUCCESS;
    for (name, tool) in apps {
        // before what R says
        let _ = terminal::print(&format!("{name}:\n"));
        let code = r::run_tool(tool).map_or_else(|e| end(&e), |status| u8::try_from(status).unwrap_or(1));
        worst = if worst == exit::SUCCESS { code } else { worst };
    }
    worst
}

fn end(e: &exit::Error) -> u8 {
    terminal::fail(&e.message);
    e.code as u8
}
