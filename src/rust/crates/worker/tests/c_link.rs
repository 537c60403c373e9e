//! A link of C handlers as the server has it: the test is the server, and the handlers are functions of the test.

use bytes::Bytes;
use exchange::{Answer, Handlers, Head, RequestView, Response, Sent, Sink};
use patience::{patience, until, until_some};
use shm::{pair, Assembler, RequestId, Sending, ServerEnd};
use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wire::stream::{worth, Order, Part, FIRST, WINDOW};
use wire::{Reply, ReplyBody, RequestHead};
use worker::{CLink, CRest, CRoute};

const INLINE: u32 = 0;
const POOL: u32 = 1;

type Submitted = (Vec<u8>, Arc<dyn Sink>);
type Inline = Box<dyn Fn(&dyn RequestView, &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> + Send + Sync>;

/// Calls `inline` for inline ones, and hands the sinks of others to the test.
struct Fake {
    inline: Inline,
    submitted: Mutex<Sender<Submitted>>,
}

impl Handlers for Fake {
    // what is submitted is done at once
    fn flush(&self) {}

    fn run(&self, _: u32, request: &dyn RequestView, later: &mut dyn FnMut() -> Arc<dyn Sink>) -> Option<Answer> {
        (self.inline)(request, later)
    }

    fn submit(&self, _: u32, message: Vec<u8>, _: Instant, sink: Arc<dyn Sink>) {
        let _ = self.submitted.lock().unwrap().send((message, sink));
    }
}

struct Server {
    end: ServerEnd,
    assembler: Assembler,
    sinks: Receiver<Submitted>,
    log: Arc<Mutex<Vec<String>>>,
    rest: CRest,
    folder: tempfile::TempDir,
    uses: u32,
}

fn text(body: &str) -> Answer {
    let head = Head { status: 200, content_type: Some(Cow::Borrowed(b"text/plain; charset=utf-8")), headers: vec![] };
    Answer::Response(Response { head, body: Bytes::copy_from_slice(body.as_bytes()) })
}

fn stream_head() -> Head {
    Head { status: 200, content_type: Some(Cow::Borrowed(b"text/event-stream")), headers: vec![] }
}

impl Server {
    fn new(inline: Inline) -> Server {
        let (end, mine) = pair(None).unwrap();
        let (tell, sinks) = channel();
        let log = Arc::<Mutex<Vec<String>>>::default();
        let folder = tempfile::tempdir().unwrap();
        let route = |inline| Some(CRoute { handler: 1, inline, timeout: Some(Duration::from_secs(60)) });
        let lines = log.clone();
        let link = CLink::new(
            mine,
            vec![route(true), route(false), None],
            Arc::new(Fake { inline, submitted: Mutex::new(tell) }),
            Arc::new(move |_, line: &str| lines.lock().unwrap().push(line.to_owned())),
        )
        .spooling(folder.path().into());
        let rest = link.rest();
        std::thread::spawn(move || link.run());
        Server { end, assembler: Assembler::default(), sinks, log, rest, folder, uses: 0 }
    }

    fn send(&mut self, route: u32, path: &str) -> RequestId {
        self.send_with(route, path, b"")
    }

    /// The same, with terms by which the answer is packed.
    fn send_with(&mut self, route: u32, path: &str, terms: &[u8]) -> RequestId {
        self.uses += 1;
        let id = RequestId { slot: self.uses, generation: 1 };
        let head = RequestHead {
            id: 7,
            route,
            remote_port: 1,
            method: b"GET",
            target: path.as_bytes(),
            path: path.as_bytes(),
            remote_addr: b"::1",
            terms,
            ..RequestHead::default()
        };
        let mut message = Vec::new();
        head.encode(&[] as &[&[u8]], std::iter::empty, &mut message);
        self.end.slots.claim(id);
        assert!(self.end.requests.send(id.to_word(), &message, &mut Sending::default()));
        self.end.worker_bell.ring();
        id
    }

    fn order(&mut self, id: RequestId, order: Order) {
        assert!(self.end.requests.send(id.to_word(), &order.encode(), &mut Sending::default()));
        self.end.worker_bell.ring();
    }

    fn sink(&self) -> Arc<dyn Sink> {
        self.sinks.recv_timeout(patience(30)).expect("a request was submitted").1
    }

    /// The next message.
    fn hear(&mut self) -> (RequestId, Vec<u8>) {
        until_some("a message", || {
            self.end.replies.receive(&mut self.assembler, |w, bytes| (RequestId::from_word(w), bytes.to_vec()))
        })
    }

    /// For a moment: what is to be said is said at once.
    fn is_silent(&mut self) -> bool {
        std::thread::sleep(Duration::from_millis(20));
        self.end.replies.is_empty()
    }
}

fn body(message: &[u8]) -> (u16, String) {
    let reply = Reply::decode(message).unwrap();
    match reply.body {
        ReplyBody::Bytes(b) | ReplyBody::Failure(b) => (reply.status, String::from_utf8(b.to_vec()).unwrap()),
        other => panic!("{other:?}"),
    }
}

fn no_inline() -> Inline {
    Box::new(|_, _| panic!("no request is inline"))
}

#[test]
fn inline_handlers_answer_at_once_and_what_was_taken_back_is_not_run() {
    let runs = Arc::<AtomicUsize>::default();
    let counted = runs.clone();
    let mut server = Server::new(Box::new(move |request, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Some(text(std::str::from_utf8(request.path()).unwrap()))
    }));
    for i in 0..100 {
        let id = server.send(INLINE, &format!("/{i}"));
        let (from, message) = server.hear();
        assert_eq!((from, body(&message)), (id, (200, format!("/{i}"))));
        assert!(server.end.slots.is_running(id));
    }
    // a record whose slot says otherwise
    let id = RequestId { slot: 500, generation: 1 };
    assert!(!server.end.slots.revoke(id));
    assert!(server.end.requests.send(id.to_word(), &[0; 100], &mut Sending::default()));
    server.end.worker_bell.ring();
    assert!(server.is_silent());
    assert_eq!(runs.load(Ordering::Relaxed), 100);
}

