//! Gates, at which handlers stand until the test opens them: `tests/lib/gates.R`, in Rust.

use patience::until;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

/// Where handlers of this process leave their marks, and look for the gates.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let tmp = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        // those of processes that have ended
        for entry in std::fs::read_dir(&tmp).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            if name.strip_prefix("marks-").is_some_and(|pid| !PathBuf::from(format!("/proc/{pid}")).exists()) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let folder = tmp.join(format!("marks-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // before the first handler that looks for it
        std::env::set_var("MARKS", &folder);
        folder
    })
}

/// One gate. Dropping it opens it, too, so that a failed test leaves no handler waiting there.
pub struct Gate(String);

impl Gate {
    pub fn new() -> Gate {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        folder();
        Gate(format!("gate-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    /// What a handler is asked that is to stand at it.
    pub fn target(&self) -> String {
        format!("/x?{}", self.field())
    }

    /// The field of its query that says so.
    pub fn field(&self) -> String {
        format!("at={}", self.0)
    }

    /// Waits until a handler stands at it.
    #[track_caller]
    pub fn wait(&self) {
        until("a handler stands at the gate", || folder().join(&self.0).exists());
    }

    pub fn open(&self) {
        std::fs::write(folder().join(format!("{}.open", self.0)), "").unwrap();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = std::fs::write(folder().join(format!("{}.open", self.0)), "");
    }
}
