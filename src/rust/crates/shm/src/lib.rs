//! Shared memory: segments, rings and doorbells.
