//! What takes long to find out of a client, and is found out by threads that may take their time: a hash of a password,
//! or what an identity provider says of a login. Its request waits, and is judged again with the answer.

use crate::edge::threads::{Asked, Threads};
use httpd::Failure;
use identity::Who;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Hashes of passwords, tens of milliseconds and megabytes each.
pub static HASHING: Threads = Threads::new("drover-hash");

/// Logins at providers, which answer when they like.
pub static LOGINS: Threads = Threads::new("drover-login");

/// See the module.
pub struct Question(Asked<Heard>);

/// What a question has come to.
pub enum Heard {
    /// the password is wrong, or nothing could be found out
    Nothing,
    /// it is this client
    Is(Arc<Who>),
    /// the login has succeeded: where it leads, and the field that sets its cookie
    LoggedIn { target: String, cookie: String },
    /// it has failed
    Failed(Failure),
}

impl Question {
    /// Has one of these threads find out. `None` when too many questions wait.
    pub(super) fn ask(threads: &'static Threads, find: impl FnOnce() -> Heard + Send + 'static) -> Option<Self> {
        threads.ask(find).map(Question)
    }
}

impl Future for Question {
    type Output = Heard;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // a thread that has panicked has found nothing out
        Pin::new(&mut self.0).poll(cx).map(|heard| heard.unwrap_or(Heard::Nothing))
    }
}
