//! What this process holds that its forks must not share. It is asked and told on the main thread only. Neighbours: the
//! crate `fork_safety`, `src/fork_safety.c`.

use crate::node::Str;
use crate::shield::{shield, Error};
use ::fork_safety::{OpenFiles, Unshared, Watch};
use std::cell::RefCell;

#[derive(Default)]
struct State {
    watch: Watch,
    /// of a session that serves, or has: what is opened later may be the server's
    before_serving: Option<OpenFiles>,
    found: Unshared,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

fn with<T>(otherwise: T, f: impl FnOnce(&mut State) -> T) -> T {
    shield(otherwise, || STATE.with(|state| f(&mut state.borrow_mut())))
}

/// What is there already does not count.
#[no_mangle]
pub extern "C" fn drv_held_watch() {
    with((), |state| state.watch = Watch::begin());
}

/// What is new since the last call came from this place.
///
/// # Safety
/// C lends the text for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_held_came_from(place: Str) {
    // SAFETY: the caller's.
    let place = unsafe { place.as_bytes() };
    with((), |state| state.watch.came_from(&String::from_utf8_lossy(place)));
}

/// Looks, and puts what it is, in words, where an error would be.
///
/// # Safety
/// `answer` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_held_found(answer: *mut Error) {
    let text = with(String::new(), |state| {
        state.found = state.watch.unshared(state.before_serving.as_ref());
        state.found.text().to_owned()
    });
    // SAFETY: the caller's.
    unsafe { Error::put(answer, 0, text) };
}

/// What is open now is not the server's.
#[no_mangle]
pub extern "C" fn drv_held_before_serving() {
    // the memory of `dr_state()` is the forks', too, which map more of it when there is more in it
    let _ = shared_state::table();
    with((), |state| state.before_serving = Some(OpenFiles::now()));
}

/// In a fork of a session that serves: closes what may be the server's, except `keep`.
///
/// # Safety
/// The fork uses none of it.
#[no_mangle]
pub unsafe extern "C" fn drv_held_close_later(keep: i32) {
    with((), |state| {
        // SAFETY: the caller's.
        state.before_serving.iter().for_each(|files| unsafe { files.close_later_ones(keep) });
    });
}

/// In a fork: using what was found is an error from now on.
#[no_mangle]
pub extern "C" fn drv_held_drop() {
    with((), |state| state.found.drop_here());
}
