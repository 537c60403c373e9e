//! The server's side: a socket in the folder of the user, from the start of the server to its end. What is asked for
//! goes to the main thread, which replies when it can.

use super::{place, Request};
use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long a client may take to say what it wants, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of a request: the longest ones name a kind of job, which is the pattern of a path.
const LONGEST: u64 = 16 << 10;
/// Between two tries to accept after one failed: descriptors may have run out.
const PAUSE: Duration = Duration::from_millis(100);

/// The way back to whoever has asked.
#[derive(Debug)]
pub(crate) struct Reply(oneshot::Sender<String>);

impl Reply {
    /// Says it.
    pub(crate) fn say(self, answer: &impl Serialize) {
        // one that waits no more, or a value without a text, needs none
        let _ = sonic_rs::to_string(answer).map(|text| self.0.send(text));
    }
}

/// The only app of the server, or one of several, by its name.
pub(crate) struct Addressee {
    name: Option<String>,
    /// passes on what it is asked for, until it answers `false`
    notify: Box<dyn Fn(Request, Reply) -> bool + Send + Sync>,
}

impl Addressee {
    pub(crate) fn new(name: Option<String>, notify: impl Fn(Request, Reply) -> bool + Send + Sync + 'static) -> Self {
        Addressee { name, notify: Box::new(notify) }
    }

    /// Its answer; `None` when it has ended.
    fn ask(&self, request: Request) -> Option<oneshot::Receiver<String>> {
        let (reply, replied) = oneshot::channel();
        (self.notify)(request, Reply(reply)).then_some(replied)
    }
}

/// The socket, which goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Listener(PathBuf);

impl Listener {
    /// Listens from now on, in this folder or in the usual one, by tasks of this runtime.
    ///
    /// # Errors
    /// When no folder can be used, or the system refuses.
    pub(crate) fn open(folder: Option<&Path>, addressees: Vec<Addressee>) -> io::Result<Listener> {
        let addressees: Arc<[Addressee]> = addressees.into();
        place::sweep(folder);
        let folder = place::make(folder)?;
        // two servers may have one number, in containers that share the folder
        let begun = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let (new, ready) = place::paths(&folder, &format!("{}-{begun:x}", std::process::id()));
        let socket = UnixListener::bind(&new)?;
        // renamed once it listens: between bind and listen, `sweep` would take it for a socket without a listener
        if let Err(e) = fs::rename(&new, &ready) {
            let _ = fs::remove_file(&new);
            return Err(e);
        }
        tokio::spawn(async move {
            loop {
                match socket.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(attend(stream, addressees.clone()))),
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        });
        Ok(Listener(ready))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // if this fails, a command that finds the socket sees that nothing listens
        let _ = fs::remove_file(&self.0);
    }
}

/// What a request for this app, or for the whole server, is answered.
async fn answer(request: Request, app: Option<&str>, addressees: &[Addressee]) -> Option<String> {
    match request {
        Request::Status => {
            let asked: Vec<_> = addressees.iter().filter_map(|one| one.ask(Request::Status)).collect();
            let mut answers = Vec::new();
            for replied in asked {
                answers.extend(replied.await.ok());
            }
            (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
        }
        Request::Stop { .. } => {
            let asked: Vec<_> = addressees.iter().filter_map(|one| one.ask(request.clone())).collect();
            // they end alike
            asked.into_iter().next()?.await.ok()
        }
        _ => addressees.iter().find(|one| one.name.as_deref() == app)?.ask(request)?.await.ok(),
    }
}

/// Reads a request, passes it on, and sends the reply.
async fn attend(stream: UnixStream, addressees: Arc<[Addressee]>) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    let read = timeout(PATIENCE, (&mut stream).take(LONGEST).read_line(&mut line)).await;
    if !matches!(read, Ok(Ok(_))) {
        return;
    }
    let line = line.trim_end();
    let (app, line) = match line.strip_prefix('@').and_then(|line| line.split_once(' ')) {
        Some((app, line)) => (Some(app), line),
        None => (None, line),
    };
    let Some(request) = Request::read(line) else { return };
    let stops = matches!(request, Request::Stop { .. });
    let Some(mut text) = answer(request, app, &addressees).await else { return };
    text.push('\n');
    let mut stream = stream.into_inner();
    let sent = timeout(PATIENCE, stream.write_all(text.as_bytes())).await;
    if stops && matches!(sent, Ok(Ok(()))) {
        // the system closes it with the process: that is what the other side waits for
        if let Ok(stream) = stream.into_std() {
            std::mem::forget(stream);
        }
    }
}