/// What was packed as gzip, and whether it is whole.
fn unpacked(bytes: &[u8]) -> (String, bool) {
    let mut decoder = coding::Decoder::new(coding::Coding::Gzip, u32::MAX).unwrap();
    let (mut room, mut len, mut rest) = (vec![0; 1 << 20], 0, bytes);
    loop {
        let (read, written) = decoder.step(rest, &mut room[len..]).unwrap();
        (len, rest) = (len + written, &rest[read..]);
        if read == 0 && written == 0 {
            return (String::from_utf8(room[..len].to_vec()).unwrap(), decoder.finish().is_ok());
        }
    }
}

#[test]
fn answers_are_packed_by_the_terms_of_their_requests() {
    let long = "long ".repeat(1000);
    let answer = long.clone();
    let mut server = Server::new(Box::new(move |_, _| Some(text(&answer))));
    let rules = coding::Rules { levels: coding::Levels::default(), min_size: 1000, cookies: false, types: Vec::new() };
    let terms = rules.terms(Some(coding::Coding::Gzip), true);
    let packed = |message: &[u8]| {
        let reply = Reply::decode(message).unwrap();
        let fields: Vec<_> = reply.headers().collect();
        assert_eq!(fields, [(&b"content-encoding"[..], &b"gzip"[..])]);
        match reply.body {
            ReplyBody::Bytes(bytes) => unpacked(bytes),
            other => panic!("{other:?}"),
        }
    };
    server.send_with(INLINE, "/", &terms);
    assert_eq!(packed(&server.hear().1), (long.clone(), true));
    server.send_with(POOL, "/", &terms);
    let sink = server.sink();
    assert!(sink.start() && sink.answer(text(&long)));
    assert_eq!(packed(&server.hear().1), (long.clone(), true));
    server.send(POOL, "/");
    let sink = server.sink();
    assert!(sink.start() && sink.answer(text(&long)));
    assert_eq!(body(&server.hear().1), (200, long));
    // a stream, each piece of which can be read when it has come, and which ends only when it is whole
    for whole in [true, false] {
        server.send_with(POOL, "/", &terms);
        let sink = server.sink();
        assert!(sink.start() && sink.begin(stream_head()));
        let head = server.hear().1;
        let head = Reply::decode(&head).unwrap();
        assert_eq!(head.headers().next(), Some((&b"content-encoding"[..], &b"gzip"[..])));
        let mut all = Vec::new();
        for (piece, so_far) in [("one ", "one "), ("two", "one two")] {
            assert_eq!(sink.send(piece.into(), true), Sent::Done);
            match Part::decode(&server.hear().1).unwrap() {
                Part::Piece(bytes) => all.extend_from_slice(bytes),
                other => panic!("{other:?}"),
            }
            assert_eq!(unpacked(&all), (so_far.into(), false));
        }
        sink.end(whole);
        let mut message = server.hear().1;
        if let (true, Part::Piece(bytes)) = (whole, Part::decode(&message).unwrap()) {
            all.extend_from_slice(bytes);
            message = server.hear().1;
        }
        assert!(matches!(Part::decode(&message).unwrap(), Part::End { whole: end, .. } if end == whole));
        assert_eq!(unpacked(&all), ("one two".into(), whole));
    }
}

