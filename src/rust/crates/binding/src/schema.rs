//! Schemas and values for R: when an app says what its types are, about responses in development, and arguments of
//! tools. Not for requests: the engine judges those. Neighbours: `mcp`, the crate `schema`, src/schema.c, R/schema.R.

use crate::node::Str;
use crate::shield::{shield, Error};
use schema::{Schema, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// As deep as values of R are written.
const MAX_DEPTH: u32 = 250;

/// What is wrong with a schema, or with a value for it unless that is `NA`, is put where an error would be: 1 then, 0
/// when nothing is.
///
/// # Safety
/// C lends the texts for the call; `answer` is valid for writing.
#[no_mangle]
pub unsafe extern "C" fn drv_schema_problem(of: Str, value: Str, answer: *mut Error) -> i32 {
    // SAFETY: C lends the texts for the call.
    let (of, value) = unsafe { (of.as_bytes(), (!value.is_na()).then(|| value.as_bytes())) };
    let problem = shield(Some("the engine failed".to_owned()), || problem(of, value).err());
    let is_wrong = i32::from(problem.is_some());
    // SAFETY: the caller's.
    unsafe { Error::put(answer, 0, problem.unwrap_or_default()) };
    is_wrong
}

fn problem(of: &[u8], value: Option<&[u8]>) -> Result<(), String> {
    let schema = ready(of)?;
    let Some(value) = value else { return Ok(()) };
    let value = Value::parse(value, MAX_DEPTH).map_err(|e| e.to_string())?;
    misfit(&schema, &value).map_or(Ok(()), Err)
}

/// Most schemas that are kept ready: more are made by a program that makes ever new ones.
const MOST_READY: usize = 1024;

thread_local! {
    /// By their texts. A fork has those that were ready before it.
    static READY: RefCell<HashMap<Vec<u8>, Rc<Schema>>> = RefCell::default();
}

/// The schema of a text, which is compiled when it is first asked for.
pub(crate) fn ready(text: &[u8]) -> Result<Rc<Schema>, String> {
    if let Some(schema) = READY.with_borrow(|all| all.get(text).cloned()) {
        return Ok(schema);
    }
    let schema = Rc::new(Schema::new(std::str::from_utf8(text).map_err(|e| e.to_string())?)?);
    READY.with_borrow_mut(|all| {
        if all.len() >= MOST_READY {
            all.clear();
        }
        all.insert(text.to_owned(), Rc::clone(&schema));
    });
    Ok(schema)
}

/// What is wrong with a value for a schema, for people.
pub(crate) fn misfit(schema: &Schema, value: &Value<'_>) -> Option<String> {
    if schema.fits(value) {
        return None;
    }
    let mut wrong = Vec::new();
    schema.explain(value, "", &mut wrong);
    let said = wrong.iter().map(|one| {
        let place = if one.place.is_empty() { "it".to_owned() } else { one.place.escape_debug().to_string() };
        let value = one.value.as_ref().map(|value| format!(", not {value}")).unwrap_or_default();
        format!("{place} {}{value}", one.rule)
    });
    Some(said.collect::<Vec<_>>().join("; "))
}
