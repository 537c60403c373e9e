//! What a process holds that forks of it must not share.
//!
//! A fork has copies of all descriptors, for the same open files: two workers that ask over one connection to a
//! database read each other's answers. Of threads it has none, while what they hold stays as it was. So a process that
//! is to be forked is watched while it loads the app ([`Watch`]): what it holds afterwards and did not before is told
//! for a person, and [`Unshared::drop_here`] takes it away from a fork, so that using it there is an error.
//!
//! Left out is what is known to do no harm: bells of a process for itself (pipes and pairs of sockets with both ends
//! here), files that are only read or only written, and threads of libraries that see to forks themselves.
//!
//! What was opened is seen in `/proc`, whoever opened it: R, a package, or a library below one. Without `/proc` nothing
//! is found.

mod files;
mod kind;
mod net;
mod threads;
mod watch;

pub use files::OpenFiles;
pub use watch::{Unshared, Watch};
