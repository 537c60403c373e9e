//! What is asked of Linux here and that other systems have otherwise or not at all: processes by descriptors, and what
//! `/proc` says of them. A port begins with this folder, and with the one of this name in `shm`.

mod memory;
mod process;
mod processor;

pub use memory::{available, pss, resident};
pub use process::{check_system, Exit, Process};
pub use processor::{processing, Processing};
