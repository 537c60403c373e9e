//! Hashes of passwords and tokens, made for R. Neighbours: `identity` (which makes them), R/auth.R, R/auth-password.R.

use crate::node::Str;
use crate::shield::{shield, Error};

/// The hash of a password, or of a token when `is_token` is not 0, is put where an error would be: 1 when it is there,
/// 0 when that says why it is not.
///
/// # Safety
/// C lends the text for the call; `answer` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_secret_hash(secret: Str, is_token: i32, answer: *mut Error) -> i32 {
    // SAFETY: C lends the text for the call.
    let secret = unsafe { secret.as_bytes() };
    let made = shield(Err("the engine failed".to_owned()), || {
        let text = std::str::from_utf8(secret).map_err(|_| "it must be UTF-8".to_owned())?;
        if is_token != 0 {
            Ok(identity::digest_of(text))
        } else {
            identity::hash_password(text)
        }
    });
    let is_made = i32::from(made.is_ok());
    // SAFETY: the caller's.
    unsafe { Error::put(answer, 0, made.unwrap_or_else(|why| why)) };
    is_made
}

/// 1 when the hash is of this password.
///
/// # Safety
/// C lends the texts for the call.
#[no_mangle]
pub unsafe extern "C" fn drv_password_verify(password: Str, hash: Str) -> i32 {
    // SAFETY: C lends the texts for the call.
    let (password, hash) = unsafe { (password.as_bytes(), hash.as_bytes()) };
    shield(0, || i32::from(std::str::from_utf8(hash).is_ok_and(|hash| identity::verify_password(password, hash))))
}
