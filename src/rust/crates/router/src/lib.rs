//! Which route a request is for: patterns, tree, params.
#![forbid(unsafe_code)]
