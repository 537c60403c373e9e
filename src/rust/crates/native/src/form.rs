//! What the addresses that C has begin with.

/// The first member of what C has an address of: which form of a request it is, see `handle`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Direct,
    Shared,
}
