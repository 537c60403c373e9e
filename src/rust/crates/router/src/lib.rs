//! Which route a request is for: patterns, tree, params.
//!
//! Pure: no I/O, no clock, no HTTP library. The engine asks once per request, after the request line is read and before
//! admission; what it does with the answer (405 with `Allow`, the answer to `OPTIONS`, static files, 404) is the
//! engine's.
//!
//! Reading order: [`percent`](decode) (one decoding, shared with static files), [`Method`], [`ParamType`], `segment`
//! (one segment of a pattern against one of a path), [`Pattern`], `search` (what matching routes come to), `tree`,
//! `literals` (the short way), [`Router`]; [`Prefixes`], for rules that hold below some paths.
#![forbid(unsafe_code)]

mod literals;
mod method;
mod param_type;
mod pattern;
mod percent;
mod prefixes;
mod router;
mod search;
mod segment;
mod tree;

pub use method::{Method, MethodSet, UnknownMethod};
pub use param_type::ParamType;
pub use pattern::{Param, Pattern, PatternError};
pub use percent::{decode, PathError};
pub use prefixes::{Prefixes, Reach};
pub use router::{Match, Params, Router, RouterBuilder};
