//! News of jobs, for clients that wait for them: that something is different, not what.

use ::jobs::JobId;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{channel, Receiver, Sender};

/// News that a slow one may have missed: then it looks for itself.
const KEPT: usize = 256;

/// See the module.
pub struct Changes(Sender<Option<JobId>>);

/// Hears of one job.
pub struct Listener {
    id: JobId,
    news: Receiver<Option<JobId>>,
}

impl Changes {
    pub fn new() -> Self {
        Changes(channel(KEPT).0)
    }

    /// Something is different now of this job.
    pub fn say(&self, id: JobId) {
        // without a listener it is an error that means nothing
        let _ = self.0.send(Some(id));
    }

    /// The server is to end.
    pub fn end(&self) {
        let _ = self.0.send(None);
    }

    /// Hears of this job from now on.
    pub fn listen(&self, id: JobId) -> Listener {
        Listener { id, news: self.0.subscribe() }
    }
}

impl Listener {
    /// Waits until something may be different of the job. `false` when the server is to end.
    pub async fn changed(&mut self) -> bool {
        loop {
            match self.news.recv().await {
                Ok(Some(id)) if id != self.id => {}
                Ok(Some(_)) | Err(RecvError::Lagged(_)) => return true,
                Ok(None) | Err(RecvError::Closed) => return false,
            }
        }
    }
}
