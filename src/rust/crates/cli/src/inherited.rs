//! Sockets that the program is started with, as by a `.socket` unit of systemd: sd_listen_fds(3).

use crate::exit::{Code, Error};
use std::env;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Takes the sockets that the program was started with; none, if it was started without.
///
/// # Errors
/// When one is not there.
pub(crate) fn take() -> Result<Vec<Arc<OwnedFd>>, Error> {
    let (pid, sockets) = (env::var_os("LISTEN_PID"), env::var_os("LISTEN_FDS"));
    let count = count(pid.as_deref(), sockets.as_deref(), std::process::id());
    let sockets = engine::take_inherited(count)
        .map_err(|e| Error::new(Code::Address, format!("LISTEN_FDS is {count}, but {e}")))?;
    Ok(sockets.into_iter().map(Arc::new).collect())
}

/// How many sockets are meant for this process: the variables may be those of a process before it.
fn count(pid: Option<&OsStr>, sockets: Option<&OsStr>, own: u32) -> usize {
    let is_meant = pid.and_then(OsStr::to_str).and_then(|pid| pid.parse().ok()) == Some(own);
    let sockets = sockets.and_then(OsStr::to_str).and_then(|sockets| sockets.parse().ok());
    sockets.filter(|_| is_meant).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_for_the_process_that_is_named() {
        let count = |pid: Option<&str>, sockets: Option<&str>| count(pid.map(OsStr::new), sockets.map(OsStr::new), 7);
        assert_eq!((count(Some("7"), Some("1")), count(Some("7"), Some("2"))), (1, 2));
        for (pid, sockets) in [
            (Some("8"), Some("1")),
            (None, Some("1")),
            (Some("7"), None),
            (Some("7"), Some("x")),
            (Some(""), Some("1")),
        ] {
            assert_eq!(count(pid, sockets), 0);
        }
    }
}
