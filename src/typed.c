/* Values for handlers, of the types that their routes declare, where each is single and plain. Others are read by
 * functions that R hands in. Neighbours: R/typed-values.R and R/typed-handler.R, which have the same numbers. */
#include "typed.h"
#include "json.h"
#include "request.h"
#include "values.h"
#include <limits.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* What is read here: SINGLE_KINDS in R. */
enum kind { BY_R, INT, DBL, LGL, CHR, AS_IS };

/* The elements of a getter: see new_getter() in R. */
enum { PLACE, NAME, KIND, DEFAULT, GET };

/* The elements of the fields of an object: see object_reader(). */
enum { NAMES, KINDS, READERS, DEFAULTS };

static SEXP missing(enum kind kind) {
  switch (kind) {
  case INT: return Rf_ScalarInteger(NA_INTEGER);
  case DBL: return Rf_ScalarReal(NA_REAL);
  case LGL: return Rf_ScalarLogical(NA_LOGICAL);
  case CHR: return Rf_ScalarString(NA_STRING);
  default: return NULL;
  }
}

/* A value as JSON has it, as one of this kind; NULL where R is to read it. Not protected. */
static SEXP single(enum kind kind, SEXP x) {
  if (kind == AS_IS) return x;
  if (x == R_NilValue) return missing(kind);
  if (OBJECT(x) || XLENGTH(x) != 1) return NULL;
  int type = TYPEOF(x);
  switch (kind) {
  case INT:
    if (type == INTSXP) return x;
    if (type == REALSXP && fabs(REAL(x)[0]) <= INT_MAX) return Rf_ScalarInteger((int)REAL(x)[0]);
    return NULL;
  case DBL:
    if (type == REALSXP) return x;
    return type == INTSXP ? Rf_ScalarReal(Rf_asReal(x)) : NULL;
  case LGL: return type == LGLSXP ? x : NULL;
  case CHR: return type == STRSXP ? x : NULL;
  default: return NULL;
  }
}

/* The same of a text of a query, a path, a header field or a cookie, which the engine has judged. */
static SEXP single_of_text(enum kind kind, SEXP text) {
  const char *bytes = CHAR(text);
  drv_json_error error;
  switch (kind) {
  case INT:
  case DBL: {
    /* by the parser that the engine has judged it by */
    SEXP number = drv_json_parse((const uint8_t *)bytes, strlen(bytes), 1, 1, INT_MAX, &error);
    if (!number) return NULL;
    PROTECT(number);
    SEXP value = single(kind, number);
    UNPROTECT(1);
    return value;
  }
  case LGL: return Rf_ScalarLogical(!strcasecmp(bytes, "true") || !strcasecmp(bytes, "t") || !strcmp(bytes, "1"));
  case CHR:
  case AS_IS: return Rf_ScalarString(text);
  default: return NULL;
  }
}

static SEXP call_reader(SEXP reader, SEXP x) {
  SEXP call = PROTECT(Rf_lang2(reader, x));
  SEXP value = Rf_eval(call, R_BaseEnv);
  UNPROTECT(1);
  return value;
}

/* ---- members of an object -------------------------------------------------------------------------------------- */

static R_xlen_t place_of(SEXP name, SEXP names) {
  R_xlen_t n = TYPEOF(names) == STRSXP ? XLENGTH(names) : 0, i = 0;
  while (i < n && STRING_ELT(names, i) != name && !Rf_NonNullStringMatch(STRING_ELT(names, i), name)) i++;
  return i < n ? i : -1;
}

/* Member `i`, or its default; NULL where it has neither. Not protected. */
static SEXP member(SEXP fields, R_xlen_t i, SEXP x, R_xlen_t at) {
  if (at < 0) {
    SEXP usual = VECTOR_ELT(VECTOR_ELT(fields, DEFAULTS), i);
    return usual == R_NilValue ? NULL : VECTOR_ELT(usual, 0);
  }
  SEXP given = VECTOR_ELT(x, at);
  SEXP value = single((enum kind)INTEGER(VECTOR_ELT(fields, KINDS))[i], given);
  return value ? value : call_reader(VECTOR_ELT(VECTOR_ELT(fields, READERS), i), given);
}

