//! `drover hash-password`: the hash of a password, for `dr_auth_basic()`. The password is asked for at a terminal,
//! without echo, or read from standard input; it is never an argument, which every user of the machine could see.
//! Neighbour: the crate `identity`, which makes the hash.

use crate::exit::{Code, Error};
use crate::terminal::print;
use clap::Args;
use rustix::termios::{tcgetattr, tcsetattr, LocalModes, OptionalActions, Termios};
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::thread;
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::oneshot;

const EXAMPLES: &str = "\
Examples:
  drover hash-password                               asks for the password twice
  drover hash-password --user ada >> users           a line for dr_auth_basic(file = \"users\")
  pass show shop | drover hash-password              the password is the one line of the input";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PasswordArgs {
    /// Print a line for a file of users: this name, then the hash
    #[arg(long, value_name = "NAME", value_parser = name_of_user)]
    user: Option<String>,
}

/// A longer input is refused without being read to its end.
const LONGEST_INPUT: u64 = 4096;

fn name_of_user(text: &str) -> Result<String, String> {
    // "#" begins a comment of the file, where blanks around a line do not count either
    if identity::is_name_of_user(text) && !text.starts_with('#') && text.trim() == text {
        Ok(text.to_owned())
    } else {
        let right = "must have at least one character, no \":\" or control characters, no \"#\" at its beginning, \
                     and no blanks at its ends";
        Err(right.to_owned())
    }
}

/// Prints the hash.
///
/// # Errors
/// When there is no password to be had, or none that can be hashed.
pub(crate) fn hash(args: &PasswordArgs) -> Result<(), Error> {
    let password = if io::stdin().is_terminal() { ask_twice()? } else { read_line()? };
    let hash = identity::hash_password(&password).map_err(|e| Error::new(Code::Usage, format!("the password: {e}")))?;
    let user = args.user.as_ref().map_or_else(String::new, |name| format!("{name}:"));
    print(&format!("{user}{hash}\n"))
}

/// The password on standard input: all of it, but for the line break at its end.
fn read_line() -> Result<String, Error> {
    let mut text = String::new();
    let read = io::stdin().lock().take(LONGEST_INPUT).read_to_string(&mut text);
    read.map_err(|e| Error::new(Code::Usage, format!("the password cannot be read: {e}")))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.contains(['\n', '\r']) {
        return Err(Error::new(Code::Usage, "the password must be one line of standard input"));
    }
    Ok(line.to_owned())
}

/// From the terminal. Signals that end the program must not leave it without echo, so they are waited for meanwhile.
fn ask_twice() -> Result<String, Error> {
    let cannot = |e: io::Error| Error::new(Code::System, format!("cannot ask for the password: {e}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(cannot)?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
        let _silent = Silent::begin().map_err(cannot)?;
        let (answer, answered) = oneshot::channel();
        // a thread of its own: a blocked read of a terminal cannot be cancelled
        thread::spawn(move || answer.send(ask("Password: ").and_then(|one| Ok((one, ask("Again: ")?)))));
        let interrupted = || Err(Error::new(Code::App, "interrupted"));
        let (one, again) = tokio::select! {
            answered = answered => answered.map_err(|_| cannot(io::ErrorKind::BrokenPipe.into()))?.map_err(cannot)?,
            _ = interrupt.recv() => return interrupted(),
            _ = terminate.recv() => return interrupted(),
        };
        if one != again {
            return Err(Error::new(Code::Usage, "the two passwords are not the same"));
        }
        Ok(one)
    })
}

/// One line of the terminal. The prompt goes to standard error: standard output may be a file of hashes.
fn ask(prompt: &str) -> io::Result<String> {
    let mut line = String::new();
    io::stderr().write_all(prompt.as_bytes())?;
    let count = io::stdin().read_line(&mut line)?;
    // the line break that was not shown
    io::stderr().write_all(b"\n")?;
    match line.strip_suffix('\n') {
        Some(text) => Ok(text.to_owned()),
        None if count == 0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the terminal has no more input")),
        None => Ok(line),
    }
}

/// While it lives, the terminal does not show what is typed.
struct Silent(Termios);

impl Silent {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        // what was typed before the prompt is dropped: it has been shown
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Silent(before))
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        // a terminal that has gone needs no echo
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}
