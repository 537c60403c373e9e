//! Answers that come after the handler has returned, and requests whose clients no longer wait.

use crate::app::{
    both, both_later, codes, codes_so_far, failure, headers, response, App, Ask, How, DONE, GONE, INVALID, OK,
};
use crate::client::Client;
use crate::library::one_at_a_time;
use patience::until;

#[test]
fn an_answer_from_another_thread() {
    both_later("h_later", "/some/path?ms=20", |client| {
        assert_eq!(response(client).2, "/some/path");
        assert_eq!(headers(client), [("server-timing".to_owned(), "later;dur=20.000".to_owned())]);
    });
}

#[test]
fn of_two_answers_the_first_counts() {
    let _one = one_at_a_time();
    both("h_later_twice", &Ask::default(), |_, client, _| {
        assert_eq!(response(client).2, "once");
        let mut codes = codes(3);
        codes.sort_unstable();
        assert_eq!(codes, [OK, DONE, 100]);
    });
}

#[test]
fn an_answer_that_nobody_waits_for() {
    let _one = one_at_a_time();
    both("h_later_cancelled", &Ask::default(), |how, client, _| {
        client.wait("start", |seen| seen.started || how == How::Inline);
        client.cancel();
        assert_eq!(codes(2), [GONE, DONE]);
        client.wait("end", |seen| seen.dropped);
    });
    let app = App::new("h_until_cancelled");
    let client = app.call(How::Pool, &Ask::default());
    client.wait("start", |seen| seen.started);
    client.cancel();
    assert_eq!(codes(1), [GONE]);
    assert_eq!(app.log(), []);
}

#[test]
fn a_function_that_is_called_when_nobody_waits() {
    let _one = one_at_a_time();
    let (app, of_codes) = (App::new("h_on_cancel"), App::new("h_codes"));
    for already in [false, true] {
        let client = app.call(How::Pool, &Ask::default());
        if !already {
            // its function is there
            until("the first code", || !codes_so_far(&of_codes).is_empty());
        }
        client.cancel();
        if already && !client.see().started {
            // it was cancelled before its turn came
            continue;
        }
        assert_eq!(codes(3), [OK, OK, GONE]);
    }
    both("h_later_on_cancel", &Ask::default(), |how, client, _| {
        if how == How::Pool {
            client.wait("return", |seen| seen.yielded);
        }
        client.cancel();
        assert_eq!(codes(2), [1, GONE]);
        client.wait("end", |seen| seen.dropped);
    });
    // inline, there is nothing to cancel yet
    let app = App::new("h_on_cancel_inline");
    assert_eq!(response(&app.call(How::Inline, &Ask::default())).2, "ok");
    assert_eq!(codes(2), [INVALID, OK]);
}

#[test]
fn a_request_that_is_not_wanted_is_not_begun() {
    let app = App::new("h_text");
    let client = Client::new();
    client.cancel();
    app.call_for(How::Pool, 1, &Ask::default(), &client);
    client.wait("end", |seen| seen.dropped);
    let seen = client.see();
    assert!(seen.started && seen.answer.is_none());
}

#[test]
fn handles_that_are_kept_or_given_up() {
    both("h_never", &Ask::default(), |_, client, app| {
        // a moment in which there could be one
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(client.see().answer.is_none() && !client.see().dropped);
        // the server gives up on it; the handle stays
        client.cancel();
        assert_eq!(app.log(), []);
    });
    both("h_dropped", &Ask::default(), |_, client, _| {
        let (status, _, why) = failure(client);
        assert_eq!((status, why.as_str()), (500, "C handler: its last handle was released without an answer"));
    });
    let _one = one_at_a_time();
    both("h_defer_then_fail", &Ask::default(), |_, client, _| {
        assert_eq!(failure(client).2, "C handler: it returned 3");
        assert_eq!(codes(1), [DONE]);
    });
}

#[test]
fn the_deadline_is_told() {
    let app = App::new("h_deadline");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(1000);
    let client = Client::with_deadline(Some(deadline));
    app.call_for(How::Pool, 1, &Ask::default(), &client);
    let left: u64 = response(&client).2.parse().unwrap();
    assert!((990..=1000).contains(&left), "{left}");
    assert_eq!(response(&app.call(How::Pool, &Ask::default())).2, "none");
}
