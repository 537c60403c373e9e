//! The strings that this process makes of what clients send: the guard of R's string cache, one for the main thread.
//!
//! `src/strings.c` asks, after a check and before the strings are made, whether R is to collect garbage first, and
//! tells how long that took, and how long it takes to make strings that collide.

use crate::node::Node;
use fields::guard::CollisionGuard;
use fields::FieldError;
use std::cell::RefCell;
use std::time::Duration;

thread_local! {
    static GUARD: RefCell<CollisionGuard> = RefCell::default();
}

/// Borrows the guard; `f` must not call R, which may come back here.
pub(crate) fn with_guard<T>(f: impl FnOnce(&mut CollisionGuard) -> T) -> T {
    GUARD.with_borrow_mut(f)
}

/// Checks all strings of a value that C is about to make.
pub(crate) fn check(node: &Node, max_collisions: usize) -> Result<(), FieldError> {
    with_guard(|guard| guard.check(max_collisions, |visit| node.strings(visit)))
}

/// The strings that follow are not those of a request.
#[no_mangle]
pub extern "C" fn drv_strings_begin() {
    with_guard(CollisionGuard::begin);
}

/// 1 when the strings that were checked last are made faster once garbage is collected.
#[no_mangle]
pub extern "C" fn drv_strings_want_room() -> i32 {
    i32::from(with_guard(|guard| guard.wants_collection()))
}

/// Garbage was collected, in `ns` nanoseconds.
#[no_mangle]
pub extern "C" fn drv_strings_have_room(ns: u64) {
    with_guard(|guard| guard.collected(Duration::from_nanos(ns)));
}

/// 1 when the time that the strings take that were checked last is to be told to [`drv_strings_walked`].
#[no_mangle]
pub extern "C" fn drv_strings_collide() -> i32 {
    i32::from(with_guard(|guard| guard.collides()))
}

/// R has made the strings, in `ns` nanoseconds.
#[no_mangle]
pub extern "C" fn drv_strings_walked(ns: u64) {
    with_guard(|guard| guard.walked(Duration::from_nanos(ns)));
}
