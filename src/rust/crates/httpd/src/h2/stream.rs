//! One request of HTTP/2 and its response. The response is handed to the library as its client takes it: so a client
//! that does not read holds a few kB, and that for `write_timeout` at most.
//!
//! ```text
//! answering ─▶ sending ─▶ sent, to be taken ─▶ done
//!                                          └─▶ reading what the client still sends, for a while ─▶ done
//! ```

use super::piece::Piece;
use crate::body::{self, Incoming, Unread};
use crate::connection::{Connection, Directive, OpenStream};
use crate::date;
use crate::head::Head;
use crate::response::{is_bodiless, Body, Response, Sent};
use crate::service::{Answering, Service};
use crate::transfer::Transfer;
use crate::ws::Accepted;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::header::{CONTENT_LENGTH, DATE, EXPECT, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use observe::Level;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};

/// Bytes of a file read at a time: as many as the client has room for, but not so few that reading them costs more than
/// sending them.
const LEAST: usize = 4 << 10;
const MOST: usize = 64 << 10;

/// A response that is being sent. As a future it ends when its client has taken it, or has gone, or has been given up.
pub struct Stream {
    send: SendStream<Piece>,
    body: Body,
    doing: Doing,
    /// of a client that has its response: what still comes of its body
    rest: Option<Unread>,
    open: OpenStream,
    connection: Arc<Connection>,
    sent: Sent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Sending,
    /// all of it is the library's
    Sent,
    /// it will never be whole: what is there is still sent
    Failing,
}

/// What becomes of a stream that goes on as a WebSocket: its response, whose head is sent, and what comes from the
/// client.
pub type BeSocket = fn(Stream, RecvStream, Accepted);

/// Answers a request: at once, or in a task of its own. Gives the response whose client may still have to take it.
pub fn begin(
    request: Request<RecvStream>,
    respond: SendResponse<Piece>,
    connection: &Arc<Connection>,
    service: &Arc<dyn Service>,
    be_socket: BeSocket,
) -> Option<Stream> {
    let (parts, body) = request.into_parts();
    let open = connection.stream(respond.stream_id().as_u32());
    let head_only = parts.method == Method::HEAD;
    let announced =
        parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok()).unwrap_or(0);
    let expects = !body.is_end_stream() && parts.headers.contains_key(EXPECT);
    let body = match parts.method {
        Method::CONNECT => Incoming::Line(body),
        _ => Incoming::Http2(body::Stream { body, announced, transfer: open.transfer().clone() }),
    };
    let answering = service.answer(Head::from_http2(&parts), body, connection.clone());
    let mut asked = Asked { open, connection: connection.clone(), respond, head_only, expects, be_socket };
    asked.send_hints();
    match answering {
        Answering::Now(response) => asked.send(response?),
        Answering::Later(mut answer) => {
            tokio::spawn(async move {
                let answer = poll_fn(|cx| asked.wait_for(answer.as_mut(), cx));
                let Some(response) = answer.await else { return };
                if let Some(stream) = asked.send(response) {
                    stream.await;
                }
            });
            None
        }
    }
}

/// One that its client has taken is whole.
impl Drop for Stream {
    fn drop(&mut self) {
        if self.is_taken() {
            self.sent.is_whole();
        }
    }
}

/// A request whose response is still to come.
struct Asked {
    open: OpenStream,
    connection: Arc<Connection>,
    respond: SendResponse<Piece>,
    head_only: bool,
    /// the client waits to be told to send its body (RFC 9110 section 10.1.1)
    expects: bool,
    be_socket: BeSocket,
}

