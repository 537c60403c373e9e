//! How long a request may take, and which setting says so: the same for requests of workers and of C handlers in this
//! process. The owner of the requests watches the clock.

use std::fmt;

/// Longest times since a request came, in ms.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// until its handler begins
    pub in_queue: u64,
    /// until its answer
    pub in_all: u64,
}

/// What has taken too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Late {
    /// its handler has not begun: nothing has happened, and it may be tried again
    Waiting(Over),
    /// its handler has no answer
    Running(Over),
}

/// A setting that was exceeded, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over {
    setting: &'static str,
    ms: u64,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "over `{}` = {} s", self.setting, self.ms as f64 / 1000.0)
    }
}

impl Patience {
    /// What is late, if anything, `waited` ms after the request came.
    pub fn late(&self, waited: u64, begun: impl FnOnce() -> bool) -> Option<Late> {
        if waited >= self.in_all {
            let over = Over { setting: "timeout", ms: self.in_all };
            return Some(if begun() { Late::Running(over) } else { Late::Waiting(over) });
        }
        let waits = waited >= self.in_queue && !begun();
        waits.then_some(Late::Waiting(Over { setting: "queue_timeout", ms: self.in_queue }))
    }

    /// After how many ms to look first.
    pub fn first(&self) -> u64 {
        self.in_queue.min(self.in_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ms_or_never, NEVER};

    #[test]
    fn what_is_late_names_its_setting() {
        let patience = Patience { in_queue: 500, in_all: 2000 };
        let told = |waited, begun| match patience.late(waited, || begun) {
            None => "in time".to_owned(),
            Some(Late::Waiting(over)) => format!("waiting {over}"),
            Some(Late::Running(over)) => format!("running {over}"),
        };
        assert_eq!(told(499, false), "in time");
        assert_eq!(told(500, false), "waiting over `queue_timeout` = 0.5 s");
        assert_eq!(told(1999, true), "in time");
        assert_eq!(told(2000, true), "running over `timeout` = 2 s");
        assert_eq!(told(2000, false), "waiting over `timeout` = 2 s");
    }

    #[test]
    fn zero_is_never() {
        let year = 366 * 86_400 * 1000;
        let patience = Patience { in_queue: ms_or_never(0.0), in_all: ms_or_never(0.0) };
        assert_eq!(patience.late(100 * year, || false), None);
        assert!(NEVER.checked_add(200 * year).is_some(), "sums with it fit");
    }
}
