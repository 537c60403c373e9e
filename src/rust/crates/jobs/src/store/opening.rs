//! A store is opened: by one server at a time, which takes over what the one before has left.

use super::Store;
use crate::error::StoreError;
use crate::job::Bounds;
use crate::layout::prepare;
use rusqlite::{Connection, ErrorCode};
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

/// Where jobs are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// until the server ends
    Memory,
    /// in this file, which is made if it is not there
    File(PathBuf),
}

impl Store {
    /// Opens it, with these bounds. The attempts of a server that has ended wait again: nobody else can
    /// have them, since one process at a time has the file open.
    ///
    /// # Errors
    /// When another process has it open after `patience`, it is no file of jobs, or cannot be read and written.
    pub fn open(place: &Place, bounds: Bounds, patience: Duration) -> Result<Store, StoreError> {
        let mut db = match place {
            Place::Memory => Connection::open_in_memory()?,
            Place::File(path) => {
                // requests of clients are in it, and SQLite gives its other files the same mode
                let made =
                    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path);
                made.map_err(|e| StoreError(e.to_string()))?;
                Connection::open(path)?
            }
        };
        db.busy_timeout(patience)?;
        db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        let is_busy = |e: &rusqlite::Error| e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
        let taken = db.execute_batch("BEGIN EXCLUSIVE; COMMIT; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
        taken.map_err(|e| {
            let busy = "another server has it open: one file is for one server at a time";
            if is_busy(&e) {
                StoreError(busy.to_owned())
            } else {
                e.into()
            }
        })?;
        db.pragma_update(None, "foreign_keys", true)?;
        prepare(&mut db)?;
        let mut store = Store { db, unfinished: 0, used: 0, bounds, progress: HashMap::new() };
        store.count()?;
        store.at_once(Store::take_over)?;
        Ok(store)
    }
}