impl Asked {
    /// The response; `None` when the client has reset the stream, and wants none.
    fn wait_for<F>(&mut self, answer: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<Option<Response>>
    where
        F: Future<Output = Response> + ?Sized,
    {
        if self.respond.poll_reset(cx).is_ready() {
            return Poll::Ready(None);
        }
        let answer = answer.poll(cx);
        self.send_hints();
        if answer.is_pending() && std::mem::take(&mut self.expects) {
            self.inform(StatusCode::CONTINUE, HeaderMap::new());
        }
        answer.map(Some)
    }

    /// What the client is told ahead goes before all else of its response.
    fn send_hints(&mut self) {
        for hints in self.connection.hints.take() {
            self.inform(StatusCode::EARLY_HINTS, hints.fields().to_map());
        }
    }

    /// Sends an informational response.
    fn inform(&mut self, status: StatusCode, fields: HeaderMap) {
        let mut head = http::Response::new(());
        *head.status_mut() = status;
        *head.headers_mut() = fields;
        // an error is the stream's end, which the next poll tells
        let _ = self.respond.send_informational(head);
    }

    /// Hands the head over, and the body if it is here. `None` when the client has gone.
    fn send(mut self, response: Response) -> Option<Stream> {
        let head = head(&response, self.head_only);
        let sent = Sent::new(response.end);
        let mut body = response.body;
        let accepted = body.take_socket();
        let is_empty = accepted.is_none() && (self.head_only || body.is_empty());
        let send = match self.respond.send_response(head, is_empty) {
            Ok(send) => send,
            Err(e) => {
                if e.get_io().is_none() && e.reason().is_none() {
                    let line = format!("{} the response cannot be sent: {e}", self.connection.remote_addr());
                    self.connection.server().log.line(Level::Error, &line);
                }
                self.respond.send_reset(Reason::INTERNAL_ERROR);
                return None;
            }
        };
        if let Some(accepted) = accepted {
            let Asked { open, connection, be_socket, .. } = self;
            let unread = body.take_unread()?;
            let stream = Stream { send, body, doing: Doing::Sent, rest: None, open, connection, sent };
            be_socket(stream, unread, accepted);
            return None;
        }
        let bytes = if is_empty { None } else { body.take_bytes() };
        let doing = if is_empty { Doing::Sent } else { Doing::Sending };
        let Asked { open, connection, .. } = self;
        let mut stream = Stream { send, body, doing, rest: None, open, connection, sent };
        if let Some(bytes) = bytes {
            stream.hand_over(bytes, true)?;
        }
        Some(stream)
    }
}

impl Stream {
    /// Whether the client has taken all of it, and sends nothing more.
    pub fn is_done(&self) -> bool {
        self.is_taken() && !self.body.has_unread() && self.rest.is_none()
    }

    fn is_taken(&self) -> bool {
        self.doing == Doing::Sent && self.open.transfer().waiting() == 0
    }

    /// On which connection.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// How it moves.
    pub fn transfer(&self) -> &Arc<Transfer> {
        self.open.transfer()
    }

    /// Nothing comes any more.
    pub fn hand_over_last(&mut self) {
        // a client that has gone needs no end
        let _ = self.hand_over(Bytes::new(), true);
    }

    /// Gives bytes to the library. `None` when the client has gone.
    pub fn hand_over(&mut self, bytes: Bytes, is_last: bool) -> Option<()> {
        if is_last {
            self.doing = Doing::Sent;
        }
        self.sent.add(bytes.len());
        self.send.send_data(Piece::new(bytes, self.open.transfer().clone()), is_last).ok()
    }

