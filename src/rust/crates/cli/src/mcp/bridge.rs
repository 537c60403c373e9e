//! Between the client's streams and the server: a request for each message, all at the same time. A client gives one up
//! by `notifications/cancelled`, which closes its connection: then the server does what it does when any client goes.

use super::answer::{self, Events, EVENTS, INTERNAL, INVALID};
use super::message::{Agreed, Id, Message};
use super::streams::{Line, Lines, Streams};
use crate::http::{Connection, Head};
use crate::invocation::Client;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// Messages under way, beyond which further ones are refused: each has a connection, and its bytes in memory.
const MOST_UNDER_WAY: usize = 256;

/// How long the client may take to read what was written last, when the server has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// After a stream of the session has ended, the next one begins.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

/// What is the same for all messages.
struct Way {
    socket: PathBuf,
    client: Client,
    /// where the app has its endpoint, once it is loaded
    endpoint: watch::Receiver<Option<String>>,
    /// the longest message, in bytes
    longest: u64,
    out: mpsc::Sender<Vec<u8>>,
    /// requests by their ids
    under_way: Mutex<HashMap<Id, AbortHandle>>,
    tasks: Mutex<JoinSet<()>>,
    /// streams of notifications, which last until they are given up
    listening: Mutex<JoinSet<()>>,
    /// whether one of these is that of the session
    follows: AtomicBool,
    agreed: Mutex<Agreed>,
}

/// The bridge, as the server that it leads to has it.
pub(crate) struct Bridge {
    way: Arc<Way>,
    reading: JoinHandle<()>,
    written: oneshot::Receiver<()>,
}

impl Bridge {
    /// Begins by tasks of this runtime: messages wait until `endpoint` says where they go. `ended` is called when the
    /// client sends no more, with whether all was answered: for what takes longer than `patience` it does not wait.
    ///
    /// # Errors
    /// When the system has no threads.
    pub(crate) fn open(
        streams: Streams,
        client: Client,
        socket: PathBuf,
        endpoint: watch::Receiver<Option<String>>,
        longest: u64,
        patience: Duration,
        ended: impl FnOnce(bool) + Send + 'static,
    ) -> io::Result<Bridge> {
        let Lines { come, go: out, written } = streams.open(longest)?;
        let way = Arc::new(Way {
            socket,
            client,
            endpoint,
            longest,
            out,
            under_way: Mutex::default(),
            tasks: Mutex::default(),
            listening: Mutex::default(),
            follows: AtomicBool::new(false),
            agreed: Mutex::default(),
        });
        let reading = way.clone();
        let reading = tokio::spawn(async move {
            reading.read(come).await;
            lock(&reading.listening).abort_all();
            ended(reading.is_done(patience).await);
        });
        Ok(Bridge { way, reading, written })
    }

    /// When the server has ended: what it has answered is written.
    pub(crate) async fn close(self) {
        let Bridge { way, reading, written } = self;
        reading.abort();
        let _ = reading.await;
        way.is_done(LAST_WORDS).await;
        // nothing else can write any more: the thread that does it ends
        drop(way);
        let _ = timeout(LAST_WORDS, written).await;
    }
}

impl Way {
    /// Passes on what the client sends, until it sends no more, or reads no more.
    async fn read(self: &Arc<Self>, mut lines: mpsc::Receiver<Line>) {
        // a client that goes before it has said anything is not made to wait for the app
        let Some(mut line) = lines.recv().await else { return };
        if self.endpoint.clone().wait_for(Option::is_some).await.is_err() {
            return;
        }
        loop {
            self.take(line).await;
            match lines.recv().await {
                Some(next) if !self.out.is_closed() => line = next,
                _ => return,
            }
        }
    }

    async fn take(self: &Arc<Self>, line: Line) {
        let Line::Whole(bytes) = line else {
            let why = format!("the message is longer than max_body = {} bytes", self.longest);
            return self.say(answer::error(None, INVALID, &why, None)).await;
        };
        let message = Message::read(&bytes);
        if message.method.as_deref() == Some("notifications/cancelled") {
            if let Some(task) = message.cancels.and_then(|id| lock(&self.under_way).remove(&id)) {
                task.abort();
            }
            return;
        }
        if let Some(why) = self.refuses(&message) {
            if message.is_notification() {
                return;
            }
            return self.say(answer::error(message.id.as_ref(), INVALID, &why, None)).await;
        }
        let (way, id) = (self.clone(), message.id.clone());
        let tasks = if message.listens() { &self.listening } else { &self.tasks };
        let task = lock(tasks).spawn(async move { way.carry(&message, &bytes).await });
        // it has not run yet: there is one thread for all
        if let Some(id) = id {
            lock(&self.under_way).insert(id, task);
        }
    }

    /// Why a message is not passed on.
    fn refuses(&self, message: &Message) -> Option<String> {
        let mut under_way = 0;
        for tasks in [&self.tasks, &self.listening] {
            let mut tasks = lock(tasks);
            while tasks.try_join_next().is_some() {}
            under_way += tasks.len();
        }
        if under_way >= MOST_UNDER_WAY {
            return Some(format!("{MOST_UNDER_WAY} messages are under way: wait for an answer"));
        }
        let is_twice = message.id.as_ref().is_some_and(|id| lock(&self.under_way).contains_key(id));
        is_twice.then(|| "a request with this id is under way".to_owned())
    }

