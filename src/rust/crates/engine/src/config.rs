//! What a server is told to be. One setting has one name everywhere: these are the names of the arguments of `dr_serve()`.

use admission::Limits;
use router::{MethodSet, Pattern, Router, RouterBuilder};
use serde::Deserialize;
use std::path::PathBuf;

/// Everything the engine needs to know of an app and its settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// address to bind
    pub host: String,
    /// port to bind; 0 for a free one
    pub port: u16,
    /// I/O threads
    pub threads: usize,
    /// whether clients are told what went wrong in a handler
    #[serde(default)]
    pub debug: bool,
    /// whether literals of patterns match in one case only
    #[serde(default)]
    pub case_sensitive: bool,
    /// `stderr`, `none`, or a file
    pub log: String,
    /// where spooled bodies and uploads wait
    pub upload_path: PathBuf,
    /// bounds
    pub limits: Limits,
    /// the routes, in the order of registration
    #[serde(default)]
    pub routes: Vec<RouteConfig>,
    /// the static mounts, in the order of registration
    #[serde(default, rename = "static")]
    pub mounts: Vec<MountConfig>,
    /// handler for what no route takes, from 1; 0 for none
    #[serde(default)]
    pub not_found: u32,
}

/// One route of the app.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteConfig {
    /// names of methods, or `ANY`
    pub methods: Vec<String>,
    /// path with placeholders
    pub pattern: String,
    /// index into the app's handlers, from 1
    pub handler: u32,
}

/// A folder whose files are served under a path.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MountConfig {
    /// prefix of the path
    pub mount: String,
    /// the folder
    pub dir: String,
}

impl Config {
    /// The router for the routes. A route's target is its index.
    ///
    /// # Errors
    /// A text that names the pattern or method that is wrong.
    pub fn router(&self) -> Result<Router, String> {
        let mut builder = RouterBuilder::new(self.case_sensitive);
        for (i, route) in self.routes.iter().enumerate() {
            let methods = MethodSet::from_names(route.methods.iter().map(String::as_str)).map_err(|e| e.to_string())?;
            let pattern = Pattern::parse(&route.pattern).map_err(|e| e.to_string())?;
            builder.add(methods, pattern, i as u32);
        }
        Ok(builder.build())
    }
}
