//! What an attempt has come to: the response that its handler would have given a client is the result.

use crate::respond::{from_head, from_reply, Replied};
use ::jobs::{End, Outcome as Result};
use admission::Late;
use bytes::Bytes;
use dispatch::Outcome;
use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use httpd::{Fields, Response};
use std::future::poll_fn;
use std::io;

/// Longest result, in bytes: it is kept whole, and read whole.
const LONGEST_RESULT: usize = 64 << 20;

/// Bytes of a file that are read at a time.
const PIECE: usize = 64 << 10;

/// Most of the body of an error that is told, in characters.
const LONGEST_ERROR: usize = 500;

/// After an attempt that was not run, the next one waits so long, in ms.
const BACK: u64 = 1000;

/// The end of an attempt, and what the log says of it.
pub struct Ended {
    pub end: End,
    pub why: String,
}

impl Ended {
    /// It was not run.
    pub fn back(why: &str) -> Self {
        Ended { end: End::Back { delay: BACK }, why: why.to_owned() }
    }

    /// It can never be run.
    pub fn broken(why: &str) -> Self {
        Ended::failed("the server could not run it", why.to_owned(), false)
    }

    fn failed(error: &str, why: String, may_retry: bool) -> Self {
        Ended { end: End::Failed { error: error.to_owned(), may_retry }, why }
    }

    fn lost(error: &str, why: String) -> Self {
        Ended { end: End::Lost { error: error.to_owned() }, why }
    }
}

/// See the module.
pub async fn end_of(outcome: Outcome) -> Ended {
    let of_worker = |pid: Option<i32>| pid.map(|pid| format!(", worker {pid}")).unwrap_or_default();
    let replied = match outcome {
        Outcome::Reply(message, file, _) => from_reply(message, file, &Method::GET, &Fields::default()),
        Outcome::Stream(head, reader) => from_head(&head, reader),
        Outcome::Late(Late::Running(over), pid) => {
            return Ended::failed("it took too long", format!("it took too long: {over}{}", of_worker(pid)), true);
        }
        Outcome::WorkerDied(pid) => {
            let error = "the process that ran it has ended";
            return Ended::lost(error, format!("{error}{}", of_worker(pid)));
        }
        Outcome::Late(Late::Waiting(_), _) | Outcome::OfItself(_) | Outcome::Full => {
            return Ended::back("no worker was free");
        }
        Outcome::Ending | Outcome::Stale | Outcome::Notice(_) => {
            return Ended { end: End::Back { delay: 0 }, why: String::new() };
        }
    };
    match replied {
        Replied::Response(response) => of_response(response).await,
        Replied::Failure(failure) => {
            // never more than a client would have been told
            let phrase = httpd::phrase_or_class(failure.status.as_u16());
            let error = if failure.detail.is_empty() { phrase } else { &failure.detail };
            Ended::failed(error, error.to_owned(), failure.status.is_server_error())
        }
        Replied::Wrong(why) => Ended::failed(httpd::phrase_or_class(500), why, true),
    }
}

async fn of_response(mut response: Response) -> Ended {
    let body = match whole(&mut response).await {
        Ok(Some(body)) => body,
        Ok(None) => {
            let error = format!("its result is longer than {} MB", LONGEST_RESULT >> 20);
            return Ended::failed(&error, error.clone(), false);
        }
        Err(e) => return Ended::failed("its result is not whole", format!("its result is not whole: {e}"), true),
    };
    let status = response.status;
    if status.is_client_error() || status.is_server_error() {
        return of_error(status, &body);
    }
    let content_type = response.fields.get(&CONTENT_TYPE);
    let content_type = content_type.map(|value| String::from_utf8_lossy(value).into_owned());
    let outcome = Result { status: status.as_u16(), content_type, body };
    Ended { end: End::Done(outcome), why: String::new() }
}

/// An answer that says of itself that it is an error. What is wrong with the request stays wrong.
fn of_error(status: StatusCode, body: &[u8]) -> Ended {
    let text: String = String::from_utf8_lossy(body).trim().chars().take(LONGEST_ERROR).collect();
    let phrase = httpd::phrase_or_class(status.as_u16());
    let error = if text.is_empty() { format!("{} {phrase}", status.as_u16()) } else { text };
    Ended::failed(&error, error.clone(), status.is_server_error())
}

/// The whole body; `None` when it is too long.
async fn whole(response: &mut Response) -> io::Result<Option<Vec<u8>>> {
    let mut whole = Vec::new();
    while let Some(piece) = poll_fn(|cx| response.body.poll(cx, PIECE)).await {
        let piece: Bytes = piece?;
        if whole.len() + piece.len() > LONGEST_RESULT {
            return Ok(None);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(Some(whole))
}
