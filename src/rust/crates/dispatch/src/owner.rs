//! The worker that a connection belongs to: all that happens on it goes there, and to no other.

/// Names such a worker. None is named so again soon after it has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Owner {
    /// a process, by its number
    Process(i32),
    /// the session, while it serves this generation of the app
    Session(u32),
}
