//! The thread that has the store. What is asked while it writes waits, and is then done in one transaction: the disk is
//! waited for once, for all of it.

use crate::clock::now;
use crate::error::StoreError;
use crate::job::Bounds;
use crate::store::{Place, Store};
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Most that is done in one transaction.
const MOST_AT_ONCE: usize = 512;

/// How often jobs that are over are looked for, to be forgotten.
const FORGETTING: Duration = Duration::from_secs(30);

/// The jobs of a server. When it is dropped, what was asked is done, and the store is closed, before that returns.
pub struct Desk {
    /// `None` once it is being dropped
    to: Option<Sender<Box<dyn Step>>>,
    thread: Option<JoinHandle<()>>,
}

/// The answer to what was asked: a future, and for threads that may wait [`Answer::wait`]. Whoever drops it has it done
/// all the same.
pub struct Answer<T>(oneshot::Receiver<Result<T, StoreError>>);

/// Something that is done with the store. It is done again, alone, where one beside it fails.
trait Step: Send {
    fn make(&mut self, store: &mut Store) -> Result<(), StoreError>;
    fn answer(self: Box<Self>, kept: Result<(), StoreError>);
}

struct Asked<T, F> {
    act: F,
    value: Option<T>,
    to: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnMut(&mut Store) -> Result<T, StoreError> + Send> Step for Asked<T, F> {
    fn make(&mut self, store: &mut Store) -> Result<(), StoreError> {
        self.value = Some((self.act)(store)?);
        Ok(())
    }

    fn answer(self: Box<Self>, kept: Result<(), StoreError>) {
        let Asked { value, to, .. } = *self;
        if let Some(answer) = kept.map(|()| value).transpose() {
            // who asked may have gone
            let _ = to.send(answer);
        }
    }
}

impl Desk {
    /// Opens the store, see [`Store::open`].
    ///
    /// # Errors
    /// As there; or the system lacks a thread.
    pub fn open(place: &Place, bounds: Bounds, patience: Duration) -> Result<Desk, StoreError> {
        let store = Store::open(place, bounds, patience)?;
        let (to, asked) = channel();
        let desk = thread::Builder::new().name("drover-jobs".to_owned()).spawn(move || run(store, &asked));
        let thread = desk.map_err(|e| StoreError(e.to_string()))?;
        Ok(Desk { to: Some(to), thread: Some(thread) })
    }

    /// Has something done with the store, in a transaction. `act` may be called again, where another one's step has
    /// taken the transaction along.
    pub fn ask<T, F>(&self, act: F) -> Answer<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Store) -> Result<T, StoreError> + Send + 'static,
    {
        let (to, answer) = oneshot::channel();
        if let Some(desk) = &self.to {
            // without the thread the answer is that it has ended
            let _ = desk.send(Box::new(Asked { act, value: None, to }));
        }
        Answer(answer)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // a thread that has panicked has closed it as well
            let _ = thread.join();
        }
    }
}

fn ended<E>(_: E) -> StoreError {
    StoreError("the server is ending".to_owned())
}

impl<T> Answer<T> {
    /// Waits for it, on a thread that is none of a runtime.
    ///
    /// # Errors
    /// What was asked could not be done.
    pub fn wait(self) -> Result<T, StoreError> {
        self.0.blocking_recv().map_err(ended)?
    }
}

impl<T> Future for Answer<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|answer| answer.map_err(ended)?)
    }
}

fn run(mut store: Store, asked: &Receiver<Box<dyn Step>>) {
    let mut forgotten_at = Instant::now();
    loop {
        match asked.recv_timeout(FORGETTING) {
            Ok(first) => {
                let steps = std::iter::once(first).chain(asked.try_iter().take(MOST_AT_ONCE - 1)).collect();
                make(&mut store, steps);
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if forgotten_at.elapsed() >= FORGETTING {
            forgotten_at = Instant::now();
            while store.at_once(|store| store.forget(now())).is_ok_and(|forgotten| forgotten > 0) {}
        }
    }
}

fn make(store: &mut Store, mut steps: Vec<Box<dyn Step>>) {
    let all = store.at_once(|store| steps.iter_mut().try_for_each(|step| step.make(store)));
    if all.is_ok() || steps.len() == 1 {
        return steps.into_iter().for_each(|step| step.answer(all.clone()));
    }
    for mut step in steps {
        let kept = store.at_once(|store| step.make(store));
        step.answer(kept);
    }
}
