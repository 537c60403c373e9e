//! What is wrong on purpose: `tools/sanitize.sh` runs these to see that its sanitizers see it. Nothing else may.

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
