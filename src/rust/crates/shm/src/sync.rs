//! Where shared words come from: the standard library, or a model that follows them through all interleavings
//! (`model`).

#[cfg(loom)]
pub(crate) use crate::model::{fence, AtomicU64};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{fence, AtomicU64};
