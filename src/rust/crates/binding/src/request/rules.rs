//! What requests are read by.

use super::RouteInfo;
use admission::Limits;
use std::path::PathBuf;

/// What requests are read by: what their routes are, and what clients may send.
pub(crate) struct Rules {
    /// those of the app, and after them two for tasks
    pub(crate) routes: Vec<RouteInfo>,
    /// of fields, parts and strings
    pub(crate) limits: Limits,
    /// where files go that are too large for memory
    pub(crate) upload_path: PathBuf,
}
