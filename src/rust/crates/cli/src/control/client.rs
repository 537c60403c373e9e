//! The commands' side: finding the servers that run, and asking them.

use super::{place, Request, Status};
use crate::users;
use rustix::process::geteuid;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a server may take to say how it is: its main thread waits for nothing but the system, which counts memory.
const PATIENCE: Duration = Duration::from_secs(10);
/// Far longer than any status: root also asks servers of other users, which may send anything.
const LONGEST_STATUS: usize = 16 << 20;

/// Which server is meant.
#[derive(Clone, Debug)]
pub(crate) struct Wanted(pub(crate) String);

impl Wanted {
    /// Its port, its process, its app's file or folder, or the name of one of several apps.
    fn is(&self, status: &Status) -> bool {
        let port = status.url.as_deref().and_then(|url| url.rsplit(':').next());
        // behind which the path may be that the app is below
        let port = port.and_then(|port| port.split('/').next());
        let is_name = status.name.as_ref() == Some(&self.0);
        if port == Some(&*self.0) || status.pid.to_string() == self.0 || status.file == self.0 || is_name {
            return true;
        }
        let Ok(path) = fs::canonicalize(&self.0) else { return false };
        let Ok(file) = fs::canonicalize(&status.file) else { return false };
        file == path || file.parent() == Some(&*path)
    }
}

/// A server that runs, or one of its apps.
#[derive(Debug)]
pub(crate) struct Found {
    socket: PathBuf,
    /// how it was when it was found
    pub(crate) status: Status,
}

impl Found {
    /// Whether the server belongs to the current user.
    pub(crate) fn is_own(&self) -> bool {
        self.status.user.is_none()
    }

    /// Asks, and waits for the answer; `None` for as long as that takes.
    ///
    /// # Errors
    /// When it has ended, or says nothing within the time.
    pub(crate) fn ask<T: DeserializeOwned>(&self, request: Request, wait: Option<Duration>) -> io::Result<(T, Asked)> {
        ask(&self.socket, self.status.name.as_deref(), &request, wait)
    }

    /// How it is now.
    ///
    /// # Errors
    /// When it has ended, or says nothing within the time.
    pub(crate) fn now(&self, wait: Duration) -> io::Result<Status> {
        let (apps, _) = ask::<Vec<Status>>(&self.socket, None, &Request::Status, Some(wait))?;
        let found = apps.into_iter().find(|status| status.name == self.status.name);
        found.ok_or_else(|| io::Error::new(ErrorKind::NotFound, "the server has no such app any more"))
    }

    /// Whether this is of the same server.
    pub(crate) fn is_with(&self, other: &Found) -> bool {
        self.socket == other.socket
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

fn ask<T: DeserializeOwned>(
    socket: &Path,
    app: Option<&str>,
    request: &Request,
    wait: Option<Duration>,
) -> io::Result<(T, Asked)> {
    let mut stream = UnixStream::connect(socket)?;
    let app = app.map_or_else(String::new, |app| format!("@{app} "));
    writeln!(stream, "{app}{}", request.words())?;
    let mut asked = Asked(BufReader::new(stream));
    let most = if *request == Request::Status { LONGEST_STATUS } else { usize::MAX };
    let line = line(&mut asked.0, wait, most)?;
    if line.is_empty() {
        return Err(io::Error::new(ErrorKind::UnexpectedEof, "it has ended without an answer"));
    }
    Ok((sonic_rs::from_slice(&line).map_err(io::Error::other)?, asked))
}

/// A line of at most `most` bytes, which must be complete within `wait`, even if it arrives in pieces.
fn line(stream: &mut BufReader<UnixStream>, wait: Option<Duration>, most: usize) -> io::Result<Vec<u8>> {
    let until = wait.map(|wait| Instant::now() + wait);
    let mut line = Vec::new();
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.get_ref().set_read_timeout(left)?;
        let bytes = stream.fill_buf()?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
        let (read, is_over) = (end.map_or(bytes.len(), |end| end + 1), end.is_some() || bytes.is_empty());
        stream.consume(read);
        if line.len() > most {
            return Err(io::Error::new(ErrorKind::InvalidData, "it says too much"));
        }
        if is_over {
            return Ok(line);
        }
    }
}

/// The servers of this user that run, or for root those of all users, with their sockets in this folder or in the usual
/// ones; or those of them that are meant.
pub(crate) fn find(folder: Option<&Path>, wanted: Option<&Wanted>) -> Vec<Found> {
    place::sweep(folder);
    let mut servers = Vec::new();
    for socket in place::sockets(folder) {
        // one that does not answer ends at this moment, or its main thread is stuck
        if let Ok((apps, _)) = ask::<Vec<Status>>(&socket.path, None, &Request::Status, Some(PATIENCE)) {
            let user = (socket.owner != geteuid().as_raw()).then(|| users::name(socket.owner));
            let of_app =
                |status| Found { socket: socket.path.clone(), status: Status { user: user.clone(), ..status } };
            servers.push(apps.into_iter().map(of_app).collect::<Vec<_>>());
        }
    }
    // the oldest first, and the apps of one in their order
    let age = |apps: &[Found]| apps.iter().map(|app| app.status.age).fold(0.0, f64::max);
    servers.sort_by(|a, b| age(b).total_cmp(&age(a)));
    let mut found: Vec<Found> = servers.into_iter().flatten().collect();
    found.retain(|server| wanted.is_none_or(|wanted| wanted.is(&server.status)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(file: &Path, url: &str) -> Status {
        Status {
            version: String::new(),
            pid: 4711,
            user: None,
            name: None,
            file: file.display().to_string(),
            url: Some(url.to_owned()),
            generation: 1,
            scale: (2, 2),
            age: 0.0,
            snapshot: Default::default(),
        }
    }

    #[test]
    fn a_line_is_bounded_in_length_and_time_however_it_comes() {
        let read = |text: &'static [u8], stays: bool, most| {
            let (mut server, client) = UnixStream::pair().unwrap();
            server.write_all(text).unwrap();
            let open = stays.then_some(server);
            let read = line(&mut BufReader::new(client), Some(Duration::from_millis(300)), most);
            drop(open);
            read.map_err(|e| e.kind())
        };
        assert_eq!(read(b"abc\nd", true, 3).unwrap(), b"abc");
        assert_eq!(read(b"abc", false, 9).unwrap(), b"abc");
        assert_eq!(read(b"abcd", true, 3), Err(ErrorKind::InvalidData));
        // each byte is within the time, and all of them are not
        let (mut server, client) = UnixStream::pair().unwrap();
        let drips = std::thread::spawn(move || {
            while server.write_all(b"a").is_ok() {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let dripped = line(&mut BufReader::new(client), Some(Duration::from_millis(100)), usize::MAX);
        assert!(matches!(dripped.unwrap_err().kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock));
        drips.join().unwrap();
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
        let one = Status { name: Some("shop".to_owned()), ..status(&file, "http://127.0.0.1:8080/shop") };
        assert!(["shop", "8080", "4711"].iter().all(|word| Wanted((*word).to_owned()).is(&one)));
        assert!(!Wanted("blog".to_owned()).is(&one));
        assert!(Wanted("pkg::app()".into()).is(&status(Path::new("pkg::app()"), "unix:/run/a")));
    }
}
