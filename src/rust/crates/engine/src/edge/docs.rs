//! What documents the app: its description by OpenAPI, at `/openapi.json` and `/openapi.yaml`, and a page that shows
//! it, at `/__docs__/`.
//!
//! R made the description when the app was loaded (R/openapi.R), so R is not asked here. On the admin address these
//! pages come before anything else; for clients of the app they come after all that the app has at these paths, and
//! policies that cover the paths cover them, too. Not for building the page: tools/web.sh. Neighbours: `web`, which
//! reads it; `pipeline/route` and `pipeline/internal`, which ask here.

use crate::config::{DocsWanted, Settings};
use crate::edge::cache::unless_known;
use crate::edge::web::WebPage;
use crate::respond::{text, unstored};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, ETAG, LOCATION};
use http::{HeaderValue, StatusCode};
use httpd::{is_forwarded, Body, Head, Response};
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Where the page and its files are.
pub const PAGE: &str = "/__docs__/";
/// Where the description is.
pub const JSON: &str = "/openapi.json";
/// The same as YAML.
pub const YAML: &str = "/openapi.yaml";
/// The page for the admin address, from which the app cannot be called.
const FOR_READING: &str = "admin.html";

/// Whether there may be something for this path.
pub fn has(path: &str) -> bool {
    path == JSON || path == YAML || path.starts_with(PAGE) || Some(path) == PAGE.strip_suffix('/')
}

/// The description of an app.
#[derive(Debug)]
pub struct Description {
    json: Bytes,
    /// whether it says where the app is
    has_servers: bool,
    /// made at the first request for it
    yaml: OnceLock<Bytes>,
}

impl Description {
    pub fn new(json: &str, has_servers: bool) -> Self {
        Description { json: Bytes::copy_from_slice(json.as_bytes()), has_servers, yaml: OnceLock::new() }
    }

    /// With the base path as the server that is to be called, where the app has not named one.
    fn json_below(&self, base_path: &str) -> Bytes {
        match self.json.strip_prefix(b"{") {
            Some(members) if self.says(base_path) => {
                [format!("{{\"servers\":[{{\"url\":\"{base_path}\"}}],").as_bytes(), members].concat().into()
            }
            _ => self.json.clone(),
        }
    }

    /// The same as YAML.
    fn yaml_below(&self, base_path: &str) -> Bytes {
        let yaml = self.yaml();
        if yaml.starts_with(b"{") {
            self.json_below(base_path)
        } else if self.says(base_path) {
            [format!("servers:\n  - url: \"{base_path}\"\n").as_bytes(), &yaml].concat().into()
        } else {
            yaml
        }
    }

    /// Whether the base path is to be said.
    fn says(&self, base_path: &str) -> bool {
        !base_path.is_empty() && !self.has_servers
    }

    fn yaml(&self) -> Bytes {
        let make = || {
            let json = std::str::from_utf8(&self.json).unwrap_or_default();
            // JSON is YAML as well
            yaml::of_json(json).map_or_else(|_| self.json.clone(), Bytes::from)
        };
        self.yaml.get_or_init(make).clone()
    }
}

/// The pages, and which clients get them.
#[derive(Debug)]
pub struct Docs {
    wanted: DocsWanted,
    /// whether only this machine reaches the app, without a proxy in between
    is_local: bool,
    web: Option<PathBuf>,
    /// read at the first request for it: it is large
    page: OnceLock<WebPage>,
}

impl Docs {
    /// `is_local`: whether only this machine reaches the addresses of the app.
    pub fn new(settings: &Settings, is_local: bool) -> Self {
        let speaks_for_others = !settings.trusted_proxies.is_empty() || !settings.proxy_protocol.is_empty();
        Docs {
            wanted: settings.docs,
            is_local: is_local && !speaks_for_others,
            web: settings.web.clone(),
            page: OnceLock::new(),
        }
    }

    /// Whether a client of the app gets them.
    pub fn for_client(&self, head: &Head) -> bool {
        match self.wanted {
            DocsWanted::Yes => true,
            DocsWanted::No => false,
            DocsWanted::Auto => self.is_local && !is_forwarded(&head.fields),
        }
    }

    /// Whether the admin address has them.
    pub fn for_admin(&self) -> bool {
        self.wanted != DocsWanted::No
    }

    /// The answer to a GET or HEAD for a path that [`has`] says yes of.
    pub fn answer(&self, description: &Description, head: &Head, for_admin: bool) -> Response {
        let path = head.path();
        let response = match path {
            JSON => unstored(StatusCode::OK, "application/json", description.json_below(head.base_path())),
            YAML => unstored(StatusCode::OK, "application/yaml", description.yaml_below(head.base_path())),
            _ => match path.strip_prefix(PAGE) {
                Some(file) => self.page(file, head, for_admin),
                None => return moved(),
            },
        };
        if response.status == StatusCode::OK {
            tagged(response, head)
        } else {
            response
        }
    }

    fn page(&self, file: &str, head: &Head, for_admin: bool) -> Response {
        let page = self.page.get_or_init(|| WebPage::read(self.web.as_deref(), "docs"));
        page.answer(if file.is_empty() && for_admin { FOR_READING } else { file }, head)
    }
}

/// To the page with its slash, wherever a proxy has put the server.
fn moved() -> Response {
    let mut response = text(StatusCode::TEMPORARY_REDIRECT, "");
    response.fields.set(&LOCATION, HeaderValue::from_static("__docs__/"));
    response
}

/// With a tag, by which a client asks whether it is the same still; 304 where it is.
fn tagged(mut response: Response, head: &Head) -> Response {
    let Some(bytes) = response.body.take_bytes() else { return response };
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    response.fields.set(&CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response.fields.set(&ETAG, format!("\"{:x}-{:x}\"", bytes.len(), hasher.finish()));
    response.body = Body::bytes(bytes);
    unless_known(response, head)
}
