//! The commands' side: finding the servers that run, and asking them.

use super::{place, Request, Status};
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a server may take to say how it is: its main thread waits for nothing but the system, which counts memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which server is meant.
#[derive(Clone, Debug)]
pub(crate) struct Wanted(pub(crate) String);

impl Wanted {
    /// Its port, its process, or its app's file or folder.
    fn is(&self, status: &Status) -> bool {
        let port = status.url.as_deref().and_then(|url| url.rsplit(':').next());
        if port == Some(&*self.0) || status.pid.to_string() == self.0 || status.file == self.0 {
            return true;
        }
        let Ok(path) = fs::canonicalize(&self.0) else { return false };
        let Ok(file) = fs::canonicalize(&status.file) else { return false };
        file == path || file.parent() == Some(&*path)
    }
}

/// A server that runs.
#[derive(Debug)]
pub(crate) struct Found {
    socket: PathBuf,
    /// how it was when it was found
    pub(crate) status: Status,
}

impl Found {
    /// Asks, and waits for the answer; `None` for as long as that takes.
    ///
    /// # Errors
    /// When it has ended, or says nothing within the time.
    pub(crate) fn ask<T: DeserializeOwned>(&self, request: Request, wait: Option<Duration>) -> io::Result<(T, Asked)> {
        ask(&self.socket, request, wait)
    }
}

/// A connection whose answer was read.
#[derive(Debug)]
pub(crate) struct Asked(BufReader<UnixStream>);

impl Asked {
    /// Waits until the process has ended; whether it did within the time.
    pub(crate) fn has_ended(mut self, wait: Duration) -> bool {
        let waits = self.0.get_ref().set_read_timeout(Some(wait.max(Duration::from_millis(1))));
        match waits.and_then(|()| self.0.fill_buf().map(<[u8]>::is_empty)) {
            Ok(ended) => ended,
            // it was killed with something unread
            Err(e) => !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

fn ask<T: DeserializeOwned>(socket: &Path, request: Request, wait: Option<Duration>) -> io::Result<(T, Asked)> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(wait)?;
    writeln!(stream, "{}", request.words())?;
    let mut asked = Asked(BufReader::new(stream));
    let mut line = String::new();
    asked.0.read_line(&mut line)?;
    if line.is_empty() {
        return Err(io::Error::new(ErrorKind::UnexpectedEof, "it has ended without an answer"));
    }
    Ok((sonic_rs::from_str(&line).map_err(io::Error::other)?, asked))
}

/// The servers of this user that run, with their sockets in this folder or in the usual ones, or those of them that are
/// meant.
pub(crate) fn find(folder: Option<&Path>, wanted: Option<&Wanted>) -> Vec<Found> {
    place::sweep(folder);
    let mut found = Vec::new();
    for socket in place::sockets(folder) {
        // one that does not answer ends at this moment, or its main thread is stuck
        if let Ok((status, _)) = ask(&socket, Request::Status, Some(PATIENCE)) {
            found.push(Found { socket, status });
        }
    }
    found.retain(|server| wanted.is_none_or(|wanted| wanted.is(&server.status)));
    found.sort_by(|a, b| b.status.age.total_cmp(&a.status.age));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(file: &Path, url: &str) -> Status {
        Status {
            version: String::new(),
            pid: 4711,
            file: file.display().to_string(),
            url: Some(url.to_owned()),
            generation: 1,
            age: 0.0,
            snapshot: Default::default(),
        }
    }

    #[test]
    fn a_server_is_meant_by_port_process_file_or_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.R");
        fs::write(&file, "").unwrap();
        let one = status(&file, "http://127.0.0.1:8080");
        let is = |word: &str| Wanted(word.to_owned()).is(&one);
        assert!(is("8080") && is("4711") && is(file.to_str().unwrap()) && is(folder.path().to_str().unwrap()));
        assert!(!is("808") && !is("47") && !is("/none/app.R") && !is("127.0.0.1") && !is("/"));
        assert!(Wanted("pkg::app()".into()).is(&status(Path::new("pkg::app()"), "unix:/run/a")));
    }
}
