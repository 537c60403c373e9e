//! Settings of servers that tests start, and routes.
// each of the programs that share it uses some of it
#![allow(dead_code)]

use admission::Limits;
use engine::{RouteConfig, Runs, Settings};
use std::path::Path;

/// On a free port of this machine, without a log, with uploads in `folder`.
pub fn local(folder: &Path, threads: usize, limits: Limits) -> Settings {
    Settings {
        name: None,
        by_host: false,
        affinity: Default::default(),
        host: vec!["127.0.0.1".into()],
        port: 0,
        threads,
        cpp_workers: 4,
        debug: false,
        plumber: None,
        case_sensitive: false,
        errors: Default::default(),
        health: false,
        compress: false,
        decompress: false,
        metrics: false,
        docs: Default::default(),
        log_format: Default::default(),
        log_level: Default::default(),
        on_client_gone: None,
        given: Vec::new(),
        underscores_in_headers: None,
        trusted_proxies: Vec::new(),
        proxy_protocol: Vec::new(),
        allowed_hosts: Vec::new(),
        base_path: None,
        base_path_field: None,
        response_headers: Vec::new(),
        forwarded_fields: Default::default(),
        log: "none".into(),
        access_log: "none".into(),
        access_log_format: Default::default(),
        console: None,
        otlp_endpoint: None,
        otel: Default::default(),
        development: None,
        sockets: Vec::new(),
        admin: None,
        admin_token: None,
        agent_check: None,
        colours: false,
        web: None,
        keep_failed: 0,
        keep_failed_size: 1e6,
        keep_failed_age: 3600.0,
        keep_failed_redact: Vec::new(),
        jobs_store: None,
        jobs_at_once: 0,
        max_jobs: 1000,
        max_jobs_size: 1e9,
        replays: None,
        upload_path: folder.into(),
        tls: None,
        limits,
    }
}

/// `methods` are separated by a space.
pub fn route(methods: &str, pattern: &str, handler: u32, runs: Runs) -> RouteConfig {
    let methods = methods.split(' ').map(String::from).collect();
    RouteConfig { methods, pattern: pattern.into(), handler, runs, ..RouteConfig::default() }
}
