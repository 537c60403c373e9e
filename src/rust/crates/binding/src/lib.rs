//! The only crate that knows R.