#[test]
fn a_request_begins_when_a_thread_does_and_answers_come_in_any_order() {
    let mut server = Server::new(no_inline());
    let ids = [server.send(POOL, "/a"), server.send(POOL, "/b"), server.send(POOL, "/c")];
    let sinks = [server.sink(), server.sink(), server.sink()];
    assert!(ids.iter().all(|&id| !server.end.slots.is_running(id)));
    assert!(server.end.slots.revoke(ids[1]));
    assert!(sinks[2].start() && sinks[0].start() && !sinks[1].start());
    assert!(sinks[2].answer(text("c")) && sinks[0].answer(text("a")));
    assert!(!sinks[0].answer(text("again")), "one answer is enough");
    for (id, expected) in [(ids[2], "c"), (ids[0], "a")] {
        let (from, message) = server.hear();
        assert_eq!((from, body(&message)), (id, (200, expected.into())));
    }
    drop(sinks);
    assert!(server.is_silent(), "what has its answer, or was taken back, says nothing more");
}

#[test]
fn a_sink_without_an_answer_is_a_500_with_a_line_in_the_log() {
    let mut server = Server::new(Box::new(|_, _| None));
    let id = server.send(POOL, "/lost");
    let sink = server.sink();
    assert!(sink.start());
    drop(sink);
    let (from, message) = server.hear();
    assert_eq!((from, body(&message)), (id, (500, String::new())));
    assert_eq!(*server.log.lock().unwrap(), ["id=0000000000000007 ::1 GET /lost 500 the C handler gave no answer"]);
    // not even begun, as when no thread can be had
    let id = server.send(POOL, "/lost");
    drop(server.sink());
    assert_eq!((server.hear().0, server.end.slots.is_running(id)), (id, true));
    // inline, without an answer and without a sink; and a route that is R's
    for route in [INLINE, 2, 99] {
        let id = server.send(route, "/lost");
        let (from, message) = server.hear();
        assert_eq!((from, body(&message).0), (id, 500));
    }
    let sink = {
        let id = server.send(POOL, "/why");
        let sink = server.sink();
        assert!(sink.start());
        let failure = Answer::Failure { status: 422, detail: "for the client".into(), why: "for the log".into() };
        assert!(sink.answer(failure));
        let (from, message) = server.hear();
        assert_eq!((from, body(&message)), (id, (422, "for the client".into())));
        sink
    };
    assert!(server.log.lock().unwrap().last().unwrap().ends_with("GET /why 422 for the log"));
    drop(sink);
}

