//! Logins of people with browsers at an identity provider (OpenID Connect Core 1.0): the authorization code flow with
//! PKCE (RFC 7636). Everything but the network: `provider` is what a provider says of itself and how it is asked,
//! `attempt` a login that has begun, `id_token` whom the provider names in the end.

mod attempt;
mod id_token;
mod provider;

pub use attempt::{Attempt, Attempts};
pub use id_token::{IdTokens, User};
pub use provider::{discovery_url, Client, Provider, Tokens};
