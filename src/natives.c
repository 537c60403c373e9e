#include "natives.h"
#include <R_ext/Rdynload.h>

struct name {
  const char *package, *callable;
};

static SEXP look_up(void *data) {
  const struct name *name = data;
  return R_MakeExternalPtrFn(R_GetCCallable(name->package, name->callable), R_NilValue, R_NilValue);
}

static SEXP say_why(SEXP condition, void *data) {
  (void)data;
  /* R's own errors have a message first */
  SEXP message = TYPEOF(condition) == VECSXP && XLENGTH(condition) > 0 ? VECTOR_ELT(condition, 0) : R_NilValue;
  return TYPEOF(message) == STRSXP && XLENGTH(message) == 1 ? message : Rf_mkString("it is not known why");
}

SEXP drv_natives_resolve(SEXP package, SEXP callable) {
  struct name name = {CHAR(STRING_ELT(package, 0)), CHAR(STRING_ELT(callable, 0))};
  return R_tryCatchError(look_up, &name, say_why, NULL);
}
