//! Whether a request has credentials, in one of the ways of HTTP and TLS. A response for one client is neither kept for
//! others (`cache`) nor packed where its length could be watched (`compress`). Ways of an app's own: `auth`.

use http::header::{AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION};
use httpd::{Connection, Head};

/// See the module.
pub fn are_shown(head: &Head, connection: &Connection) -> bool {
    [COOKIE, AUTHORIZATION, PROXY_AUTHORIZATION].iter().any(|name| head.fields.get(name).is_some())
        || connection.tls().is_some_and(|agreed| agreed.has_client)
}
