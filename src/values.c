/* Three small things that handlers do for nearly every request, as one call each: making a plain response, looking up
 * one named value, and looking at the names of arguments. What is not the usual case is left to R (R/response.R,
 * R/request.R): these answer NULL. Not for requests and responses on the wire. */
#include "values.h"
#include "build.h"
#include "drover_rust.h"
#include "opened.h"
#include "r.h"
#include <string.h>

SEXP drv_constant(SEXP value) {
  R_PreserveObject(value);
  MARK_NOT_MUTABLE(value);
  return value;
}

/* One string, nothing attached to it. */
static int is_plain_string(SEXP x) {
  return TYPEOF(x) == STRSXP && XLENGTH(x) == 1 && ATTRIB(x) == R_NilValue && STRING_ELT(x, 0) != NA_STRING;
}

/* Types of content that are remembered: an app has few. */
#define REMEMBERED 8

/* list("Content-Type" = type). Responses of one type share a list, which is marked as not mutable. */
static SEXP only_header(SEXP type) {
  static SEXP names = NULL, known[REMEMBERED];
  static int n = 0;
  SEXP text = STRING_ELT(type, 0);
  for (int i = 0; i < n; i++) {
    if (STRING_ELT(VECTOR_ELT(known[i], 0), 0) == text) return known[i];
  }
  if (!names) names = drv_constant(Rf_mkString("Content-Type"));
  SEXP field = PROTECT(Rf_allocVector(VECSXP, 1));
  SET_VECTOR_ELT(field, 0, type);
  MARK_NOT_MUTABLE(type);
  Rf_setAttrib(field, R_NamesSymbol, names);
  if (n < REMEMBERED) known[n++] = drv_constant(field);
  UNPROTECT(1);
  return field;
}

SEXP drv_response(SEXP status, SEXP body, SEXP headers) {
  static SEXP class = NULL, names;
  if (!class) {
    const char *fields[] = {"status", "body", "headers", ""};
    SEXP model = PROTECT(Rf_mkNamed(VECSXP, fields));
    names = drv_constant(Rf_getAttrib(model, R_NamesSymbol));
    UNPROTECT(1);
    class = drv_constant(Rf_mkString("dr_response"));
  }
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 3));
  SET_VECTOR_ELT(out, 0, status);
  SET_VECTOR_ELT(out, 1, body);
  SET_VECTOR_ELT(out, 2, headers);
  Rf_setAttrib(out, R_NamesSymbol, names);
  Rf_setAttrib(out, R_ClassSymbol, class);
  UNPROTECT(1);
  return out;
}

SEXP drv_plain_response(SEXP body, SEXP status, SEXP headers, SEXP type) {
  if (!is_plain_string(body) || !is_plain_string(type)) return R_NilValue;
  if (TYPEOF(headers) != VECSXP || XLENGTH(headers) != 0) return R_NilValue;
  if (TYPEOF(status) != INTSXP || XLENGTH(status) != 1 || ATTRIB(status) != R_NilValue) return R_NilValue;
  if (INTEGER(status)[0] < 200 || INTEGER(status)[0] > 599) return R_NilValue;
  SEXP out = drv_response(status, body, PROTECT(only_header(type)));
  UNPROTECT(1);
  return out;
}

SEXP drv_text_reply(SEXP body, SEXP type) {
  static SEXP ok = NULL, none;
  if (!is_plain_string(body) || Rf_getCharCE(STRING_ELT(body, 0)) == CE_LATIN1) return R_NilValue;
  if (!ok) {
    ok = drv_constant(Rf_ScalarInteger(200));
    none = drv_constant(Rf_allocVector(VECSXP, 0));
  }
  return drv_plain_response(body, ok, none, type);
}

SEXP drv_pick(SEXP values, SEXP name) {
  SEXP names = Rf_getAttrib(values, R_NamesSymbol);
  if (TYPEOF(names) != STRSXP || TYPEOF(name) != STRSXP || XLENGTH(name) != 1) return R_NilValue;
  SEXP wanted = STRING_ELT(name, 0);
  for (R_xlen_t i = XLENGTH(names); i-- > 0;) {
    if (!Rf_NonNullStringMatch(STRING_ELT(names, i), wanted)) continue;
    if (TYPEOF(values) == VECSXP) return VECTOR_ELT(values, i);
    if (TYPEOF(values) == STRSXP) return Rf_ScalarString(STRING_ELT(values, i));
  }
  return R_NilValue;
}

SEXP drv_first(SEXP list, const char *name) {
  SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  if (TYPEOF(list) != VECSXP || TYPEOF(names) != STRSXP) return R_NilValue;
  for (R_xlen_t i = 0; i < XLENGTH(list); i++) {
    if (!strcmp(CHAR(STRING_ELT(names, i)), name)) return VECTOR_ELT(list, i);
  }
  return R_NilValue;
}

int drv_has_only(SEXP list, const char *const *known) {
  SEXP names = Rf_getAttrib(list, R_NamesSymbol);
  for (R_xlen_t i = 0; i < XLENGTH(list); i++) {
    const char *name = TYPEOF(names) == STRSXP ? CHAR(STRING_ELT(names, i)) : "";
    const char *const *one = known;
    while (*one && strcmp(name, *one)) one++;
    if (!*one) return 0;
  }
  return 1;
}

/* Whether R takes `name` for the beginning of an argument's name: one that stands before `...`, if there is such. */
static int is_shortened(SEXP name, SEXP formals) {
  const char *text = CHAR(PRINTNAME(name));
  for (; formals != R_NilValue && TAG(formals) != R_DotsSymbol; formals = CDR(formals)) {
    if (!strncmp(text, CHAR(PRINTNAME(TAG(formals))), strlen(text))) return 1;
  }
  return 0;
}

static int has_formal(SEXP name, SEXP formals) {
  for (; formals != R_NilValue; formals = CDR(formals)) {
    if (TAG(formals) == name) return 1;
  }
  return 0;
}

/* The first name in `call` by which `fun` has no argument, however R would match it; NULL when there is none. What
 * `...` takes is not looked at. */
SEXP drv_wrong_name(SEXP call, SEXP fun) {
  if (TYPEOF(call) != LANGSXP || TYPEOF(fun) != CLOSXP) return R_NilValue;
  SEXP formals = FORMALS(fun);
  for (SEXP at = CDR(call); at != R_NilValue; at = CDR(at)) {
    SEXP name = TAG(at);
    if (name == R_NilValue || has_formal(name, formals)) continue;
    if (has_formal(R_DotsSymbol, formals) && !is_shortened(name, formals)) continue;
    return Rf_ScalarString(PRINTNAME(name));
  }
  return R_NilValue;
}

/* data.table and others have some that do not */
SEXP drv_pointer_is_live(SEXP pointer) {
  void *address = R_ExternalPtrAddr(pointer);
  return Rf_ScalarLogical(address && address != (void *)R_NilValue && !drv_opened_is(pointer));
}

SEXP drv_units(SEXP text, SEXP time) {
  return Rf_ScalarReal(drv_units_read(drv_text(text), Rf_asLogical(time)));
}

SEXP drv_phrase(SEXP status) {
  return Rf_ScalarString(drv_mkchar(drv_status_phrase(Rf_asInteger(status))));
}

SEXP drv_cores(void) { return Rf_ScalarInteger(drv_usable_cores()); }
