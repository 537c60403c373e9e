//! What the app wants of jobs, from a handler or from the session that serves. It is done in the thread that has the
//! queue, whose runtime waits for the store: whoever says it has none, or one of its own.

use crate::context::Context;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::mpsc::unbounded_channel;

/// What is to be done.
pub type Wanted = Box<dyn FnOnce(Arc<Context>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// Has this done, and `then` told what came of it, or why it is not done.
pub fn want<T, F>(
    context: &Context,
    act: impl FnOnce(Arc<Context>) -> F + Send + 'static,
    then: impl FnOnce(Result<T, String>) + Send + 'static,
) where
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let refused = match context.jobs.wanted.get() {
        None => "the server is starting",
        Some(to) if to.is_closed() => "the server is ending",
        Some(to) => {
            // one that is not done any more ends with the server, and so does whoever waits for it
            let _ = to.send(Box::new(|context| Box::pin(async move { then(act(context).await) })));
            return;
        }
    };
    then(Err(refused.to_owned()));
}

/// Does what is wanted from now on. In the context of a runtime; ends with it.
pub fn listen(context: Arc<Context>) {
    let (to, mut wanted) = unbounded_channel::<Wanted>();
    let _ = context.jobs.wanted.set(to);
    tokio::spawn(async move {
        while let Some(act) = wanted.recv().await {
            tokio::spawn(act(context.clone()));
        }
    });
}
