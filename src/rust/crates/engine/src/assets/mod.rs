//! Static files: directories served under a mount, and single files that a handler chose, without R.
//!
//! The engine asks [`Mounts::respond`] when no route takes the request, and [`file_response`] when a handler answered
//! with `dr_file()`. Not for writing to the socket: a large file comes back open, for the engine to stream; and not for
//! the bodies of errors: a refusal comes back without one, for the engine to render as it does all others.
//!
//! Reading order: `media_type`, `path` (what may be asked for), `root` (opening beneath a directory), `encoding`
//! (precompressed siblings), `validators` (ETag, conditions), `range`, `deliver` (an open file as a response),
//! `mounts`, `whole` (folders of plumber).

mod deliver;
mod encoding;
pub(crate) mod media_type;
mod mounts;
mod path;
mod range;
mod root;
mod validators;
mod whole;

pub use deliver::{file_response, opened_response, AssetBody};
pub use mounts::{Folder, Mounts};
pub(crate) use validators::{Validators, Verdict};
pub use whole::WholeFiles;
