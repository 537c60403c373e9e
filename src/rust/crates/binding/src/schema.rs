//! Schemas and values for R: when an app says what its types are, and about responses in development. Not for requests:
//! the engine judges those. Neighbours: the crate `schema`, src/schema.c, R/schema.R.

use crate::node::Str;
use crate::shield::{shield, Error};
use schema::{Schema, Value};

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
    let schema = Schema::new(std::str::from_utf8(of).map_err(|e| e.to_string())?)?;
    let Some(value) = value else { return Ok(()) };
    let value = Value::parse(value, MAX_DEPTH).map_err(|e| e.to_string())?;
    if schema.fits(&value) {
        return Ok(());
    }
    let mut wrong = Vec::new();
    schema.explain(&value, "", &mut wrong);
    let said = wrong.iter().map(|one| {
        let place = if one.place.is_empty() { "it".to_owned() } else { one.place.escape_debug().to_string() };
        let value = one.value.as_ref().map(|value| format!(", not {value}")).unwrap_or_default();
        format!("{place} {}{value}", one.rule)
    });
    Err(said.collect::<Vec<_>>().join("; "))
}