#[test]
fn a_handler_that_answers_later_says_that_its_thread_is_free() {
    let kept = Arc::<Mutex<Option<Arc<dyn Sink>>>>::default();
    let keep = kept.clone();
    let mut server = Server::new(Box::new(move |_, later| {
        *keep.lock().unwrap() = Some(later());
        None
    }));
    let id = server.send(INLINE, "/later");
    assert_eq!(server.hear(), (id, vec![]));
    let sink = kept.lock().unwrap().take().unwrap();
    assert!(sink.answer(text("at last")));
    let (from, message) = server.hear();
    assert_eq!((from, body(&message)), (id, (200, "at last".into())));
    let id = server.send(POOL, "/later");
    let sink = server.sink();
    assert!(sink.start());
    sink.yielded();
    sink.yielded();
    assert_eq!(server.hear(), (id, vec![]));
    assert!(sink.answer(text("x")));
    sink.yielded();
    assert_eq!(body(&server.hear().1).1, "x");
    assert!(server.is_silent());
}

#[test]
fn a_process_that_is_to_end_begins_with_nothing_and_knows_when_nothing_runs() {
    let mut server = Server::new(Box::new(|_, _| panic!("it is begun")));
    let running = [server.send(POOL, "/answer"), server.send(POOL, "/stream")];
    let sinks = [server.sink(), server.sink()];
    assert!(sinks.iter().all(|sink| sink.start()) && sinks[1].begin(stream_head()));
    assert!(!server.rest.stop());
    let others = [server.send(POOL, "/pool"), server.send(INLINE, "/inline")];
    let waits = server.sink();
    assert!(!waits.start());
    drop(waits);
    sinks[0].answer(text("x"));
    assert!(!server.rest.stop(), "the stream goes on");
    sinks[1].end(true);
    assert!(server.rest.stop());
    // the server takes them back when the process has ended: what were begun with would be by now
    std::thread::sleep(Duration::from_millis(20));
    assert!(others.iter().all(|&id| server.end.slots.revoke(id)) && !server.end.slots.revoke(running[0]));
}

#[test]
fn an_inline_handler_that_takes_long_is_named_in_the_log() {
    let mut server = Server::new(Box::new(|_, _| {
        // long, by the worker's own measure
        std::thread::sleep(Duration::from_millis(60));
        Some(text("at last"))
    }));
    for _ in 0..2 {
        server.send(INLINE, "/slow");
        server.hear();
    }
    let log = server.log.lock().unwrap();
    assert!(log.len() == 1 && log[0].contains("GET /slow an inline handler took"), "{log:?}");
}

#[test]
fn a_long_answer_waits_in_a_file() {
    let mut server = Server::new(no_inline());
    server.send(POOL, "/long");
    let sink = server.sink();
    assert!(sink.start() && sink.answer(text(&"x".repeat(3 << 20))));
    let (id, message) = server.hear();
    assert_eq!(Reply::decode(&message).unwrap().body, ReplyBody::Spooled);
    let file = std::fs::File::from(server.end.files.receive(id).unwrap());
    assert_eq!(file.metadata().unwrap().len(), 3 << 20);
    assert!(std::fs::read_dir(server.folder.path()).unwrap().next().is_none(), "it has a name");
}

#[test]
fn a_stream_sends_no_more_than_it_may_and_ends_when_all_was_sent() {
    let mut server = Server::new(no_inline());
    let id = server.send(POOL, "/stream");
    let sink = server.sink();
    assert!(sink.start() && sink.begin(stream_head()));
    let (_, head) = server.hear();
    assert_eq!(Reply::decode(&head).unwrap().body, ReplyBody::Stream);
    // more than the window: the rest waits here, and further pieces are refused
    let long = Bytes::from(vec![b'x'; 2 * WINDOW]);
    assert_eq!(sink.send(long.clone(), false), Sent::Done);
    assert_eq!(sink.send(Bytes::from_static(b"y"), false), Sent::Full);
    let mut spent = 0;
    let mut body = 0;
    while spent + 65 < FIRST {
        let (from, message) = server.hear();
        let Part::Piece(piece) = Part::decode(&message).unwrap() else { panic!("it has ended") };
        assert_eq!(from, id);
        (spent, body) = (spent + worth(piece.len()), body + piece.len());
    }
    assert!(spent <= FIRST && server.is_silent());
    sink.end(true);
    drop(sink);
    assert!(server.is_silent(), "what waits comes first");
    server.order(id, Order::Credit(2 * WINDOW as u32));
    loop {
        let (_, message) = server.hear();
        match Part::decode(&message).unwrap() {
            Part::Piece(piece) => body += piece.len(),
            Part::End { whole, .. } => {
                assert!(whole);
                break;
            }
        }
    }
    assert_eq!(body, long.len());
}

