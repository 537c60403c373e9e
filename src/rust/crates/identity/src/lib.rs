//! Identity of clients: whether a password, a token, a JSON Web Token, a sealed cookie or a login at a provider is
//! valid, and what it says of its bearer. The caller passes in everything: bytes, keys and the time. Header fields,
//! files, threads and the network are `engine`'s (its `edge/auth`).
#![forbid(unsafe_code)]

mod basic;
pub mod jwt;
mod named;
pub mod oidc;
mod password;
mod remembered;
mod sealed;
mod who;

pub use basic::{credentials, is_name_of_user, Users};
pub use named::{digest_of, Named, DIGEST_PREFIX};
pub use password::{hash_password, verify_password, Verifier};
pub use remembered::{Remembered, Trace};
pub use sealed::{Sealer, LONGEST_COOKIE};
pub use who::{Scheme, Who};
