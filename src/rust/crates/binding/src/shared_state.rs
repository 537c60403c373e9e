//! Values that all workers see: the table of `shared_state` for R. A key there is the name of a state, a NUL, which is
//! in no text of R, and the key. Neighbours: `src/shared_state.c`, R/shared-state.R.

use crate::node::{Kind, Node, Str};
use crate::shield::{shield, Error};
use ::shared_state::{table, Lifetime, Refused, Table, Value, LONGEST_KEY};
use std::cell::RefCell;
use std::ptr;

/// `drv_state_value` in `drover_rust.h`.
#[repr(C)]
pub struct StateValue {
    kind: i32,
    number: f64,
    bytes: Str,
    version: f64,
}

thread_local! {
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static KEYS: RefCell<Keys> = RefCell::default();
}

/// The storage of an answer.
#[derive(Default)]
struct Keys {
    keys: Vec<Vec<u8>>,
    texts: Vec<Str>,
    root: Node,
}

/// A status, as `drover_rust.h` has them, and words.
type Failure = (u16, String);

fn refused(why: Refused) -> Failure {
    let status = match why {
        Refused::Value(..) | Refused::NotANumber => 1,
        Refused::Entries(_) | Refused::Bytes(_) => 2,
        Refused::System(_) => 3,
    };
    (status, why.to_string())
}

fn whole_key(name: Str, key: Str) -> Result<Vec<u8>, Failure> {
    // SAFETY: C lends the texts for the call.
    let (name, key) = unsafe { (name.as_bytes(), key.as_bytes()) };
    let whole = [name, b"\0", key].concat();
    let is_text = std::str::from_utf8(key).is_ok();
    if key.is_empty() || !is_text || whole.len() > LONGEST_KEY {
        let most = LONGEST_KEY - name.len() - 1;
        return Err((1, format!("`key` must be a single string of UTF-8 with 1 to {most} bytes")));
    }
    Ok(whole)
}

fn with_table<T>(act: impl FnOnce(&Table) -> Result<T, Refused>) -> Result<T, Failure> {
    act(table().map_err(|e| refused(e.into()))?).map_err(refused)
}

/// What C gets of a result: -1 for an error, which is put where it looks.
///
/// # Safety
/// `error` is valid for writing.
unsafe fn told(error: *mut Error, act: impl FnOnce() -> Result<bool, Failure>) -> i32 {
    match shield(Err((3, "the engine failed".to_owned())), act) {
        Ok(done) => i32::from(done),
        Err((status, message)) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, status, message) };
            -1
        }
    }
}

fn lifetime(seconds: f64) -> Lifetime {
    if seconds < 0.0 {
        Lifetime::AsBefore
    } else if seconds.is_finite() {
        Lifetime::Ms((seconds * 1000.0).ceil() as u64)
    } else {
        Lifetime::Forever
    }
}

/// Reads a value.
///
/// # Safety
/// C lends the texts for the call; `out` and `error` are valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_state_get(name: Str, key: Str, out: *mut StateValue, error: *mut Error) -> i32 {
    let get = || {
        let key = whole_key(name, key)?;
        let Some((value, version)) = with_table(|table| table.get(&key))? else { return Ok(false) };
        let (kind, number, bytes) = match value {
            Value::Double(bits) => (0, f64::from_bits(bits), Vec::new()),
            Value::Integer(number) => (1, f64::from(number), Vec::new()),
            Value::Bytes(bytes) => (2, 0.0, bytes),
        };
        let bytes = READ.with_borrow_mut(|read| {
            *read = bytes;
            Str::new(read)
        });
        // SAFETY: the caller's.
        unsafe { out.write(StateValue { kind, number, bytes, version: version as f64 }) };
        Ok(true)
    };
    // SAFETY: the caller's.
    unsafe { told(error, get) }
}

/// Sets a value.
///
/// # Safety
/// C lends the texts and the value for the call; `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_state_set(
    name: Str,
    key: Str,
    value: *const StateValue,
    seconds: f64,
    version: f64,
    error: *mut Error,
) -> i32 {
    let set = || {
        let key = whole_key(name, key)?;
        // SAFETY: the caller's.
        let value = unsafe { &*value };
        let value = match value.kind {
            0 => Value::Double(value.number.to_bits()),
            1 => Value::Integer(value.number as i32),
            // SAFETY: the caller's.
            _ => Value::Bytes(unsafe { value.bytes.as_bytes() }.to_vec()),
        };
        let only_if = (version >= 0.0).then_some(version as u64);
        with_table(|table| table.set(&key, &value, lifetime(seconds), only_if))
    };
    // SAFETY: the caller's.
    unsafe { told(error, set) }
}

/// Adds to a number.
///
/// # Safety
/// C lends the texts for the call; `sum` and `error` are valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_state_add(
    name: Str,
    key: Str,
    by: f64,
    seconds: f64,
    sum: *mut f64,
    error: *mut Error,
) -> i32 {
    let add = || {
        let key = whole_key(name, key)?;
        let total = with_table(|table| table.add(&key, by, lifetime(seconds)))?;
        // SAFETY: the caller's.
        unsafe { sum.write(total) };
        Ok(true)
    };
    // SAFETY: the caller's.
    unsafe { told(error, add) }
}

/// Deletes a value.
///
/// # Safety
/// C lends the texts for the call; `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_state_delete(name: Str, key: Str, error: *mut Error) -> i32 {
    let delete = || {
        let key = whole_key(name, key)?;
        with_table(|table| table.delete(&key))
    };
    // SAFETY: the caller's.
    unsafe { told(error, delete) }
}

/// All keys. The node lives until the next call.
///
/// # Safety
/// C lends the text for the call; `error` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_state_keys(name: Str, error: *mut Error) -> *const Node {
    let mut keys = Vec::new();
    let list = || {
        // SAFETY: C lends the text for the call.
        let prefix = [unsafe { name.as_bytes() }, b"\0"].concat();
        keys = with_table(|table| table.keys(&prefix))?;
        Ok(true)
    };
    // SAFETY: the caller's.
    if unsafe { told(error, list) } < 0 {
        return ptr::null();
    }
    KEYS.with_borrow_mut(|answer| {
        answer.keys = keys;
        answer.texts = answer.keys.iter().map(|key| Str::new(key)).collect();
        answer.root = Node::vector(Kind::Str, &answer.texts);
        ptr::from_ref(&answer.root)
    })
}
