//! How a job is, as it goes: Server-Sent Events, one for each change, until the job is over.

use super::asked::Asked;
use super::changes::Listener;
use super::shown;
use crate::respond::unstored;
use ::jobs::Job;
use exchange::{pipe, PipeWriter, Written};
use http::StatusCode;
use httpd::{Body, Response};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// What a browser accepts that would have them.
const EVENTS: &str = "text/event-stream";

/// The id of the last event: a browser comes back after the end of a stream, and says which one it has seen.
const LAST: &str = "over";

/// A comment is sent so often, so that proxies keep the connection, and clients that have left are seen.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// No more often than this.
const RHYTHM: Duration = Duration::from_millis(100);

/// Whether a client would have events, of its fields `Accept` and `Last-Event-ID`: `None` for one that would not.
pub fn wanted(accept: Option<&[u8]>, last: Option<&[u8]>) -> Option<Wanted> {
    let accept = std::str::from_utf8(accept?).ok()?;
    let types = accept.split(',').map(|part| part.split(';').next().unwrap_or_default().trim());
    let wants = types.into_iter().any(|kind| kind.eq_ignore_ascii_case(EVENTS));
    wants.then_some(Wanted { has_all: last == Some(LAST.as_bytes()) })
}

/// What a client would have of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Wanted {
    /// it has seen the last one
    has_all: bool,
}

/// The events of a job, which is like this now.
pub fn answer(asked: Asked, (job, listener): (Job, Listener), wanted: &Wanted) -> Response {
    if wanted.has_all && job.state.is_over() {
        // which has browsers stop (HTML, section 9.2.3)
        return Response::new(StatusCode::NO_CONTENT, Default::default(), Body::empty());
    }
    let (writer, reader) = pipe(None);
    tokio::spawn(tell(asked, job, listener, writer));
    let mut response = unstored(StatusCode::OK, EVENTS, "");
    response.body = Body::pipe(reader);
    response
}

/// Writes the events, until the job is over or forgotten, its client has left, or the server is to end.
async fn tell(asked: Asked, mut job: Job, mut listener: Listener, writer: PipeWriter) {
    let mut said = String::new();
    loop {
        let text = shown::text(&job, asked.place());
        let id = if job.state.is_over() { format!("id: {LAST}\n") } else { String::new() };
        let event = format!("{id}data: {text}\n\n");
        if event != said && !write(&writer, &event).await {
            return;
        }
        said = event;
        if job.state.is_over() {
            break;
        }
        sleep(RHYTHM).await;
        loop {
            match timeout(HEARTBEAT, listener.changed()).await {
                Ok(true) => break,
                Ok(false) => return writer.end(true),
                Err(_) if writer.write(":\n\n".into(), false) == Written::Gone => return,
                Err(_) => {}
            }
        }
        match asked.find().await {
            Ok(found) => job = found,
            Err(_) => break,
        }
    }
    writer.end(true);
}

/// Writes an event when there is room. `false` when the client has left.
async fn write(writer: &PipeWriter, event: &str) -> bool {
    loop {
        match writer.write(event.to_owned().into(), false) {
            Written::Done => return true,
            Written::Gone => return false,
            Written::Full => sleep(RHYTHM).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_say_that_they_would_have_events_and_which_they_have_seen() {
        assert_eq!(wanted(Some(b"text/event-stream"), None), Some(Wanted { has_all: false }));
        assert_eq!(wanted(Some(b"text/html, Text/Event-Stream;q=0.5"), Some(b"1")), Some(Wanted { has_all: false }));
        assert_eq!(wanted(Some(b"text/event-stream"), Some(b"over")), Some(Wanted { has_all: true }));
        for other in [None, Some(&b""[..]), Some(b"*/*"), Some(b"text/event-streams"), Some(b"\xff")] {
            assert_eq!(wanted(other, Some(b"over")), None, "{other:?}");
        }
    }
}
