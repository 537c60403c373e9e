//! What ends the process, on purpose: run by `tools/sanitize.sh`, to see that its sanitizers see it, and by tests in a
//! process of its own.

use crate::app::{response, App, Ask, How};

#[test]
#[ignore = "reads memory that it has freed: for tools/sanitize.sh"]
fn memory() {
    response(&App::new("h_use_after_free").call(How::Inline, &Ask::default()));
}

#[test]
#[ignore = "two threads write to one variable: for tools/sanitize.sh"]
fn threads() {
    let app = App::new("h_race");
    let clients = [app.call(How::Pool, &Ask::default()), app.call(How::Pool, &Ask::default())];
    clients.iter().for_each(|client| {
        response(client);
    });
}

#[test]
#[ignore = "ends the process: for wrong::ending_the_thread_ends_the_process"]
fn end_of_the_thread() {
    response(&App::new("h_end_thread").call(How::Pool, &Ask::default()));
}
