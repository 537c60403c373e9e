//! What signals say to the program: `docs/processes-and-signals.md` has the table. Neighbour: `serve`, which acts on
//! it.

use rustix::process::Signal;
use std::fs::File;
use std::io;
use tokio::signal::unix::{signal, SignalKind};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// SIGINT, SIGTERM, SIGQUIT, and SIGHUP of a terminal that has gone
    End,
    /// SIGHUP
    Reload,
    /// SIGUSR1: log files are opened again
    ReopenLog,
    /// SIGTTIN: one worker more
    More,
    /// SIGTTOU: one worker fewer
    Fewer,
}

/// Has `notify` called for each signal from now on, by tasks of this runtime, until it answers `false`. SIGHUP stays
/// ignored where it was, as by `nohup`.
///
/// # Errors
/// When the system refuses a handler.
pub fn listen(notify: impl Fn(Asked) -> bool + Clone + Send + 'static) -> io::Result<()> {
    let mut handled = vec![
        (SignalKind::interrupt(), (|_| Asked::End) as fn(bool) -> Asked),
        (SignalKind::terminate(), |_| Asked::End),
        (SignalKind::quit(), |_| Asked::End),
        (SignalKind::user_defined1(), |_| Asked::ReopenLog),
    ];
    if !ignores_hang_ups() {
        handled.push((SignalKind::hangup(), hang_up));
    }
    let had_terminal = has_terminal();
    if !had_terminal {
        // of a terminal these are orders to stop for as long as another process has it
        handled.push((SignalKind::from_raw(Signal::TTIN.as_raw()), |_| Asked::More));
        handled.push((SignalKind::from_raw(Signal::TTOU.as_raw()), |_| Asked::Fewer));
    }
    for (kind, asked) in handled {
        let mut signals = signal(kind)?;
        let notify = notify.clone();
        tokio::spawn(async move { while signals.recv().await.is_some() && notify(asked(had_terminal)) {} });
    }
    Ok(())
}

/// From a person, that the app is to be loaded anew; from the system or a shell, that the terminal has gone.
fn hang_up(had_terminal: bool) -> Asked {
    if had_terminal && !has_terminal() {
        Asked::End
    } else {
        Asked::Reload
    }
}

/// Whether there is a terminal that this process belongs to.
fn has_terminal() -> bool {
    File::open("/dev/tty").is_ok()
}

/// Whether whoever started the program has SIGHUP ignored: bit 0 of the mask in `/proc`.
fn ignores_hang_ups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}
