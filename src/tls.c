/* A certificate for development. Neighbours: rust/crates/binding/src/tls.rs, R/settings-tls.R. */
#include "tls.h"
#include "build.h"
#include "r.h"

/* .Call: has one in this folder. NULL, or why there is none. */
SEXP drv_tls_make(SEXP folder) {
  drv_error error;
  if (drv_tls_self_signed(drv_text(folder), &error)) return R_NilValue;
  return Rf_ScalarString(drv_mkchar(error.message));
}
