//! The program drover: serves an app in a file from R processes that it looks after, without any R in itself.
//!
//! `options` is what it can be told, by flags, variables and a settings `file`; `table` has the settings, and `values`
//! what these may be; `words` completes what people write in short, `tell` is how it speaks, `surroundings` tells what of
//! it was taken for what; `r` finds R and the package; `serve` starts everything, says how that goes, and passes on what
//! `signals` ask for; `exit` has the exit codes. What the processes do is the business of `supervisor`.
#![forbid(unsafe_code)]

mod exit;
mod file;
mod modesty;
#[cfg(not(fuzzing))]
mod options;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod options;
mod r;
mod serve;
mod signals;
mod surroundings;
mod table;
mod tell;
mod values;
mod words;

use options::Asked;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program with these arguments, the first of which is its name. Returns when it has ended.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = words::complete(args, std::env::var_os("DROVER_FILE").is_some());
    let told = match options::read(args) {
        Ok(Asked::Serve(told)) => told,
        Ok(Asked::Tool(tool)) => return end(&r::become_tool(&tool)),
        Err(e) => {
            // nowhere to complain when neither output can be written
            let _ = e.print();
            // help and version are no errors
            return if e.use_stderr() { exit::Code::Usage.into() } else { ExitCode::SUCCESS };
        }
    };
    for note in &told.notes {
        tell::say(note);
    }
    modesty::be_modest();
    match serve::serve(&told) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => end(&e),
    }
}

fn end(e: &exit::Error) -> ExitCode {
    tell::say(&e.message);
    e.code.into()
}
