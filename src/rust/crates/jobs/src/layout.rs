//! The tables, and how a file that is older gets them.

use crate::error::StoreError;
use rusqlite::Connection;

/// Names the file as one of jobs: "drjb".
const APPLICATION: i64 = 0x6472_6a62;

/// Each makes the tables of its version from those of the one before: what is here is in files, and stays as it is.
const VERSIONS: [&str; 1] = [
    // Times are in ms since 1970. Of a job that runs `attempt` says which attempt that is. `failures` are attempts that
    // came to an error, `losses` those whose process ended.
    "CREATE TABLE jobs (
       number INTEGER PRIMARY KEY,
       id BLOB NOT NULL UNIQUE,
       kind TEXT NOT NULL,
       state INTEGER NOT NULL,
       priority INTEGER NOT NULL,
       due INTEGER NOT NULL,
       attempt INTEGER NOT NULL DEFAULT 0,
       failures INTEGER NOT NULL DEFAULT 0,
       losses INTEGER NOT NULL DEFAULT 0,
       key TEXT,
       created INTEGER NOT NULL,
       began INTEGER,
       ended INTEGER,
       forget INTEGER,
       error TEXT
     ) STRICT;
     CREATE INDEX jobs_waiting ON jobs (kind, priority DESC, number) WHERE state = 0;
     CREATE INDEX jobs_running ON jobs (number) WHERE state = 1;
     CREATE INDEX jobs_scheduled ON jobs (due) WHERE state = 5;
     CREATE INDEX jobs_over ON jobs (forget) WHERE forget IS NOT NULL;
     CREATE UNIQUE INDEX jobs_keys ON jobs (kind, key) WHERE key IS NOT NULL;
     CREATE TABLE requests (
       number INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
       request BLOB NOT NULL,
       body BLOB
     ) STRICT;
     -- the latest time, as a number of spans, for which a job of a kind that has a schedule was made
     CREATE TABLE schedules (kind TEXT PRIMARY KEY, turn INTEGER NOT NULL) STRICT;
     CREATE TABLE results (
       number INTEGER PRIMARY KEY REFERENCES jobs ON DELETE CASCADE,
       status INTEGER NOT NULL,
       content_type TEXT,
       body BLOB NOT NULL
     ) STRICT;",
];

/// Brings the tables of a file that was opened to the newest version.
pub fn prepare(db: &mut Connection) -> Result<(), StoreError> {
    let number = |db: &Connection, name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let version = number(db, "user_version")?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))?;
    let is_ours = number(db, "application_id")? == APPLICATION;
    if !is_ours && (tables > 0 || version != 0) {
        return Err(StoreError("it is a database of something else".to_owned()));
    }
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    if done > VERSIONS.len() {
        return Err(StoreError(format!("a newer drover has written it: its version is {version}")));
    }
    let change = db.transaction()?;
    for step in &VERSIONS[done..] {
        change.execute_batch(step)?;
    }
    change.pragma_update(None, "application_id", APPLICATION)?;
    change.pragma_update(None, "user_version", VERSIONS.len() as i64)?;
    change.commit()?;
    Ok(())
}
