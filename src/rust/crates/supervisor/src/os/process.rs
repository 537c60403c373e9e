//! A process that may be no child of ours: signalled and watched through a descriptor that cannot come to mean another
//! one.

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{
    getpid, kill_process_group, pidfd_open, pidfd_send_signal, test_kill_process, waitid, Pid, PidfdFlags, Signal,
    WaitId, WaitIdOptions,
};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Whether the system has what processes are watched, signalled and waited for by. Without it there are no worker
/// processes: docs/decisions/0009-supervision.md says why.
///
/// # Errors
/// What it lacks, and what to do.
pub fn check_system() -> io::Result<()> {
    // somebody's child, but not its own
    let is_waited_for = |fd: OwnedFd| waitid(WaitId::PidFd(fd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    match pidfd_open(getpid(), PidfdFlags::empty()).map(is_waited_for) {
        Ok(Ok(_) | Err(Errno::CHILD)) => Ok(()),
        Err(e @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM)) => Err(e.into()),
        Ok(Err(e)) | Err(e) => Err(io::Error::other(format!(
            "worker processes need pidfd_open() and waitid() of what it opens, which Linux has since 5.4, and this \
             system refuses ({}): an older kernel, or a sandbox. One process does without: dr_serve(workers = 1) in an \
             R session",
            io::Error::from(e)
        ))),
    }
}

/// A process that leads its process group, as all of ours do: what it has started belongs to it.
#[derive(Clone, Debug)]
pub struct Process {
    pid: Pid,
    fd: Arc<OwnedFd>,
}

impl Process {
    /// The process `pid`, which must not have been waited for yet.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(pid: i32) -> io::Result<Process> {
        // as a group, 1 would be every process that there is
        let pid = Some(pid)
            .filter(|&pid| pid > 1)
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other("no process id"))?;
        Ok(Process { pid, fd: Arc::new(pidfd_open(pid, PidfdFlags::empty())?) })
    }

    /// Its id.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// The descriptor, for other code that signals the process.
    pub fn fd(&self) -> &Arc<OwnedFd> {
        &self.fd
    }

    /// Asks it to end.
    pub fn terminate(&self) {
        // an error means that it has ended
        let _ = pidfd_send_signal(&self.fd, Signal::TERM);
    }

    /// Ends it and all that it has started and that did not move to a group of its own.
    pub fn kill(&self) {
        // until somebody has waited for it, its number is its own
        let has_number = pidfd_send_signal(&self.fd, Signal::KILL).is_ok();
        // A zygote kills the groups of its workers before it waits for them. Init, where they go without a zygote, does
        // not: what is left of a group then keeps the number from being given to another process
        if has_number || test_kill_process(self.pid) == Err(Errno::SRCH) {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN)];
        matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1))
    }

    /// How it ended, when it was a child of ours; its entry in the table of processes is then free.
    pub fn reap(&self) -> Exit {
        match waitid(WaitId::PidFd(self.fd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Exit::Status(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Unknown,
            },
            _ => Exit::Unknown,
        }
    }
}

impl AsFd for Process {
    /// Readable when it has ended.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// by itself
    Status(i32),
    /// by a signal
    Signal(i32),
    /// not known
    Unknown,
}

impl Exit {
    /// Of a status as wait(2) gives it on Linux: the signal in the low seven bits, or the exit status above them.
    pub fn from_wait(status: u32) -> Exit {
        match status & 0x7f {
            0 => Exit::Status((status >> 8 & 0xff) as i32),
            signal => Exit::Signal(signal as i32),
        }
    }
}

impl fmt::Display for Exit {
    /// What a process did, after its name: "exited with status 1".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exit::Status(code) => write!(f, "exited with status {code}"),
            Exit::Signal(signal) => {
                write!(f, "was killed by signal {signal}")?;
                NAMES.iter().find(|(s, _)| s.as_raw() == signal).map_or(Ok(()), |(_, name)| write!(f, " ({name})"))
            }
            Exit::Unknown => f.write_str("has ended"),
        }
    }
}

/// The signals that end processes in practice.
const NAMES: &[(Signal, &str)] = &[
    (Signal::HUP, "HUP"),
    (Signal::INT, "INT"),
    (Signal::QUIT, "QUIT"),
    (Signal::ILL, "ILL"),
    (Signal::TRAP, "TRAP"),
    (Signal::ABORT, "ABRT"),
    (Signal::BUS, "BUS"),
    (Signal::FPE, "FPE"),
    (Signal::KILL, "KILL"),
    (Signal::USR1, "USR1"),
    (Signal::SEGV, "SEGV"),
    (Signal::USR2, "USR2"),
    (Signal::PIPE, "PIPE"),
    (Signal::ALARM, "ALRM"),
    (Signal::TERM, "TERM"),
    (Signal::XCPU, "XCPU"),
    (Signal::XFSZ, "XFSZ"),
    (Signal::SYS, "SYS"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn ends_are_told_in_words() {
        assert_eq!(Exit::from_wait(9).to_string(), "was killed by signal 9 (KILL)");
        // with a core dump
        assert_eq!(Exit::from_wait(0x80 | 11).to_string(), "was killed by signal 11 (SEGV)");
        assert_eq!(Exit::from_wait(40).to_string(), "was killed by signal 40");
        assert_eq!(Exit::from_wait(3 << 8).to_string(), "exited with status 3");
        assert_eq!(Exit::from_wait(0), Exit::Status(0));
    }

    #[test]
    #[expect(clippy::zombie_processes, reason = "it is waited for by its descriptor")]
    fn a_process_goes_with_what_it_has_started() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 1000 & echo $!; wait"])
            .process_group(0)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let process = Process::open(child.id() as i32).unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        let grandchild = Process::open(line.trim().parse().unwrap()).unwrap();
        assert!(!process.has_ended() && !grandchild.has_ended());
        process.kill();
        for one in [&process, &grandchild] {
            poll(&mut [PollFd::new(one, PollFlags::IN)], Some(&Timespec { tv_sec: 10, tv_nsec: 0 })).unwrap();
            assert!(one.has_ended());
        }
        assert_eq!(process.reap(), Exit::Signal(9));
        assert_eq!(process.reap(), Exit::Unknown);
    }

    fn leader() -> std::process::Child {
        Command::new("sleep").arg("1000").process_group(0).spawn().unwrap()
    }

    #[test]
    fn a_group_that_has_got_its_number_is_left_alone() {
        let mut gone = leader();
        let process = Process::open(gone.id() as i32).unwrap();
        gone.kill().unwrap();
        gone.wait().unwrap();
        // only root may choose the next process id
        for _ in 0..200 {
            if std::fs::write("/proc/sys/kernel/ns_last_pid", (gone.id() - 1).to_string()).is_err() {
                return;
            }
            let mut other = leader();
            let is_same = other.id() == gone.id();
            if is_same {
                process.kill();
            }
            // what is killed is gone by then
            std::thread::sleep(std::time::Duration::from_millis(if is_same { 100 } else { 0 }));
            let lives = other.try_wait().unwrap().is_none();
            other.kill().unwrap();
            other.wait().unwrap();
            assert!(lives, "it was killed in another's place");
            if is_same {
                return;
            }
        }
    }

    #[test]
    fn nonsense_is_no_process() {
        for pid in [0, -1, 1, i32::MIN, i32::MAX] {
            assert!(Process::open(pid).is_err(), "{pid}");
        }
    }
}
