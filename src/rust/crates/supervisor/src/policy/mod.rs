//! What to do about processes, without doing it: no process, no I/O, and the time is always given.

mod backoff;
mod express;
mod load;
mod sessions;
mod size;
mod wear;

pub use backoff::{Backoff, Setback};
pub use express::Express;
pub use load::Load;
pub use sessions::Sessions;
pub use size::{PoolSize, Unused};
pub use wear::{Reason, Wear};
