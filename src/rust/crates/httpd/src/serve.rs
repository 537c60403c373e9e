//! A connection that has a task, to its end: HTTP/1.1, as far as one knows, or HTTP/2, if the client begins with it.
//! Neighbour: `new_connections`, where it began.

use super::h1::{Client, Ended, Switched};
use super::h2;
use super::stream::Stream;
use crate::connection::Connection;
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

/// After an answer that ends a connection, what the client still sends is read for this long, so that the answer is not
/// lost to a reset. And a client that is refused has as long to make room for the refusal, should it not have read what
/// it got before: it is still counted as open, and would keep others out.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 4 << 20;

/// Has this thread serve it to its end, in a task of its own.
pub fn spawn(client: Client) {
    tokio::spawn(serve(client));
}

async fn serve(mut client: Client) {
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
pub async fn end(client: Client, ended: Ended) {
    // and with it the request under way
    let (io, state, _open, service) = client.into_transport();
    match ended {
        Ended::Complete => {}
        Ended::Linger => linger(io.into_stream()).await,
        Ended::Refused(failure) => refuse(io.into_stream(), failure, &state, &service).await,
        Ended::Socket(switched) => {
            let _registered = registry::register(&state);
            let Switched { accepted, body, mut sent } = *switched;
            let (io, lingers) = ws::serve(io, accepted, &state).await;
            sent.is_whole();
            drop(body);
            if lingers {
                linger(io.into_stream()).await;
            }
        }
        Ended::Http2 => {
            let _registered = registry::register(&state);
            if let Some(io) = h2::serve(io, &state, &service).await {
                linger(io.into_stream()).await;
            }
        }
    }
}

/// Tells why no request could be made of the bytes, and ends the connection.
async fn refuse(mut stream: Stream, failure: Failure, state: &Connection, service: &Arc<dyn Service>) {
    let server = state.server();
    let id = server.next_id();
    server
        .log
        .of_client(|| format!("id={id:016x} {} - {} {}", state.remote_addr(), failure.status.as_u16(), failure.detail));
    service.refused(state, id, &failure);
    let none = CommonFields::default();
    let common = if state.role() == Role::App { &server.common } else { &none };
    let text = failure.whole(id, common);
    let most = LINGER.min(Duration::from_millis(ms(server.limits.write_timeout)));
    if let Ok(Ok(())) = tokio::time::timeout(most, write_all(&mut stream, &text)).await {
        linger(stream).await;
    }
}

async fn write_all(stream: &mut Stream, mut text: &[u8]) -> io::Result<()> {
    while !text.is_empty() {
        let n = poll_fn(|cx| stream.poll_write(cx, text)).await?;
        text = &text[n..];
    }
    Ok(())
}

/// Ends the sending side, then reads what still comes for a while.
async fn linger(mut stream: Stream) {
    if stream.shutdown().is_err() {
        return;
    }
    let drain = async {
        let mut sink = [0u8; 4096];
        let mut left = LINGER_BYTES;
        while left > 0 {
            let read = poll_fn(|cx| {
                let read = stream.poll_read(cx, &mut sink);
                stream.watch(cx)?;
                read
            });
            match read.await {
                Ok(n) if n > 0 => left = left.saturating_sub(n),
                _ => return,
            }
        }
    };
    let _ = tokio::time::timeout(LINGER, drain).await;
}
