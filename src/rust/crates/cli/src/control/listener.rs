//! The server's side: a socket in the folder of the user, from the start of the server to its end. What is asked for
//! goes to the main thread, which replies when it can.

use super::{place, Request};
use serde::Serialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
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

/// The socket, which goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Listener(PathBuf);

impl Listener {
    /// Listens from now on, in this folder or in the usual one, by tasks of this runtime; `notify` passes requests on
    /// until it answers `false`.
    ///
    /// # Errors
    /// When no folder can be used, or the system refuses.
    pub(crate) fn open(
        folder: Option<&Path>,
        notify: impl Fn(Request, Reply) -> bool + Clone + Send + 'static,
    ) -> io::Result<Listener> {
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
                    Ok((stream, _)) => drop(tokio::spawn(attend(stream, notify.clone()))),
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

/// Reads a request, passes it on, and sends the reply.
async fn attend(stream: UnixStream, notify: impl Fn(Request, Reply) -> bool) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    let read = timeout(PATIENCE, (&mut stream).take(LONGEST).read_line(&mut line)).await;
    if !matches!(read, Ok(Ok(_))) {
        return;
    }
    let Some(request) = Request::read(line.trim_end()) else { return };
    let stops = matches!(request, Request::Stop { .. });
    let (reply, replied) = oneshot::channel();
    if !notify(request, Reply(reply)) {
        return;
    }
    let Ok(mut text) = replied.await else { return };
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