    /// Has one message answered.
    async fn carry(self: &Arc<Self>, message: &Message, bytes: &[u8]) {
        let outcome = self.ask(message, bytes).await;
        if message.subscribes() && matches!(&outcome, Ok(Some(_))) && !self.follows.swap(true, Ordering::Relaxed) {
            let way = self.clone();
            lock(&self.listening).spawn(async move { way.follow().await });
        }
        if let Some(id) = &message.id {
            lock(&self.under_way).remove(id);
        }
        // the client's answer to a question of the server's, perhaps to one that is over
        let is_reply = message.method.is_none() && answer::is_final(bytes);
        match outcome {
            Ok(None) => {}
            // those get no answer, not even an error
            Ok(Some(_)) if is_reply => {}
            Err(_) if is_reply || message.is_notification() => {}
            Ok(Some(line)) => self.say(line).await,
            Err(Failed { message: why, status }) => {
                self.say(answer::error(message.id.as_ref(), INTERNAL, &why, status)).await;
            }
        }
    }

    /// Posts a message, and writes the events that come. The line that ends it, if there is one that is not among them.
    async fn ask(&self, message: &Message, bytes: &[u8]) -> Result<Option<Vec<u8>>, Failed> {
        let mut connection = Connection::new(UnixStream::connect(&self.socket).await?);
        let endpoint = self.endpoint.borrow().clone().unwrap_or_default();
        let agreed = lock(&self.agreed).clone();
        let credentials = self.client.credentials.as_deref();
        let mut request = message.head(&endpoint, &agreed, credentials, bytes.len()).into_bytes();
        request.extend_from_slice(bytes);
        let sent = connection.send(&request).await;
        // a server that refuses may do so before it has read all
        let head = connection.head().await.map_err(|e| sent.err().unwrap_or(e))?;
        if head.status == 200 && head.content_type == EVENTS {
            let is_over = self.pass_events(&mut connection, &head).await;
            return match (is_over, &message.id) {
                (Ok(true), _) => Ok(None),
                (_, Some(id)) if message.listens() => Ok(Some(answer::ended(id))),
                (Ok(false), _) => Err(Failed { message: "the answer broke off".to_owned(), status: None }),
                (Err(e), _) => Err(e.into()),
            };
        }
        let body = connection.body(&head, false).whole().await?;
        if head.content_type == "application/json" && answer::is_message(&body) {
            if message.method.as_deref() == Some("initialize") {
                *lock(&self.agreed) = Agreed { version: answer::version(&body), session: head.session.clone() };
            }
            return Ok(Some(answer::line(body)));
        }
        match head.status {
            200..=299 if message.id.is_none() => Ok(None),
            // of middleware, or of a route in front of the endpoint
            status @ 200..=299 => {
                Err(Failed { message: "the app's answer is no message".to_owned(), status: Some(status) })
            }
            401 if credentials.is_some() => {
                let message = "Unauthorized: the app does not take these credentials".to_owned();
                Err(Failed { message, status: Some(401) })
            }
            status => Err(Failed { message: answer::refusal(status, &body), status: Some(status) }),
        }
    }

    /// Writes the events of a stream until it ends; whether one of them ends its request.
    async fn pass_events(&self, connection: &mut Connection<UnixStream>, head: &Head) -> io::Result<bool> {
        let (mut body, mut events, mut is_over) = (connection.body(head, false), Events::default(), false);
        while let Some(piece) = body.piece().await? {
            for event in events.with(&piece) {
                is_over |= answer::is_final(&event);
                self.say(answer::line(event)).await;
            }
        }
        Ok(is_over)
    }

    /// Writes what the stream of the session says, which begins anew when the app is loaded anew, until there is none.
    async fn follow(&self) {
        while self.follow_once().await.unwrap_or(true) {
            sleep(AGAIN_AFTER).await;
        }
    }

    /// Whether there was such a stream.
    async fn follow_once(&self) -> io::Result<bool> {
        let mut connection = Connection::new(UnixStream::connect(&self.socket).await?);
        let endpoint = self.endpoint.borrow().clone().unwrap_or_default();
        let request = lock(&self.agreed).head(&endpoint, self.client.credentials.as_deref());
        connection.send(request.as_bytes()).await?;
        let head = connection.head().await?;
        if head.status != 200 {
            return Ok(head.status != 405);
        }
        self.pass_events(&mut connection, &head).await?;
        Ok(true)
    }

    /// Waits until all that is under way is answered; whether it was within the time.
    async fn is_done(&self, patience: Duration) -> bool {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        timeout(patience, async { while tasks.join_next().await.is_some() {} }).await.is_ok()
    }

    async fn say(&self, line: Vec<u8>) {
        // a client that reads no more is noticed when it is read from
        let _ = self.out.send(line).await;
    }
}

/// Why a request has no answer of its own.
struct Failed {
    message: String,
    /// of HTTP
    status: Option<u16>,
}

impl From<io::Error> for Failed {
    fn from(e: io::Error) -> Self {
        let message = match e.kind() {
            io::ErrorKind::UnexpectedEof => "the answer broke off".to_owned(),
            _ => format!("the server cannot be reached: {e}"),
        };
        Failed { message, status: None }
    }
}

/// Nothing that holds one of these locks can fail.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
