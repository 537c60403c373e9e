//! Cross-origin resource sharing: what browsers let pages of other origins do, by the Fetch standard
//! (<https://fetch.spec.whatwg.org/#http-cors-protocol>). Nothing that a client sends is sent back but an origin that
//! is on the list. Not a guard: a request of a page that may not read the response runs all the same, see `csrf`.

use super::origins::{origin_of, Origins};
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    VARY,
};
use http::{HeaderValue, Method, StatusCode};
use httpd::{Body, Head, Response, ResponseFields};
use router::MethodSet;
use serde::{Deserialize, Serialize};

/// What an app says of it.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct CorsConfig {
    /// pages that may read responses: `*`, `null`, origins, and origins with `*` as their first label
    pub origins: Vec<String>,
    /// methods that they may use; `None` for those that the path has
    #[serde(default)]
    pub methods: Option<Vec<String>>,
    /// fields that they may send, beyond those that every page may
    #[serde(default)]
    pub headers: Vec<String>,
    /// fields of responses that they may read, beyond those that every page may
    #[serde(default)]
    pub expose: Vec<String>,
    /// whether browsers send cookies along
    #[serde(default)]
    pub credentials: bool,
    /// how long browsers may remember the answer to a pre-flight, in seconds
    pub max_age: f64,
}

/// See the module. Values of fields are made once.
#[derive(Debug)]
pub struct Cors {
    origins: Origins,
    methods: Option<HeaderValue>,
    headers: Option<HeaderValue>,
    expose: Option<HeaderValue>,
    credentials: bool,
    max_age: HeaderValue,
}

const TRUE: HeaderValue = HeaderValue::from_static("true");
const ANY: HeaderValue = HeaderValue::from_static("*");
const VARIES: &str = "origin";

/// Whether it is a question of a browser, before the request of a page, whether that may be sent.
pub fn is_preflight(head: &Head) -> bool {
    head.method == Method::OPTIONS
        && head.fields.get(&ACCESS_CONTROL_REQUEST_METHOD).is_some()
        && origin_of(head).is_some()
}

impl Cors {
    /// What responses say, by this configuration.
    ///
    /// # Errors
    /// A text that says what is wrong with it.
    pub fn new(config: &CorsConfig) -> Result<Self, String> {
        let origins = Origins::new(&config.origins)?;
        let wild = |list: &[String]| list.iter().any(|one| one == "*");
        let methods = config.methods.as_deref();
        if config.credentials
            && (origins.is_any() || wild(&config.headers) || wild(&config.expose) || methods.is_some_and(wild))
        {
            return Err("with `credentials`, nothing may be \"*\"".to_owned());
        }
        Ok(Cors {
            origins,
            methods: methods.map(list).transpose()?.flatten(),
            headers: allowed_headers(&config.headers)?,
            expose: list(&config.expose)?,
            credentials: config.credentials,
            max_age: (config.max_age as u64).into(),
        })
    }

    /// The answer to a pre-flight for a path that has these methods. A page that may do nothing is told nothing.
    pub fn preflight(&self, head: &Head, methods: MethodSet) -> Response {
        let mut fields = ResponseFields::of_server(None);
        if self.allow(head, &mut fields) {
            // no handler has set these fields
            match &self.methods {
                Some(methods) => fields.add(&ACCESS_CONTROL_ALLOW_METHODS, methods),
                None if methods.is_empty() => {}
                None => fields.add(&ACCESS_CONTROL_ALLOW_METHODS, methods.to_string()),
            }
            if let Some(headers) = &self.headers {
                fields.add(&ACCESS_CONTROL_ALLOW_HEADERS, headers);
            }
            fields.add(&ACCESS_CONTROL_MAX_AGE, &self.max_age);
        }
        Response::new(StatusCode::NO_CONTENT, fields, Body::empty())
    }

    /// What the response to any other request says. What a handler has said of the same stays where the page may not
    /// read it by this list.
    pub fn dress(&self, head: &Head, fields: &mut ResponseFields) {
        if self.allow(head, fields) {
            if let Some(expose) = &self.expose {
                fields.set(&ACCESS_CONTROL_EXPOSE_HEADERS, expose);
            }
        }
    }

    /// Says whether the page may read the response, and returns it.
    fn allow(&self, head: &Head, fields: &mut ResponseFields) -> bool {
        if self.origins.is_any() {
            fields.set(&ACCESS_CONTROL_ALLOW_ORIGIN, &ANY);
            return true;
        }
        // also where the page may not, and where there is none: caches are to keep these apart
        fields.set_in_list(&VARY, VARIES);
        let Some(origin) = origin_of(head).filter(|origin| self.origins.has(origin)) else { return false };
        fields.set(&ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        if self.credentials {
            fields.set(&ACCESS_CONTROL_ALLOW_CREDENTIALS, &TRUE);
        }
        true
    }
}

/// `*` does not stand for `Authorization` (Fetch, section 3.3.4), which has to be named.
fn allowed_headers(headers: &[String]) -> Result<Option<HeaderValue>, String> {
    match headers.iter().any(|one| one == "*") {
        true => Ok(Some(HeaderValue::from_static("*, Authorization"))),
        false => list(headers),
    }
}

/// The value of a field that is a list; `None` when there is nothing in it.
fn list(elements: &[String]) -> Result<Option<HeaderValue>, String> {
    if elements.is_empty() {
        return Ok(None);
    }
    let text = elements.join(", ");
    HeaderValue::from_str(&text).map(Some).map_err(|_| format!("{text:?} cannot be in a header field"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(text: &str) -> Vec<String> {
        text.split_whitespace().map(String::from).collect()
    }

    fn config(origins: &str) -> CorsConfig {
        CorsConfig { origins: strings(origins), max_age: 600.0, ..CorsConfig::default() }
    }

    #[test]
    fn nothing_is_open_to_all_with_credentials() {
        let with = |change: fn(&mut CorsConfig)| {
            let mut config = CorsConfig { credentials: true, ..config("https://a.example") };
            change(&mut config);
            Cors::new(&config).map(|_| ()).unwrap_err()
        };
        for error in [
            with(|config| config.origins.push("*".into())),
            with(|config| config.headers.push("*".into())),
            with(|config| config.expose.push("*".into())),
            with(|config| config.methods = Some(vec!["*".into()])),
        ] {
            assert_eq!(error, "with `credentials`, nothing may be \"*\"");
        }
        assert!(Cors::new(&CorsConfig { credentials: true, ..config("https://*.a.example null") }).is_ok());
    }

    #[test]
    fn lists_become_fields() {
        let cors = Cors::new(&CorsConfig {
            methods: Some(strings("GET PUT")),
            headers: strings("X-A X-B"),
            ..config("https://a.example")
        })
        .unwrap();
        assert_eq!(cors.methods.unwrap(), "GET, PUT");
        assert_eq!(cors.headers.unwrap(), "X-A, X-B");
        assert_eq!(cors.expose, None);
        let any = Cors::new(&CorsConfig { headers: strings("*"), ..config("*") }).unwrap();
        assert_eq!(any.headers.unwrap(), "*, Authorization");
        assert!(Cors::new(&CorsConfig { headers: vec!["a\r\nb".into()], ..config("*") }).is_err());
        assert!(Cors::new(&config("nowhere")).is_err());
    }
}
