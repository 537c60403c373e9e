//! How many R processes there are, and for how long, as the program was told.

use crate::blame::{self, usage};
use crate::given::Given;
use crate::values;
use clap::error::ErrorKind;
use supervisor::PoolOptions;

/// Options of the pool.
///
/// # Errors
/// With what is wrong, and where it stands.
pub(crate) fn options(given: &Given) -> Result<PoolOptions, clap::Error> {
    let usual = PoolOptions::default();
    let (n_min, n_max) = match given.text("workers").map(values::workers) {
        Some(Ok(workers)) => workers.bounds(),
        _ => (given.count("n_min").unwrap_or(usual.n_min), given.count("n_max").unwrap_or(usual.n_max)),
    };
    let mut fields = given.fields(&["pool"]);
    fields.remove("workers");
    let mut timeouts = given.fields(&["timeouts"]);
    fields.extend(["drain_delay", "graceful_timeout"].iter().filter_map(|name| timeouts.remove_entry(*name)));
    let others: PoolOptions =
        fields.try_into().map_err(|e: toml::de::Error| usage(ErrorKind::ValueValidation, e.message()))?;
    let options = PoolOptions { n_min, n_max, ..others };
    match options.check() {
        Ok(()) => Ok(options),
        Err(e) => Err(usage(ErrorKind::ValueValidation, &blame::with_places(&e, given))),
    }
}
