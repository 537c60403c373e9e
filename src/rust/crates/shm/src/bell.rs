//! Wakes a reader that sleeps, and costs nothing while it is awake.
//!
//! One shared word: 1 while the sleeper sleeps or is about to. Sleeper: `doze` (store 1, full fence), look for work
//! once more, then sleep on the descriptor, then `awake` (store 0). Ringer: publish the work, full fence, and only if
//! the word is 1 change it to 0 and ring. The two fences make it impossible that the sleeper misses the work and the
//! ringer misses the sleeper. A dead sleeper leaves 1: one ring is wasted. A dead ringer leaves nothing.

use crate::sync::{fence, AtomicU64};
use crate::{Alarm, Segment};
use rustix::event::{poll, PollFd, PollFlags};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// What is done to wake the sleeper when its descriptor alone does not do.
pub trait Ring: Send + Sync {
    /// Wakes it. `true` when that is enough and the descriptor need not be written.
    fn ring(&self) -> bool;
}

/// A doorbell, shared by a sleeper and a ringer: a word of a segment, and the descriptor on which the sleeper waits.
pub struct Bell {
    segment: Arc<Segment>,
    offset: usize,
    alarm: Alarm,
    ring: Option<Arc<dyn Ring>>,
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bell").field("alarm", &self.alarm).finish_non_exhaustive()
    }
}

impl Bell {
    /// A bell with a word of its own, between threads of one process.
    ///
    /// # Errors
    /// When the system gives no descriptor or memory.
    #[cfg(not(loom))]
    pub fn alone() -> io::Result<Self> {
        Self::new(&Arc::new(Segment::new(size_of::<u64>())?), 0, None)
    }

    /// A bell whose word is at `offset` and whose sleeper is awake.
    ///
    /// # Errors
    /// When the system gives no descriptor.
    pub(crate) fn new(segment: &Arc<Segment>, offset: usize, ring: Option<Arc<dyn Ring>>) -> io::Result<Self> {
        Ok(Bell { segment: segment.clone(), offset, alarm: Alarm::new()?, ring })
    }

    /// The other end of a bell, of its descriptor.
    pub(crate) fn at(segment: &Arc<Segment>, offset: usize, fd: OwnedFd, ring: Option<Arc<dyn Ring>>) -> Self {
        Bell { segment: segment.clone(), offset, alarm: Alarm::of(fd), ring }
    }

    fn asleep(&self) -> &AtomicU64 {
        self.segment.word(self.offset)
    }

    /// Sleeper: says that it will sleep. Look for work once more after this, then wait on the descriptor.
    pub fn doze(&self) {
        Self::doze_at_all([self]);
    }

    /// Sleeper: says that it will sleep, and that each of these is to wake it.
    pub fn doze_at_all<'a>(bells: impl IntoIterator<Item = &'a Bell>) {
        for bell in bells {
            bell.asleep().store(1, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
    }

    /// Sleeper: sleeps until the bell rings or a signal comes.
    pub fn wait(&self) {
        // the only error is a signal
        let _ = poll(&mut [PollFd::new(&self.alarm, PollFlags::IN)], None);
    }

    /// Sleeper: is awake again, and the descriptor is quiet.
    pub fn awake(&self) {
        self.stay_awake();
        self.alarm.drain();
    }

    /// Sleeper: found work after `doze` and does not sleep after all; the descriptor may still be ringing.
    pub fn stay_awake(&self) {
        self.asleep().store(0, Ordering::Relaxed);
    }

    /// Ringer: whether the sleeper sleeps, or is about to, and the bell has not rung since.
    pub fn is_asleep(&self) -> bool {
        self.asleep().load(Ordering::Relaxed) == 1
    }

    /// Ringer: call after publishing work. Wakes the sleeper if it sleeps.
    pub fn ring(&self) {
        fence(Ordering::SeqCst);
        let asleep = self.asleep();
        if asleep.load(Ordering::Relaxed) == 1
            && asleep.compare_exchange(1, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            self.ring_always();
        }
    }

    /// Ringer: wakes the sleeper regardless of the word, for a change that is not in a ring.
    pub fn ring_always(&self) {
        if !self.ring.as_ref().is_some_and(|r| r.ring()) {
            self.alarm.sound();
        }
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.alarm.as_fd()
    }
}

impl AsRawFd for Bell {
    fn as_raw_fd(&self) -> RawFd {
        self.alarm.as_fd().as_raw_fd()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn no_wake_up_is_lost() {
        let segment = Arc::new(Segment::new(4096).unwrap());
        let bell = Arc::new(Bell::new(&segment, 0, None).unwrap());
        let work = Arc::new(AtomicU64::new(0));
        let (bell2, work2) = (bell.clone(), work.clone());
        let ringer = std::thread::spawn(move || {
            for i in 1..=20_000u64 {
                work2.store(i, Ordering::Release);
                bell2.ring();
                if i % 64 == 0 {
                    std::thread::yield_now();
                }
            }
        });
        let mut seen = 0;
        while seen < 20_000 {
            bell.doze();
            let now = work.load(Ordering::Acquire);
            if now == seen {
                let mut fds = [rustix::event::PollFd::new(&bell, rustix::event::PollFlags::IN)];
                let second = rustix::event::Timespec { tv_sec: 5, tv_nsec: 0 };
                assert_eq!(rustix::event::poll(&mut fds, Some(&second)).unwrap(), 1, "lost after {seen}");
            }
            bell.awake();
            seen = work.load(Ordering::Acquire);
        }
        ringer.join().unwrap();
    }
}
