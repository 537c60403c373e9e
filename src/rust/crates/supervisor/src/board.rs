//! Where the supervisor notes what workers there are, for whoever asks from another thread.

use crate::os::{pss, resident, Process};
use engine::{WorkerState, WorkerStats, WorkerStatus};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// One worker, as the supervisor notes it.
#[derive(Clone, Debug)]
pub struct Note {
    /// its process
    pub process: Process,
    /// the app that it runs
    pub generation: u32,
    /// by which routes name the pool that it is in
    pub pool: String,
    /// what the supervisor knows of its state: idle stands for busy, too
    pub state: WorkerState,
    /// counted by the engine
    pub stats: Arc<WorkerStats>,
    /// since when
    pub since: Instant,
}

/// The notes of all workers, and the pools that routes of the app name.
#[derive(Debug, Default)]
pub struct Board(Mutex<Vec<Note>>, Mutex<Vec<String>>);

impl Board {
    /// Replaces all notes.
    pub fn write(&self, notes: Vec<Note>) {
        *self.0.lock().unwrap_or_else(|e| e.into_inner()) = notes;
    }

    /// Replaces the names of pools.
    pub fn set_pools(&self, names: Vec<String>) {
        *self.1.lock().unwrap_or_else(|e| e.into_inner()) = names;
    }

    /// By which names routes of the app that serves name pools.
    pub fn pools(&self) -> Vec<String> {
        self.1.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// Each worker as it is now.
    pub fn read(&self) -> Vec<WorkerStatus> {
        // a copy: the system takes its time to count memory, and the supervisor must not wait for that
        let notes = self.0.lock().unwrap_or_else(|e| e.into_inner()).clone();
        notes.iter().map(status).collect()
    }

    /// The same for metrics and the dashboard: what is quickly told, as an I/O thread asks.
    pub fn quick(&self) -> Vec<WorkerStatus> {
        let notes = self.0.lock().unwrap_or_else(|e| e.into_inner()).clone();
        let quick =
            |note: &Note| quick_status(note.process.pid(), note.generation, note.state, &note.stats, note.since);
        notes.iter().map(|note| alive(note, quick(note))).collect()
    }
}

fn status(note: &Note) -> WorkerStatus {
    let status = worker_status(note.process.pid(), note.generation, note.state, &note.stats, note.since);
    alive(note, status)
}

fn alive(note: &Note, status: WorkerStatus) -> WorkerStatus {
    WorkerStatus { alive: !note.process.has_ended(), pool: note.pool.clone(), ..status }
}

/// A worker that lives, as it is now. `state`: what is known of it beside the requests that it has: idle stands for
/// busy, too.
pub fn worker_status(
    pid: i32,
    generation: u32,
    state: WorkerState,
    stats: &WorkerStats,
    since: Instant,
) -> WorkerStatus {
    let memory = pss(pid);
    let quick = quick_status(pid, generation, state, stats, since);
    WorkerStatus { memory: memory.unwrap_or(quick.memory), ..quick }
}

/// The same, with all of its resident memory: the system takes a hundred times as long to count what is shared by its
/// share.
pub fn quick_status(
    pid: i32,
    generation: u32,
    state: WorkerState,
    stats: &WorkerStats,
    since: Instant,
) -> WorkerStatus {
    let age = since.elapsed();
    let busy_since = stats.busy_since_ms.load(Ordering::Relaxed);
    let running = if busy_since > 0 { 1000 * engine::now_ms().saturating_sub(busy_since) } else { 0 };
    let busy = stats.busy_us.load(Ordering::Relaxed) + running;
    WorkerStatus {
        pid,
        alive: true,
        state: state.with(busy_since),
        generation,
        pool: String::new(),
        requests: stats.requests.load(Ordering::Relaxed),
        errors: stats.errors.load(Ordering::Relaxed),
        promises: stats.promises.load(Ordering::Relaxed),
        busy: (busy as f64 / 1e6 / age.as_secs_f64().max(1e-6)).min(1.0),
        memory: resident(pid).unwrap_or(0),
        heap: stats.heap.load(Ordering::Relaxed),
        age: age.as_secs_f64(),
        runs: Vec::new(),
        sessions: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_becomes_a_row() {
        let stats = WorkerStats::default();
        stats.requests.store(5, Ordering::Relaxed);
        stats.errors.store(1, Ordering::Relaxed);
        stats.promises.store(3, Ordering::Relaxed);
        stats.busy_us.store(u64::MAX / 2, Ordering::Relaxed);
        stats.busy_since_ms.store(1, Ordering::Relaxed);
        let board = Board::default();
        board.write(vec![Note {
            process: Process::open(std::process::id() as i32).unwrap(),
            generation: 2,
            pool: "gpu".to_owned(),
            state: WorkerState::Idle,
            stats: Arc::new(stats),
            since: Instant::now(),
        }]);
        let rows = board.read();
        let row = &rows[0];
        assert_eq!((row.alive, row.state, row.generation), (true, WorkerState::Busy, 2));
        assert_eq!((row.requests, row.errors, row.promises, row.busy), (5, 1, 3, 1.0));
    }
}
