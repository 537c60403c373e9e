/* Values that all workers see, dr_state(). A number is kept as it is; what R has serialized is a raw vector here.
 * Errors are list(status, message). Neighbours: R/shared-state.R, rust/crates/binding/src/shared_state.rs. */
#include "shared_state.h"
#include "build.h"
#include "r.h"
#include "json.h"
#include <string.h>

/* The bytes of a key, which the engine checks: drv_text() would write those that are no UTF-8 as other ones. */
static drv_str key_text(SEXP key) {
  if (TYPEOF(key) != STRSXP || XLENGTH(key) != 1 || STRING_ELT(key, 0) == NA_STRING) return (drv_str){"", 0};
  SEXP text = STRING_ELT(key, 0);
  cetype_t encoding = Rf_getCharCE(text);
  if (encoding == CE_LATIN1 || (encoding == CE_NATIVE && !drv_native_is_utf8())) return drv_text(key);
  return (drv_str){R_CHAR(text), (size_t)LENGTH(text)};
}

static SEXP as_r(const drv_state_value *value) {
  switch ((drv_state_kind)value->kind) {
  case DRV_STATE_DOUBLE:
    return Rf_ScalarReal(value->number);
  case DRV_STATE_INTEGER:
    return Rf_ScalarInteger((int)value->number);
  case DRV_STATE_BYTES:
    break;
  }
  SEXP bytes = Rf_allocVector(RAWSXP, (R_xlen_t)value->bytes.len);
  if (value->bytes.len) memcpy(RAW(bytes), value->bytes.ptr, value->bytes.len);
  return bytes;
}

/* .Call: list(value, version): NULL and 0 for none. */
SEXP drv_call_state_get(SEXP name, SEXP key) {
  drv_error error;
  drv_state_value value = {.version = 0};
  int found = drv_state_get(drv_text(name), key_text(key), &value, &error);
  if (found < 0) return drv_start_error(&error);
  SEXP both = PROTECT(Rf_allocVector(VECSXP, 2));
  if (found) SET_VECTOR_ELT(both, 0, as_r(&value));
  SET_VECTOR_ELT(both, 1, Rf_ScalarReal(value.version));
  UNPROTECT(1);
  return both;
}

/* .Call: whether it was set. `value` is a single number without attributes, or a raw vector. */
SEXP drv_call_state_set(SEXP name, SEXP key, SEXP value, SEXP lifetime, SEXP version) {
  drv_error error;
  drv_state_value given = {.kind = DRV_STATE_BYTES};
  if (TYPEOF(value) == REALSXP) {
    given.kind = DRV_STATE_DOUBLE;
    given.number = REAL(value)[0];
  } else if (TYPEOF(value) == INTSXP) {
    given.kind = DRV_STATE_INTEGER;
    given.number = INTEGER(value)[0];
  } else {
    given.bytes = (drv_str){(const char *)RAW(value), (size_t)XLENGTH(value)};
  }
  int set = drv_state_set(drv_text(name), key_text(key), &given, Rf_asReal(lifetime), Rf_asReal(version), &error);
  return set < 0 ? drv_start_error(&error) : Rf_ScalarLogical(set);
}

/* .Call: the sum. */
SEXP drv_call_state_add(SEXP name, SEXP key, SEXP by, SEXP lifetime) {
  drv_error error;
  double sum;
  int done = drv_state_add(drv_text(name), key_text(key), Rf_asReal(by), Rf_asReal(lifetime), &sum, &error);
  return done < 0 ? drv_start_error(&error) : Rf_ScalarReal(sum);
}

/* .Call: whether it was there. */
SEXP drv_call_state_delete(SEXP name, SEXP key) {
  drv_error error;
  int deleted = drv_state_delete(drv_text(name), key_text(key), &error);
  return deleted < 0 ? drv_start_error(&error) : Rf_ScalarLogical(deleted);
}

/* .Call: all keys, in no order. */
SEXP drv_call_state_keys(SEXP name) {
  drv_error error;
  const drv_node *keys = drv_state_keys(drv_text(name), &error);
  return keys ? drv_build(keys) : drv_start_error(&error);
}
