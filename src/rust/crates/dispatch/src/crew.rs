//! Which workers may have a request: those of a pool of a generation of the app.

/// Pools of an app, the one for all requests that name no other among them.
pub const MOST_POOLS: usize = 16;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Crew {
    /// of the app
    pub generation: u32,
    /// where it is among the app's pools: 0 for requests that name none
    pub pool: u8,
}
