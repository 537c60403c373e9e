//! Hashes of passwords and tokens, and sealed texts, made for R. Neighbours: `identity` (which makes them), R/auth.R,
//! R/auth-password.R, R/mcp-rounds.R.

use crate::node::Str;
use crate::shield::{shield, Error};
use identity::Sealer;
use std::time::{SystemTime, UNIX_EPOCH};

/// A sealed text goes to a client and comes back in the body of a request, most of which are allowed to be larger.
const LONGEST_SEALED: usize = 256 << 10;

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

/// A text that only this key opens again, for this purpose and within `seconds`, is put where an error would be: 1 when
/// it is there, 0 when it is too long.
///
/// # Safety
/// C lends the texts for the call; `answer` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_text_seal(key: Str, purpose: Str, text: Str, seconds: f64, answer: *mut Error) -> i32 {
    // SAFETY: C lends the texts for the call.
    let (key, purpose, text) = unsafe { (key.as_bytes(), purpose.as_bytes(), text.as_bytes()) };
    let sealed = shield(None, || {
        let until = now()?.saturating_add(seconds as u64);
        sealer(key, purpose)?.seal(text, until).filter(|sealed| sealed.len() <= LONGEST_SEALED)
    });
    // SAFETY: the caller's.
    unsafe { found(sealed, answer) }
}

/// What was sealed is put where an error would be: 1 when it is there; 0 for what was not sealed with this key and for
/// this purpose, or whose time is over.
///
/// # Safety
/// C lends the texts for the call; `answer` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_text_open(key: Str, purpose: Str, sealed: Str, answer: *mut Error) -> i32 {
    // SAFETY: C lends the texts for the call.
    let (key, purpose, sealed) = unsafe { (key.as_bytes(), purpose.as_bytes(), sealed.as_bytes()) };
    let opened = shield(None, || String::from_utf8(sealer(key, purpose)?.open(sealed, now()?)?).ok());
    // SAFETY: the caller's.
    unsafe { found(opened, answer) }
}

fn sealer(key: &[u8], purpose: &[u8]) -> Option<Sealer> {
    Some(Sealer::new(std::str::from_utf8(purpose).ok()?, &[key.to_vec()]).ok()?.up_to(LONGEST_SEALED))
}

fn now() -> Option<u64> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// # Safety
/// `answer` is valid for writing.
unsafe fn found(text: Option<String>, answer: *mut Error) -> i32 {
    let is_there = i32::from(text.is_some());
    // SAFETY: the caller's.
    unsafe { Error::put(answer, 0, text.unwrap_or_default()) };
    is_there
}
