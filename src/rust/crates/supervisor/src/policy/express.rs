//! Whether there is one worker more, so that short requests need not wait for long ones, and when it goes again.

use std::time::{Duration, Instant};

/// See the module.
#[derive(Debug)]
pub struct Express {
    /// how many short requests had needed it when that was last looked at, and when that was; `None` without it
    seen: Option<(u64, Instant)>,
    /// it stays for so long though none needs it
    lasts: Duration,
}

impl Express {
    /// There is none.
    pub fn new(lasts: Duration) -> Self {
        Express { seen: None, lasts }
    }

    /// Whether there is one, or will be.
    pub fn is_there(&self) -> bool {
        self.seen.is_some()
    }

    /// There is to be one, after so many requests have needed one.
    pub fn begin(&mut self, passed: u64, now: Instant) {
        self.seen = Some((passed, now));
    }

    /// There is to be none.
    pub fn end(&mut self) {
        self.seen = None;
    }

    /// Whether there is one that none has needed lately, when it is time to look: so many have so far.
    pub fn is_unused(&mut self, passed: u64, now: Instant) -> bool {
        match self.seen {
            Some((before, since)) if now - since >= self.lasts => {
                self.seen = Some((passed, now));
                passed == before
            }
            _ => false,
        }
    }

    /// When it is time to look.
    pub fn due(&self) -> Option<Instant> {
        self.seen.map(|(_, since)| since + self.lasts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_as_long_as_it_is_needed() {
        let (now, lasts) = (Instant::now(), Duration::from_secs(300));
        let later = |seconds| now + Duration::from_secs(seconds);
        let mut express = Express::new(lasts);
        assert!(!express.is_there() && express.due().is_none() && !express.is_unused(0, later(999)));
        express.begin(7, now);
        assert_eq!((express.is_there(), express.due()), (true, Some(later(300))));
        assert!(!express.is_unused(7, later(299)), "it is not time to look");
        assert!(!express.is_unused(8, later(300)));
        assert_eq!(express.due(), Some(later(600)));
        assert!(express.is_unused(8, later(600)));
        express.end();
        assert!(!express.is_there());
    }
}