SEXP drv_typed_object(SEXP fields, SEXP x) {
  if (x == R_NilValue) return x;
  SEXP names = VECTOR_ELT(fields, NAMES);
  R_xlen_t n = XLENGTH(names), there = 0;
  SEXP given = PROTECT(TYPEOF(x) == VECSXP ? Rf_getAttrib(x, R_NamesSymbol) : R_NilValue);
  SEXP values = PROTECT(Rf_allocVector(VECSXP, n)), kept = R_NilValue;
  PROTECT_INDEX at_kept, at_values;
  PROTECT_WITH_INDEX(kept, &at_kept);
  PROTECT_WITH_INDEX(values, &at_values);
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP value = member(fields, i, x, place_of(STRING_ELT(names, i), given));
    /* up to here all were there, and the names are those that are declared */
    if (!value && kept == R_NilValue) {
      REPROTECT(kept = Rf_allocVector(STRSXP, n), at_kept);
      for (R_xlen_t j = 0; j < there; j++) SET_STRING_ELT(kept, j, STRING_ELT(names, j));
    }
    if (!value) continue;
    SET_VECTOR_ELT(values, there, value);
    if (kept != R_NilValue) SET_STRING_ELT(kept, there, STRING_ELT(names, i));
    there++;
  }
  if (kept != R_NilValue) {
    REPROTECT(values = Rf_xlengthgets(values, there), at_values);
    REPROTECT(kept = Rf_xlengthgets(kept, there), at_kept);
  }
  Rf_setAttrib(values, R_NamesSymbol, kept == R_NilValue ? names : kept);
  UNPROTECT(4);
  return values;
}

/* ---- what a handler takes of a request -------------------------------------------------------------------------- */

/* What is called `name` in a list or character vector, as `single` or a text; `*times` says how often it is there. */
static SEXP find(SEXP values, SEXP name, int *times) {
  SEXP names = Rf_getAttrib(values, R_NamesSymbol), found = R_NilValue;
  *times = 0;
  if (TYPEOF(names) != STRSXP) return found;
  for (R_xlen_t i = 0; i < XLENGTH(names); i++) {
    if (!Rf_NonNullStringMatch(STRING_ELT(names, i), name)) continue;
    found = TYPEOF(values) == VECSXP ? VECTOR_ELT(values, i) : STRING_ELT(values, i);
    ++*times;
  }
  return found;
}

/* NULL where R is to read it. Not protected. */
static SEXP value_of(SEXP getter, SEXP req) {
  drv_place place = (drv_place)INTEGER(VECTOR_ELT(getter, PLACE))[0];
  if (place == DRV_NOWHERE) return NULL;
  if (place == DRV_REQUEST) return req;
  enum kind kind = (enum kind)INTEGER(VECTOR_ELT(getter, KIND))[0];
  SEXP values = PROTECT(drv_request_values(req, place));
  int times;
  SEXP found = find(values, STRING_ELT(VECTOR_ELT(getter, NAME), 0), &times);
  SEXP value = NULL;
  if (!times && values != R_NilValue) {
    value = VECTOR_ELT(getter, DEFAULT);
  } else if (times == 1 && TYPEOF(found) == CHARSXP) {
    value = single_of_text(kind, found);
  } else if (times == 1 && TYPEOF(found) == STRSXP && XLENGTH(found) == 1) {
    value = single_of_text(kind, STRING_ELT(found, 0));
  } else if (times == 1) {
    value = single(kind, found);
  }
  UNPROTECT(1);
  return value;
}

SEXP drv_typed_values(SEXP getters, SEXP req) {
  R_xlen_t n = XLENGTH(getters);
  SEXP values = PROTECT(Rf_allocVector(VECSXP, n));
  for (R_xlen_t i = 0; i < n; i++) {
    SEXP getter = VECTOR_ELT(getters, i), value = value_of(getter, req);
    SET_VECTOR_ELT(values, i, value ? value : call_reader(VECTOR_ELT(getter, GET), req));
  }
  Rf_setAttrib(values, R_NamesSymbol, Rf_getAttrib(getters, R_NamesSymbol));
  UNPROTECT(1);
  return values;
}
