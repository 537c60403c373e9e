//! What a worker process must know of the settings of its server.

use admission::Limits;
use engine::Format;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a worker must know of the server's settings.
#[derive(Deserialize)]
pub(crate) struct WorkerSettings {
    pub(crate) limits: Limits,
    pub(crate) upload_path: PathBuf,
    pub(crate) cpp_workers: usize,
    pub(crate) debug: bool,
    #[serde(default)]
    pub(crate) log_format: Format,
    #[serde(default)]
    pub(crate) metrics: bool,
    #[serde(default)]
    pub(crate) otel: BTreeMap<String, String>,
}
