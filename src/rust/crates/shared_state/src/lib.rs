//! Values that all workers of a server see: `dr_state()` in R.
//!
//! A [`Table`] is shared memory that the server and its workers have mapped. Each changes it by itself, under a lock
//! that the system takes back from a process that ends (`lock`), in steps that leave the table whole when the process
//! is killed between any two of them (`table`). Values are numbers or bytes, which mean something to R only.
//! Neighbours: `shm` (the memory), `binding` (R's side), `engine` (which sets the limits and tells how much there is).

#![forbid(unsafe_code)]

mod blocks;
mod layout;
mod lock;
mod refused;
mod table;

pub use refused::Refused;
pub use table::{Lifetime, Limits, Table, Value, LONGEST_KEY};

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

static OF_THIS_PROCESS: OnceLock<Arc<Table>> = OnceLock::new();

/// The table of this process, of its server, or of the process that it was forked from. Made when it is first asked
/// for.
///
/// # Errors
/// When the system has no memory for it.
pub fn table() -> io::Result<&'static Arc<Table>> {
    static BEING_MADE: Mutex<()> = Mutex::new(());
    if let Some(table) = OF_THIS_PROCESS.get() {
        return Ok(table);
    }
    let _alone = BEING_MADE.lock().unwrap_or_else(PoisonError::into_inner);
    match OF_THIS_PROCESS.get() {
        Some(table) => Ok(table),
        None => {
            let table = Arc::new(Table::new()?);
            Ok(OF_THIS_PROCESS.get_or_init(|| table))
        }
    }
}

/// This process has the table behind the descriptor, which its server has given.
///
/// # Errors
/// When that is none, or this process has one already.
pub fn adopt(fd: OwnedFd) -> io::Result<()> {
    let table = Table::attach(fd)?;
    OF_THIS_PROCESS.set(Arc::new(table)).map_err(|_| io::Error::other("this process has a state of its own"))
}
