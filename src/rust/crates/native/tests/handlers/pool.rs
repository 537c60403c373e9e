//! The pool: its threads, their order, their end.

use crate::app::{response, spec, App, Ask, How};
use crate::client::Client;
use crate::gate::Gate;
use patience::patience;
use std::time::Duration;

/// Starts `n` handlers that wait at the gate, and returns their clients.
fn blocked(app: &App, n: usize, gate: &Gate) -> Vec<Client> {
    let begin = |_| {
        let client = app.call(How::Pool, &Ask::query(&gate.target()));
        client.wait("start", |seen| seen.started);
        client
    };
    (0..n).map(begin).collect()
}

/// Submits `n` requests for the second handler, and returns their clients.
fn waiting(app: &App, n: usize) -> Vec<Client> {
    let submit = |_| {
        let client = Client::new();
        app.call_for(How::Pool, 2, &Ask::default(), &client);
        client
    };
    (0..n).map(submit).collect()
}

#[test]
fn as_many_threads_as_asked_for() {
    let app = App::with(vec![spec("h_block"), spec("h_text")], 3);
    let gate = Gate::new();
    let blocked = blocked(&app, 3, &gate);
    let waiting = waiting(&app, 10);
    // a moment in which a fourth could begin with them
    std::thread::sleep(Duration::from_millis(20));
    assert!(waiting.iter().all(|client| !client.see().started), "all threads are busy");
    gate.open();
    for client in blocked.iter().chain(&waiting) {
        response(client);
    }
}

#[test]
fn first_come_first_served() {
    let app = App::with(vec![spec("h_block"), spec("h_text")], 1);
    let gate = Gate::new();
    let _blocked = blocked(&app, 1, &gate);
    let waiting = waiting(&app, 10);
    gate.open();
    while !waiting[9].see().started {
        // read from the last to the first: if one has started meanwhile, all before it have, too
        let begun: Vec<bool> = waiting.iter().rev().map(|client| client.see().started).collect();
        assert!(begun.windows(2).all(|pair| !pair[0] || pair[1]), "{begun:?}");
    }
}

#[test]
fn the_end_waits_for_no_handler_longer_than_it_was_told() {
    let app = App::with(vec![spec("h_block")], 1);
    let gate = Gate::new();
    let begun = app.call(How::Pool, &Ask::query(&gate.target()));
    begun.wait("start", |seen| seen.started);
    let waiting = app.call(How::Pool, &Ask::default());
    assert!(!app.natives.stop(Duration::from_millis(10)));
    // what waited is given up, and what comes now, too
    waiting.wait("end", |seen| seen.dropped && !seen.started);
    app.call(How::Pool, &Ask::default()).wait("end", |seen| seen.dropped && !seen.started);
    gate.open();
    assert!(app.natives.stop(patience(60)));
    assert_eq!(response(&begun).2, "waited");
}

#[test]
fn an_app_that_is_dropped_lets_its_handlers_finish() {
    let app = App::new("h_block");
    let client = app.call(How::Pool, &Ask::query("/x?ms=50"));
    client.wait("start", |seen| seen.started);
    drop(app);
    assert_eq!(response(&client).2, "waited");
}

#[test]
fn threads_get_no_signals() {
    let app = App::new("h_signals");
    assert_eq!(response(&app.call(How::Pool, &Ask::default())).2, "blocked");
    // this thread's own are as they were
    assert_eq!(response(&app.call(How::Inline, &Ask::default())).2, "not blocked");
}
