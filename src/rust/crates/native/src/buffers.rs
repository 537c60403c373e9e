//! Buffers of messages, which go from the threads that receive requests to those that run handlers, and back: otherwise
//! one side would get all its memory anew, and the other free it.

use kept::OF_MANY;
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

/// Buffers that are kept: as many as there are requests under way in a usual moment.
const MOST: usize = 256;
/// Of a new one: what most messages fit in.
const USUAL: usize = 512;

/// Of the whole process: threads do not ask whose app a request is for.
static BACK: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

thread_local! {
    /// what this thread has fetched, so that it takes the lock once for many
    static HERE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer.
pub fn take() -> Vec<u8> {
    HERE.with_borrow_mut(|here| {
        if here.is_empty() {
            // nothing panics while holding it
            std::mem::swap(here, &mut *BACK.lock().unwrap_or_else(PoisonError::into_inner));
        }
        here.pop()
    })
    .unwrap_or_else(|| Vec::with_capacity(USUAL))
}

/// One that is not used any more.
pub fn give_back(mut buffer: Vec<u8>) {
    // others have no use for it: a small one grows again, and a large one would first be made small
    if !(USUAL..=OF_MANY).contains(&buffer.capacity()) {
        return;
    }
    buffer.clear();
    let mut back = BACK.lock().unwrap_or_else(PoisonError::into_inner);
    if back.len() < MOST {
        back.push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_empty_and_not_too_large() {
        // on a thread of its own, which has fetched none
        let came_back = std::thread::spawn(|| {
            give_back(Vec::with_capacity(OF_MANY + 1));
            give_back(Vec::new());
            give_back(vec![1; USUAL]);
            (0..=MOST).map(|_| take()).all(|buffer| buffer.is_empty() && (USUAL..=OF_MANY).contains(&buffer.capacity()))
        });
        assert!(came_back.join().unwrap());
    }
}
