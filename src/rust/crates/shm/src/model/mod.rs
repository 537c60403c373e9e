//! Shared memory that a model checker follows: built with `--cfg loom` only, for tests only.
//!
//! The rest of the crate is compiled as it is, with other words (`words`) and other segments (`segment`) beneath it.
//! Loom then runs each model in every interleaving of its threads and with every value that a load may see under the
//! orderings that the code asks for. What it finds: a lost, torn or doubled message, a request that runs twice or
//! nowhere, a lost wake-up (a deadlock), and bytes that two threads touch without an order between them.
//!
//! The models: `ring`, `slots`, `bell`. In some of them a thread stops for ever at one of its steps, each step in turn:
//! a process that was killed. `weaken` weakens every ordering of the crate, one at a time, and wants a model to fail
//! for each: a model that passes with a broken ordering proves nothing, and an ordering that no model needs is not
//! needed.
//!
//! Run it: `RUSTFLAGS="--cfg loom" cargo test -p shm --release --lib`, a stage of `tools/test.sh`.

mod bell;
mod ring;
mod segment;
mod slots;
mod weaken;
mod words;

pub use segment::Segment;
pub(crate) use words::{fence, AtomicU64};

use std::sync::Arc;

/// The models by name. One more belongs here.
const MODELS: &[(&str, fn())] = &[
    ("bytes are whole and in order, and none is overwritten before it was read", ring::whole_and_in_order),
    ("a message in parts passes the end of a lap", ring::in_parts),
    ("of a writer that stopped, a beginning arrives", ring::dead_writer),
    ("a reader that stopped leaves the ring full", ring::dead_reader),
    ("each of two requests runs once or is taken back", slots::two_race),
    ("each of three requests runs once or is taken back, and the worker may die", slots::three_of_a_dead_worker),
    ("a stale record starts nothing", slots::stale_record),
    ("a slot is used again", slots::used_again),
    ("one message wakes a sleeper", bell::one),
    ("two messages wake a sleeper", bell::two),
];

/// Both ends of the smallest ring.
fn small_ring() -> (crate::Producer, crate::Consumer) {
    let segment = Arc::new(Segment::new(crate::ring::CONTROL + 128));
    crate::ring::ring(&segment, 0, 128)
}

/// Checks all interleavings of a model.
fn check(model: impl Fn() + Send + Sync + 'static) {
    loom::model::Builder::new().check(model);
}
