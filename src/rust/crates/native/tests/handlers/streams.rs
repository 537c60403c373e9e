//! Responses that come piece by piece, by both interfaces.

use crate::app::{both, both_later, codes, failure, App, Ask, How, DONE, FULL, GONE, INVALID, OK};
use crate::client::{Client, WINDOW};
use crate::library::one_at_a_time;
use exchange::Head;

fn content_type(head: &Head) -> &str {
    head.content_type.as_deref().map_or("", |text| std::str::from_utf8(text).unwrap())
}

#[test]
fn pieces_in_order() {
    both("h_stream", &Ask::query("/x?n=3&type=text/csv"), |_, client, _| {
        let (head, body, whole) = client.stream();
        assert_eq!((head.status, content_type(&head)), (200, "text/csv"));
        assert_eq!(head.headers, [(b"x-stream".to_vec(), b"yes".to_vec())]);
        assert_eq!((body.as_str(), whole), ("line 1\nline 2\nline 3\n", true));
    });
    both_later("h_stream_later", "/x?n=3&ms=1", |client| {
        let (_, body, whole) = client.stream();
        assert_eq!((body.as_str(), whole), ("line 1\nline 2\nline 3\n", true));
    });
    both("h_stream_open", &Ask::default(), |_, client, _| {
        let (head, body, whole) = client.stream();
        assert_eq!((head.status, head.content_type, body.as_str(), whole), (201, None, "line 1\n", true));
    });
}

#[test]
fn what_breaks_in_the_middle_is_not_taken_for_the_whole() {
    for (name, why) in [("h_stream_fail", "it returned 5"), ("h_stream_throw", "it threw in the middle")] {
        both(name, &Ask::default(), |_, client, app| {
            let (_, body, whole) = client.stream();
            assert_eq!((body.as_str(), whole), ("line 1\n", false));
            app.wait_log(&format!("the response was broken off: {why}"));
        });
    }
    let _one = one_at_a_time();
    both("h_stream_break", &Ask::default(), |_, client, app| {
        let (_, body, whole) = client.stream();
        assert_eq!((body.as_str(), whole), ("line 1\n", false));
        assert_eq!(codes(2), [OK, DONE]);
        app.wait_log("the response was broken off: no more");
    });
}

#[test]
fn out_of_turn() {
    let _one = one_at_a_time();
    both("h_stream_order", &Ask::default(), |_, client, _| {
        let (_, body, whole) = client.stream();
        assert_eq!((body.as_str(), whole), ("yes", true));
        assert_eq!(codes(11), [INVALID, INVALID, OK, DONE, DONE, DONE, OK, INVALID, OK, DONE, DONE]);
    });
}

#[test]
fn a_client_that_is_behind() {
    let _one = one_at_a_time();
    let app = App::new("h_stream_full");
    // on the pool, it waits
    let client = Client::slow();
    app.call_for(How::Pool, 1, &Ask::default(), &client);
    assert_eq!(codes(2), [OK, FULL]);
    assert_eq!(client.see().body.len(), WINDOW);
    client.read_on();
    assert!(client.stream().1.ends_with("f!"));
    assert_eq!(codes(1), [OK]);
    // inline, never
    let client = Client::slow();
    app.call_for(How::Inline, 1, &Ask::default(), &client);
    assert_eq!(codes(3), [OK, FULL, FULL]);
    assert!(client.stream().2);
}

#[test]
fn a_client_that_goes_away() {
    let _one = one_at_a_time();
    for name in ["h_stream_endless", "old_stream_endless"] {
        let app = App::new(name);
        let client = Client::slow();
        app.call_for(How::Pool, 1, &Ask::default(), &client);
        // one that waits is told, too
        client.wait("stream", |seen| seen.body.len() >= WINDOW);
        client.cancel();
        assert_eq!(codes(1).last(), Some(&1), "{name}");
        client.wait("end", |seen| seen.dropped);
        assert_eq!(app.log(), []);
    }
    assert_eq!(GONE, 1);
}

#[test]
fn streams_of_drogonrs_signature() {
    // inline, they run on the pool, too
    both("old_stream", &Ask::query("/x?n=2"), |_, client, _| {
        let (head, body, whole) = client.stream();
        assert_eq!((head.status, content_type(&head)), (200, "text/event-stream"));
        assert_eq!((body.as_str(), whole), ("data: 1\n\ndata: 2\n\n", true));
    });
    both("old_stream", &Ask::query("/x?n=1&type=text/csv"), |_, client, _| {
        assert_eq!(content_type(&client.stream().0), "text/csv");
    });
    both("old_stream_empty", &Ask::default(), |_, client, _| {
        let (head, body, whole) = client.stream();
        assert_eq!((content_type(&head), body.as_str(), whole), ("text/csv", "", true));
    });
    let _one = one_at_a_time();
    both("old_stream_close", &Ask::default(), |_, client, _| {
        assert_eq!(client.stream().1, "one");
        assert_eq!(codes(2), [0, -1]);
    });
}

#[test]
fn streams_of_drogonrs_signature_that_fail() {
    both("old_stream_fail_first", &Ask::default(), |_, client, _| {
        assert_eq!(failure(client).2, "C handler: it returned 1");
    });
    for (name, why) in [("old_stream_fail", "it returned 1"), ("old_stream_throw", "it threw in the middle")] {
        both(name, &Ask::default(), |_, client, app| {
            let (_, body, whole) = client.stream();
            assert_eq!((body.as_str(), whole), ("one", false));
            app.wait_log(&format!("the response was broken off: {why}"));
        });
    }
    let _one = one_at_a_time();
    both("old_stream_bad_type", &Ask::default(), |_, client, _| {
        assert_eq!(failure(client).2, "C handler: its content type holds control characters");
        assert_eq!(codes(1), [-1]);
    });
}
