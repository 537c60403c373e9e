//! Quick handlers run in a row and their answers are sent together; slow ones delay no other request.

use crate::app::{response, App, Ask, How};
use crate::client::Client;
use crate::gate::Gate;

/// Has the pool take the handler for a quick one, which it is when it does not wait.
fn made_quick(name: &str) -> App {
    let app = App::new(name);
    for _ in 0..100 {
        response(&app.call(How::Pool, &Ask::query("/x?ms=0")));
    }
    app
}

/// One that stands at the gate, and many that do not wait.
fn slow_among_quick(slow: &str) -> Vec<Ask<'_>> {
    let query = |i| Ask::query(if i == 3 { slow } else { "/x?ms=0" });
    (0..20).map(query).collect()
}

#[test]
fn slow_handlers_run_side_by_side_from_the_first_request() {
    let app = App::new("h_block");
    let gate = Gate::new();
    let target = gate.target();
    let clients = app.call_all(&[(); 4].map(|()| Ask::query(&target)));
    for client in &clients {
        client.wait("start", |seen| seen.started);
    }
    assert!(clients.iter().all(|client| client.see().answer.is_none()));
    gate.open();
    clients.iter().for_each(|client| {
        response(client);
    });
}

#[test]
fn many_quick_ones() {
    for name in ["h_block", "old_block", "h_echo"] {
        let app = made_quick(name);
        for _ in 0..50 {
            let asks: Vec<_> = (0..100).map(|_| Ask::query("/x?ms=0")).collect();
            app.call_all(&asks).iter().for_each(|client| {
                response(client);
            });
        }
    }
}

#[test]
fn nobody_waits_for_a_quick_one_that_turns_slow() {
    for name in ["h_block", "old_block"] {
        let app = made_quick(name);
        let gate = Gate::new();
        let clients = app.call_all(&slow_among_quick(&gate.target()));
        for client in clients.iter().enumerate().filter_map(|(i, client)| (i != 3).then_some(client)) {
            response(client);
        }
        assert!(clients[3].see().answer.is_none(), "those behind it did not wait for it");
        gate.open();
        response(&clients[3]);
    }
}

#[test]
fn the_answer_of_one_that_goes_on_does_not_wait_for_it() {
    let app = made_quick("h_answer_and_block");
    let gate = Gate::new();
    let clients = app.call_all(&slow_among_quick(&gate.target()));
    clients.iter().for_each(|client| {
        response(client);
    });
    let slow: &Client = &clients[3];
    gate.wait();
    assert!(!slow.see().dropped, "it has its answer while the handler still runs");
    gate.open();
    slow.wait("end", |seen| seen.dropped);
}
