//! What the program does without, and the processes that it starts. `src/zygote.c` does the same for those of an R
//! session, whose own rights are its user's business.

use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use rustix::thread::set_no_new_privs;

/// No program gains rights by being started from here, and no dump of memory is left by a crash. For the main thread,
/// before there are others.
pub(crate) fn privileges() {
    // an error means an old or a strange kernel: then there is nothing to be done
    let _ = set_no_new_privs(true);
    let maximum = getrlimit(Resource::Core).maximum;
    // of 0, a program that takes dumps through a pipe would not hear: core(5)
    let current = Some(maximum.unwrap_or(1).min(1));
    let _ = setrlimit(Resource::Core, Rlimit { current, maximum });
}
