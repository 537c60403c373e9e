//! Cross-site request forgery: pages of other sites that send requests which change something, with the cookies that
//! the browser has for this one. Browsers say where a request comes from, in `Sec-Fetch-Site` (Fetch Metadata) or, the
//! older ones, in `Origin`; no page can say something else, and programs that are no browsers send neither.

use super::origins::{origin_of, Origins};
use http::header::ORIGIN;
use http::{HeaderName, Method, StatusCode};
use httpd::{is_own_origin, Failure, Head};
use serde::{Deserialize, Serialize};

/// The guard, as an app has registered it.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CsrfConfig {
    /// origins whose pages may send such requests
    #[serde(default)]
    pub trusted: Vec<String>,
}

/// See the module. Without a configuration, of no other origins.
#[derive(Debug, Default)]
pub struct Csrf {
    trusted: Origins,
}

/// Where a request comes from: Fetch Metadata.
pub(super) const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

impl Csrf {
    /// The guard of this configuration.
    ///
    /// # Errors
    /// A text that names what is no origin.
    pub fn new(config: &CsrfConfig) -> Result<Self, String> {
        Ok(Csrf { trusted: Origins::new(&config.trusted)? })
    }

    /// Whether a request may pass.
    ///
    /// # Errors
    /// When it changes something and comes from another site.
    pub fn judge(&self, head: &Head) -> Result<(), Failure> {
        // what these change is the app's own fault
        if matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS) {
            return Ok(());
        }
        let from = match head.fields.get(&SITE) {
            // `none`: the user has typed the address, or the like
            Some(b"same-origin" | b"none") => return Ok(()),
            Some(site) => site,
            None if head.fields.get(&ORIGIN).is_none() => return Ok(()),
            None => b"no field Sec-Fetch-Site",
        };
        let origin = origin_of(head);
        let is_own = head.fields.get(&SITE).is_none() && origin.is_some_and(|origin| is_own_origin(head, origin));
        if is_own || origin.is_some_and(|origin| self.trusted.has(origin)) {
            return Ok(());
        }
        let (from, origin) = (String::from_utf8_lossy(from), String::from_utf8_lossy(origin.unwrap_or_default()));
        Err(Failure::new(StatusCode::FORBIDDEN, "pages of other sites may not send this")
            .because(format_args!("dr_csrf(): {from}, origin {origin:?}")))
    }
}
