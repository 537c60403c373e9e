//! Giving memory back to the system.

/// Has the allocator return the pages that it holds but nobody uses. Takes milliseconds where there are many: for
/// moments of calm.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    {
        extern "C" {
            fn malloc_trim(pad: usize) -> i32;
        }
        // SAFETY: a function of the C library without preconditions; it takes the allocator's own locks.
        unsafe { malloc_trim(0) };
    }
}
