//! What is known of a request from its head to its end.

use super::end::{Ending, Watch};
use crate::context::Context;
use http::StatusCode;
use httpd::{Connection, Head, OpenRequest};
use observe::Level;
use std::sync::Arc;

/// See the module. One that is dropped before it was answered belongs to a client that has left.
pub struct State {
    /// names it, to its client and in the log
    pub id: u64,
    /// what it asks for
    pub head: Head,
    /// `None` once it is answered
    open: Option<OpenRequest>,
    /// `None` when nobody wants to know how it ends
    pub watch: Option<Watch>,
}

impl State {
    pub fn new(head: Head, connection: Arc<Connection>, context: &Context) -> Self {
        let id = connection.server().next_id();
        State { id, head, open: Some(OpenRequest::new(connection)), watch: Watch::begin(context) }
    }

    /// Whose it is.
    pub fn connection(&self) -> &Arc<Connection> {
        self.open.as_ref().expect("a request is open until it is answered").connection()
    }

    /// Writes a line of the log about it.
    pub fn log(&self, level: Level, status: StatusCode, text: &str) {
        self.connection().server().log.line(level, &self.line(status, text));
    }

    /// What the log says of it.
    pub fn line(&self, status: StatusCode, text: &str) -> String {
        let (method, path) = (&self.head.method, self.head.path());
        format!("id={:016x} {} {method} {path} {} {text}", self.id, self.connection().remote_addr, status.as_u16())
    }

    /// It is answered: how it ends is for others to say.
    pub fn answered(&mut self, status: StatusCode, reason: String) -> (Option<OpenRequest>, Option<Box<Ending>>) {
        let ending = self.ending(status.as_u16(), reason);
        (self.open.take(), ending)
    }

    fn ending(&mut self, status: u16, reason: String) -> Option<Box<Ending>> {
        let watch = self.watch.take()?;
        let connection = self.connection().clone();
        Some(Box::new(Ending::new(watch, self.id, self.head.take(), connection, status, reason)))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // as nginx has it: no status of HTTP, for nobody is told
        const CLIENT_LEFT: u16 = 499;
        if let Some(ending) = self.ending(CLIENT_LEFT, "the client left".to_owned()) {
            httpd::End::end(ending, 0, false);
        }
    }
}
