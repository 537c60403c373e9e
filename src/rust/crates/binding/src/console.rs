//! The log of an interactive session, on its way to R's console: `src/console.c` writes it there. One for the whole
//! process, as there is one console.

use crate::node::Str;
use crate::shield::shield;
use engine::Console;
use std::sync::{Mutex, OnceLock, PoisonError};

static CONSOLE: OnceLock<Console> = OnceLock::new();
/// The record that C writes now.
static TAKEN: Mutex<String> = Mutex::new(String::new());

/// The console of this session, if it has one.
pub(crate) fn console() -> Option<Console> {
    CONSOLE.get().cloned()
}

/// From now on, servers that are started log to the console. `wake` is called from any thread when there is something
/// to write.
#[no_mangle]
pub extern "C" fn drv_console_start(wake: extern "C" fn()) {
    shield((), || {
        CONSOLE.get_or_init(|| Console::new(move || wake()));
    });
}

/// The next record, which lives until the next call. 0 when there is none.
///
/// # Safety
/// `text` is valid for writing. For the main thread of the session, and not for its forks.
#[no_mangle]
pub unsafe extern "C" fn drv_console_next(text: *mut Str) -> i32 {
    shield(0, || {
        let Some(record) = CONSOLE.get().and_then(Console::take) else { return 0 };
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = record;
        // SAFETY: the caller's.
        unsafe { text.write(Str::new(taken.as_bytes())) };
        1
    })
}
