//! Who asks: whether a password, a token, a JSON Web Token or a sealed cookie is a right one, and what it says of its
//! bearer. Everything is given: bytes, keys and the time. Not for header fields, files or threads: those are `engine`'s
//! (its `edge/auth`).
#![forbid(unsafe_code)]

mod basic;
pub mod jwt;
mod named;
mod password;
mod remembered;
mod sealed;
mod who;

pub use basic::{credentials, is_name_of_user, Users};
pub use named::{digest_of, Named, DIGEST_PREFIX};
pub use password::{hash_password, verify_password};
pub use remembered::{Remembered, Trace};
pub use sealed::{Sealer, LONGEST_COOKIE};
pub use who::{Scheme, Who};