#[test]
fn a_thread_that_waits_for_credit_goes_on_with_it_and_stops_when_the_client_has_gone() {
    let mut server = Server::new(no_inline());
    let id = server.send(POOL, "/stream");
    let sink = server.sink();
    assert!(sink.start() && sink.begin(stream_head()));
    let (tell, told) = channel();
    sink.on_cancel(Box::new(move || tell.send(()).unwrap()));
    let writer = {
        let sink = sink.clone();
        std::thread::spawn(move || {
            let piece = Bytes::from(vec![0; 10_000]);
            let mut sent = 0;
            while sink.send(piece.clone(), true) == Sent::Done {
                sent += 1;
            }
            sent
        })
    };
    server.hear();
    let mut got = 0;
    while got < FIRST - 100 {
        got += server.hear().1.len();
    }
    server.order(id, Order::Credit(WINDOW as u32));
    while got < WINDOW {
        got += server.hear().1.len();
    }
    assert!(!writer.is_finished() && !sink.is_cancelled());
    server.order(id, Order::Cancel);
    assert!(writer.join().unwrap() >= WINDOW / 10_000);
    assert!(sink.is_cancelled());
    // the writer may have heard of it before the link's thread has told the handler
    assert_eq!(told.recv_timeout(patience(30)), Ok(()));
    sink.end(true);
    let last = std::iter::repeat_with(|| server.hear().1).find(|m| matches!(Part::decode(m), Ok(Part::End { .. })));
    assert!(matches!(Part::decode(&last.unwrap()), Ok(Part::End { whole: false, .. })), "nobody has read all of it");
    assert!(told.try_recv().is_err(), "it is told once");
}

#[test]
fn a_cancelled_request_is_told_once_and_its_late_answer_is_nobodys() {
    let mut server = Server::new(no_inline());
    let id = server.send(POOL, "/late");
    let sink = server.sink();
    assert!(sink.start() && sink.deadline().is_some());
    let (tell, told) = channel();
    let other = tell.clone();
    sink.on_cancel(Box::new(move || other.send("first").unwrap()));
    let own = sink.clone();
    sink.on_cancel(Box::new(move || tell.send(if own.is_cancelled() { "second" } else { "early" }).unwrap()));
    server.order(id, Order::Cancel);
    assert_eq!(told.recv_timeout(patience(30)), Ok("second"), "the later takes the place of the earlier");
    server.order(id, Order::Cancel);
    assert!(!sink.answer(text("too late")));
    // but the server learns that the slot is free
    assert_eq!(server.hear().0, id);
    // one that comes too late is called at once, and one after the answer never
    let id = server.send(POOL, "/late");
    let sink = server.sink();
    assert!(sink.start());
    server.order(id, Order::Cancel);
    until("it is cancelled", || sink.is_cancelled());
    let (tell, told) = channel();
    sink.on_cancel(Box::new(move || tell.send(()).unwrap()));
    assert_eq!(told.recv_timeout(patience(30)), Ok(()));
    sink.answer(text(""));
    sink.on_cancel(Box::new(|| panic!("it has its answer")));
    // of a request that is not there
    server.order(RequestId { slot: 9, generation: 9 }, Order::Cancel);
    server.order(RequestId { slot: 2000, generation: 9 }, Order::Credit(1));
    server.hear();
    assert!(server.is_silent());
}

#[test]
fn a_stream_whose_sink_is_dropped_breaks_off() {
    let mut server = Server::new(no_inline());
    server.send(POOL, "/stream");
    let sink = server.sink();
    assert!(sink.start() && sink.begin(stream_head()));
    assert_eq!(sink.send(Bytes::from_static(b"a"), true), Sent::Done);
    drop(sink);
    server.hear();
    assert!(matches!(Part::decode(&server.hear().1), Ok(Part::Piece(b"a"))));
    assert!(matches!(Part::decode(&server.hear().1), Ok(Part::End { whole: false, .. })));
}
