//! A connection that has a task, to its end: HTTP/1.1, as far as one knows, or HTTP/2, if the client begins with it.
//! Neighbour: `new_connections`, where it began.

use super::h1::{Ended, Http1Connection, Switched};
use super::h2;
use super::stream::Stream;
use crate::connection::Connection;
use crate::linger::{self, linger};
use crate::listen::Role;
use crate::registry;
use crate::response::{CommonFields, Failure};
use crate::service::Service;
use crate::ws;
use admission::ms;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A client that is refused has as long to make room for the refusal, should it not have read what it got before: it is
/// still counted as open, and would keep others out.
const TO_REFUSE: Duration = Duration::from_secs(2);

/// Has this thread serve it to its end, in a task of its own.
pub fn spawn(client: Http1Connection) {
    tokio::spawn(serve(client));
}

async fn serve(mut client: Http1Connection) {
    let registered = registry::register(client.state());
    let mut known = false;
    let ended = poll_fn(|cx| {
        if !known {
            // the task's waker is the same for as long as the connection lives
            client.state().set_waker(cx.waker());
            known = true;
        }
        client.poll(cx)
    })
    .await;
    drop(registered);
    // what is left is rare, and larger than all before
    if !matches!(ended, Ended::Complete) {
        Box::pin(end(client, ended)).await;
    }
}

/// What is left to do when it has ended so.
pub async fn end(client: Http1Connection, ended: Ended) {
    // and with it the request under way
    let (io, state, _open, service) = client.into_transport();
    match ended {
        Ended::Complete => {}
        Ended::Linger => {
            let most = linger::after(io.still_to_come());
            linger(io.into_stream(), &state, most).await;
        }
        Ended::Refused(failure) => refuse(io.into_stream(), failure, &state, &service).await,
        Ended::Socket(switched) => {
            let registered = registry::register(&state);
            let Switched { accepted, body, mut sent } = *switched;
            let (io, lingers) = ws::serve(io, accepted, &state).await;
            sent.is_whole();
            drop((body, registered));
            if lingers {
                // it may be in the middle of a long message
                linger(io.into_stream(), &state, linger::AS_LONG_AS_IT_MAY).await;
            }
        }
        Ended::Http2 => {
            let registered = registry::register(&state);
            let io = h2::serve(io, &state, &service).await;
            drop(registered);
            if let Some(io) = io {
                linger(io.into_stream(), &state, linger::after(Some(0))).await;
            }
        }
    }
}

/// Tells why no request could be made of the bytes, and ends the connection.
async fn refuse(mut stream: Stream, failure: Failure, state: &Arc<Connection>, service: &Arc<dyn Service>) {
    let server = state.server();
    let id = server.next_id();
    server.log.of_client(|| {
        format!("id={id:016x} {} - {} {}", state.remote_addr(), failure.status.as_u16(), failure.for_log())
    });
    service.refused(state, id, &failure);
    let none = CommonFields::default();
    let common = if state.role() == Role::App { &server.common } else { &none };
    let text = failure.whole(id, common);
    let most = TO_REFUSE.min(Duration::from_millis(ms(server.limits.write_timeout)));
    if let Ok(Ok(())) = tokio::time::timeout(most, write_all(&mut stream, &text)).await {
        linger(stream, state, linger::AS_LONG_AS_IT_MAY).await;
    }
}

async fn write_all(stream: &mut Stream, mut text: &[u8]) -> io::Result<()> {
    while !text.is_empty() {
        let n = poll_fn(|cx| stream.poll_write(cx, text)).await?;
        text = &text[n..];
    }
    Ok(())
}
