//! What R has written of a server and its app, read.
//!
//! In one place for all who read it: what is made of each type takes tens of kilobytes each time, and this crate is
//! compiled for size.

use crate::options::PoolOptions;
use engine::{AppConfig, Settings};
use serde::Deserialize;

/// An app's routes, mounts and policies.
///
/// # Errors
/// When the text is not what R writes of an app, with the reason.
pub fn read_app(json: &[u8]) -> Result<AppConfig, String> {
    sonic_rs::from_slice(json).map_err(|e| e.to_string())
}

/// The settings of a server.
///
/// # Errors
/// As for [`read_app`].
pub fn read_settings(json: &[u8]) -> Result<Settings, String> {
    sonic_rs::from_slice(json).map_err(|e| e.to_string())
}

/// Both, as the members `settings` and `app` of one object.
///
/// # Errors
/// As for [`read_app`].
pub fn read_whole(json: &[u8]) -> Result<(Settings, AppConfig), String> {
    #[derive(Deserialize)]
    struct Whole {
        settings: Settings,
        app: AppConfig,
    }

    let Whole { settings, app } = sonic_rs::from_slice(json).map_err(|e| e.to_string())?;
    Ok((settings, app))
}

/// The options of a pool of workers.
///
/// # Errors
/// As for [`read_app`].
pub fn read_options(json: &[u8]) -> Result<PoolOptions, String> {
    sonic_rs::from_slice(json).map_err(|e| e.to_string())
}
