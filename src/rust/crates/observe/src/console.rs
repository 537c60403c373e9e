//! The log of an interactive session, which R's console shows: as only R's main thread may write there, records wait
//! here until it takes them. Bounded: of what is too much, the latest is left out and counted.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Records that may wait. R is at its prompt most of the time, or writes them between two requests.
const MOST: usize = 1000;

/// Handle to the console; cheap to clone.
#[derive(Clone)]
pub struct Console(Arc<Inner>);

struct Inner {
    waiting: Mutex<Waiting>,
    wake: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Waiting {
    records: VecDeque<String>,
    left_out: u64,
}

impl Console {
    /// One whose main thread is told by `wake`, from any thread, that there is something to write.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Console(Arc::new(Inner { waiting: Mutex::default(), wake: Box::new(wake) }))
    }

    /// A record is to be written.
    pub(super) fn write(&self, record: String) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.records.len() < MOST {
            waiting.records.push_back(record);
        } else {
            waiting.left_out += 1;
        }
        drop(waiting);
        (self.0.wake)();
    }

    /// The next record, for the main thread; `None` when there is none.
    pub fn take(&self) -> Option<String> {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.records.pop_front().or_else(|| {
            let left_out = std::mem::take(&mut waiting.left_out);
            (left_out > 0).then(|| format!("drover: {left_out} lines of the log left out: R was busy\n"))
        })
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Console")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    #[test]
    fn what_is_too_much_is_counted() {
        let woken = Arc::new(AtomicUsize::new(0));
        let counter = woken.clone();
        let console = Console::new(move || {
            counter.fetch_add(1, Relaxed);
        });
        assert_eq!(console.take(), None);
        (0..MOST + 7).for_each(|i| console.write(format!("{i}\n")));
        assert_eq!(woken.load(Relaxed), MOST + 7);
        let taken: Vec<_> = std::iter::from_fn(|| console.take()).collect();
        assert_eq!((taken.len(), &*taken[0], &*taken[MOST - 1]), (MOST + 1, "0\n", "999\n"));
        assert_eq!(taken[MOST], "drover: 7 lines of the log left out: R was busy\n");
    }
}
