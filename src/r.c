/* The package's R functions called from C, and R's strings as text. */
#include "r.h"
#include "build.h"
#include <string.h>

SEXP drv_namespace(void) {
  static SEXP ns = NULL;
  if (!ns) {
    SEXP name = PROTECT(Rf_mkString("drover"));
    ns = R_FindNamespace(name);
    R_PreserveObject(ns);
    UNPROTECT(1);
  }
  return ns;
}

SEXP drv_call_package(const char *name, SEXP argument) {
  /* the argument is a value of any type: quoted, so that a call is not evaluated */
  SEXP quoted = PROTECT(Rf_lang2(R_QuoteSymbol, argument));
  SEXP call = PROTECT(Rf_lang2(Rf_install(name), quoted));
  SEXP value = Rf_eval(call, drv_namespace());
  UNPROTECT(2);
  return value;
}

void drv_stop_field(int status, drv_str message) {
  SEXP text = PROTECT(Rf_ScalarString(drv_mkchar(message)));
  SEXP call = PROTECT(Rf_lang3(Rf_install("stop_field"), PROTECT(Rf_ScalarInteger(status)), text));
  Rf_eval(call, drv_namespace());
  UNPROTECT(3);
  Rf_error("unreachable");
}

drv_str drv_text(SEXP string) {
  if (TYPEOF(string) != STRSXP || XLENGTH(string) != 1 || STRING_ELT(string, 0) == NA_STRING) return (drv_str){"", 0};
  const char *text = Rf_translateCharUTF8(STRING_ELT(string, 0));
  return (drv_str){text, strlen(text)};
}

const drv_str *drv_texts(SEXP strings) {
  R_xlen_t n = XLENGTH(strings);
  drv_str *out = (drv_str *)R_alloc(n ? (size_t)n : 1, sizeof(drv_str));
  for (R_xlen_t i = 0; i < n; i++) {
    const char *text = Rf_translateCharUTF8(STRING_ELT(strings, i));
    out[i] = (drv_str){text, strlen(text)};
  }
  return out;
}
