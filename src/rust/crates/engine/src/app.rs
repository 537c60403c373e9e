//! An app as the server knows it: where its requests go. One for each generation; a request stays with the one that it
//! was routed by, as another may number its routes otherwise.

use crate::assets::Mounts;
use crate::config::{AppConfig, Settings};
use router::{MethodSet, Pattern, Router, RouterBuilder};

/// See the module.
pub struct App {
    pub(crate) generation: u32,
    pub(crate) router: Router,
    pub(crate) mounts: Mounts,
    pub(crate) has_not_found: bool,
    /// for each route, the longest time to its answer in ms
    timeouts: Vec<u64>,
    /// for the not-found handler
    timeout: u64,
}

impl App {
    /// The app of a generation.
    ///
    /// # Errors
    /// A text that names the pattern, method or folder that is wrong.
    pub(crate) fn new(generation: u32, config: &AppConfig, settings: &Settings) -> Result<App, String> {
        let mut builder = RouterBuilder::new(settings.case_sensitive);
        for (i, route) in config.routes.iter().enumerate() {
            let methods = MethodSet::from_names(route.methods.iter().map(String::as_str)).map_err(|e| e.to_string())?;
            let pattern = Pattern::parse(&route.pattern).map_err(|e| e.to_string())?;
            // a route's target is its index
            builder.add(methods, pattern, i as u32);
        }
        let mounts = config.mounts.iter().map(|m| (m.mount.clone(), m.dir.clone())).collect();
        let seconds = |route: &Option<f64>| (route.unwrap_or(settings.limits.timeout) * 1000.0) as u64;
        Ok(App {
            generation,
            router: builder.build(),
            mounts: Mounts::new(mounts).map_err(|e| format!("static: {e}"))?,
            has_not_found: config.not_found > 0,
            timeouts: config.routes.iter().map(|r| seconds(&r.timeout)).collect(),
            timeout: seconds(&None),
        })
    }

    /// The longest time to the answer of a route, in ms.
    pub(crate) fn timeout(&self, route: u32) -> u64 {
        self.timeouts.get(route as usize).copied().unwrap_or(self.timeout)
    }
}
