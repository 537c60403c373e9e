//! Sizes and times that R code gives as strings, and the number of workers that is "auto".

use crate::node::Str;
use crate::shield::shield;
use admission::units;

/// Bytes or, with `time`, seconds. NaN for what is neither.
///
/// # Safety
/// C lends the text for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_units_read(text: Str, time: i32) -> f64 {
    // SAFETY: the caller's.
    let text = String::from_utf8_lossy(unsafe { text.as_bytes() });
    let value = shield(None, || if time == 0 { units::bytes(&text).map(|n| n as f64) } else { units::seconds(&text) });
    value.unwrap_or(f64::NAN)
}

/// How many workers run at a time.
#[no_mangle]
pub extern "C" fn drv_usable_cores() -> i32 {
    shield(1, supervisor::usable_cores).try_into().unwrap_or(1)
}
