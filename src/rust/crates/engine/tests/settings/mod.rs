//! Settings of servers that tests start, and routes.
// each of the programs that share it uses some of it
#![allow(dead_code)]

use admission::Limits;
use engine::{RouteConfig, Runs, Settings};
use std::path::Path;

/// On a free port of this machine, without a log, with uploads in `folder`.
pub fn local(folder: &Path, threads: usize, limits: Limits) -> Settings {
    Settings {
        host: "127.0.0.1".into(),
        port: 0,
        threads,
        cpp_workers: 4,
        debug: false,
        plumber: None,
        case_sensitive: false,
        errors: Default::default(),
        on_client_gone: None,
        log: "none".into(),
        access_log: "none".into(),
        access_log_format: Default::default(),
        console: None,
        development: None,
        socket: None,
        colours: false,
        upload_path: folder.into(),
        limits,
    }
}

/// `methods` are separated by a space.
pub fn route(methods: &str, pattern: &str, handler: u32, runs: Runs) -> RouteConfig {
    let methods = methods.split(' ').map(String::from).collect();
    RouteConfig { methods, pattern: pattern.into(), handler, runs, ..RouteConfig::default() }
}
