//! What the fuzz target `websocket` of `tests/fuzz` sees. Compiled with `--cfg fuzzing` only; no part of this crate's
//! interface.

pub use super::read::{Came, Reader};
