/* Path patterns of routes, read and compared by Rust: rust/crates/binding/src/pattern.rs. Not for matching requests. */
#include "pattern.h"
#include "build.h"
#include "drover_rust.h"
#include "r.h"

SEXP drv_pattern(SEXP text) {
  drv_str s = drv_text(text);
  drv_error error;
  const drv_node *node = drv_pattern_parse(s.ptr, s.len, &error);
  return node ? drv_build(node) : Rf_ScalarString(drv_mkchar(error.message));
}

SEXP drv_hidden_patterns(SEXP patterns) {
  SEXP out = PROTECT(Rf_allocVector(INTSXP, XLENGTH(patterns)));
  drv_patterns_hidden(drv_texts(patterns), (size_t)XLENGTH(patterns), INTEGER(out));
  UNPROTECT(1);
  return out;
}