    /// Sends more of the body. `None` when the client has gone.
    fn go_on(&mut self, cx: &mut Context<'_>) -> Poll<Option<()>> {
        let transfer = self.open.transfer().clone();
        loop {
            match self.doing {
                Doing::Sending if !transfer.is_low() => return Poll::Pending,
                Doing::Sending => {}
                Doing::Sent | Doing::Failing if transfer.waiting() > 0 => return Poll::Pending,
                Doing::Sent => return self.read_on(cx).map(Some),
                Doing::Failing => {
                    self.send.send_reset(Reason::INTERNAL_ERROR);
                    return Poll::Ready(None);
                }
            }
            let most = if self.body.is_file() { ready!(self.room(cx)).unwrap_or(0) } else { MOST };
            if most == 0 {
                return Poll::Ready(None);
            }
            match ready!(self.body.poll(cx, most.clamp(LEAST, MOST))) {
                Some(Ok(bytes)) => {
                    let is_last = self.body.is_empty();
                    if self.hand_over(bytes, is_last).is_none() {
                        return Poll::Ready(None);
                    }
                }
                Some(Err(_)) => self.doing = Doing::Failing,
                None => {
                    if self.end().is_none() {
                        return Poll::Ready(None);
                    }
                }
            }
        }
    }

    /// Hands over what stands behind the last piece. `None` when the client has gone.
    fn end(&mut self) -> Option<()> {
        match self.body.trailers() {
            Ok(trailers) if trailers.text().is_empty() => self.hand_over(Bytes::new(), true),
            Ok(trailers) => {
                self.doing = Doing::Sent;
                self.send.send_trailers(trailers.to_map()).ok()
            }
            Err(_) => {
                self.doing = Doing::Failing;
                Some(())
            }
        }
    }

    /// The client has its response, and may still be sending its body, which is read for a while and thrown away. When
    /// the stream is dropped before all has come, the library resets it: some clients (curl up to 7.88) take that for a
    /// failure if they see it while they send, though the response came before.
    fn read_on(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(unread) = self.body.take_unread() {
            self.sent.is_whole();
            // with the request, which is over
            self.body = Body::empty();
            self.transfer().lingers();
            self.rest = Some(unread);
        }
        let Some(rest) = &mut self.rest else { return Poll::Ready(()) };
        let transfer = self.open.transfer();
        while !transfer.has_lingered() && self.connection.directive() == Directive::None {
            // an error is the end of it; no more can come than was announced, as the library sees to
            let Some(Ok(piece)) = ready!(rest.poll_data(cx)) else { break };
            transfer.client_sent();
            let _ = rest.flow_control().release_capacity(piece.len());
        }
        Poll::Ready(())
    }

    /// Bytes that the client has room for, once there are any. `None` when it has gone.
    fn room(&mut self, cx: &mut Context<'_>) -> Poll<Option<usize>> {
        let transfer = self.open.transfer();
        self.send.reserve_capacity(MOST);
        loop {
            match self.send.capacity() {
                0 => transfer.wants_room(),
                room => {
                    transfer.has_room();
                    return Poll::Ready(Some(room));
                }
            }
            if !matches!(ready!(self.send.poll_capacity(cx)), Some(Ok(_))) {
                return Poll::Ready(None);
            }
        }
    }
}

impl Future for Stream {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.open.transfer().set_waker(cx.waker());
        if self.open.transfer().is_response_late() {
            self.send.send_reset(Reason::CANCEL);
            self.connection
                .server()
                .log
                .of_client(|| format!("{} write timeout of a stream", self.connection.remote_addr()));
            return Poll::Ready(());
        }
        // a client that has reset the stream wants no more of it
        if self.send.poll_reset(cx).is_ready() {
            return Poll::Ready(());
        }
        self.go_on(cx).map(drop)
    }
}

fn head(response: &Response, head_only: bool) -> http::Response<()> {
    let mut head = http::Response::new(());
    *head.status_mut() = response.status;
    let fields = head.headers_mut();
    *fields = response.fields.to_map();
    // about the connection, and refused by the library: RFC 9113 section 8.2.2
    fields.remove(UPGRADE);
    if let Some(length) = response.body.len().filter(|_| !head_only && !is_bodiless(response.status)) {
        fields.insert(CONTENT_LENGTH, length.into());
    }
    if !response.fields.has_date() {
        if let Ok(date) = HeaderValue::from_bytes(&date::now()) {
            fields.insert(DATE, date);
        }
    }
    head
}
