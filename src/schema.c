/* Whether schemas are schemas, and values fit them. Not for requests, which the engine judges. Neighbours:
 * rust/crates/binding/src/schema.rs, R/schema.R. */
#include "schema.h"
#include "build.h"
#include "drover_rust.h"
#include "r.h"

/* .Call: what is wrong with the text of a schema, or with a value's text for it unless that is NA; NULL for nothing. */
SEXP drv_call_schema_problem(SEXP schema, SEXP value) {
  drv_error answer;
  drv_str text = {NULL, 0};
  if (STRING_ELT(value, 0) != NA_STRING) text = drv_text(value);
  if (!drv_schema_problem(drv_text(schema), text, &answer)) return R_NilValue;
  return Rf_ScalarString(drv_mkchar(answer.message));
}
