/* Makes R objects of the nodes that Rust describes (drover_rust.h). Allocation may jump, so this is C:
 * no Rust frame is on the stack while it runs. Not for reading R objects: that is rust/crates/binding. */
#include "build.h"
#include <string.h>

/* as.character() of a number */
static SEXP number_text(double x) {
  SEXP number = PROTECT(Rf_ScalarReal(x));
  SEXP text = STRING_ELT(Rf_coerceVector(number, STRSXP), 0);
  UNPROTECT(1);
  return text;
}

SEXP drv_mkchar(drv_str s) {
  if (s.ptr == (const char *)&drv_number) {
    uint64_t bits = s.len;
    double x;
    memcpy(&x, &bits, sizeof x);
    return number_text(x);
  }
  return s.ptr ? Rf_mkCharLenCE(s.ptr, (int)s.len, CE_UTF8) : NA_STRING;
}

SEXP drv_start_error(const drv_error *error) {
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(out, 0, Rf_ScalarInteger(error->status));
  SET_VECTOR_ELT(out, 1, Rf_ScalarString(drv_mkchar(error->message)));
  UNPROTECT(1);
  return out;
}

static SEXP build_vector(const drv_node *node) {
  R_xlen_t n = (R_xlen_t)node->n;
  SEXP out;
  switch ((drv_kind)node->kind) {
  case DRV_LGL:
    out = Rf_allocVector(LGLSXP, n);
    if (n) memcpy(LOGICAL(out), node->data, node->n * sizeof(int32_t));
    return out;
  case DRV_INT:
    out = Rf_allocVector(INTSXP, n);
    if (n) memcpy(INTEGER(out), node->data, node->n * sizeof(int32_t));
    return out;
  case DRV_DBL:
    out = Rf_allocVector(REALSXP, n);
    if (n) memcpy(REAL(out), node->data, node->n * sizeof(double));
    return out;
  case DRV_RAW:
    out = Rf_allocVector(RAWSXP, n);
    if (n) memcpy(RAW(out), node->data, node->n);
    return out;
  case DRV_STR: {
    const drv_str *s = node->data;
    PROTECT(out = Rf_allocVector(STRSXP, n));
    for (R_xlen_t i = 0; i < n; i++) SET_STRING_ELT(out, i, drv_mkchar(s[i]));
    UNPROTECT(1);
    return out;
  }
  case DRV_LIST: {
    const drv_node *child = node->data;
    PROTECT(out = Rf_allocVector(VECSXP, n));
    for (R_xlen_t i = 0; i < n; i++) SET_VECTOR_ELT(out, i, drv_build(&child[i]));
    UNPROTECT(1);
    return out;
  }
  case DRV_NULL:
    break;
  }
  return R_NilValue;
}

static void set_names(SEXP x, const drv_node *node) {
  SEXP names = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)node->n));
  for (size_t i = 0; i < node->n; i++) SET_STRING_ELT(names, (R_xlen_t)i, drv_mkchar(node->names[i]));
  Rf_setAttrib(x, R_NamesSymbol, names);
  UNPROTECT(1);
}

static SEXP strings(const char *first, const char *second) {
  SEXP out = PROTECT(Rf_allocVector(STRSXP, second ? 2 : 1));
  SET_STRING_ELT(out, 0, Rf_mkChar(first));
  if (second) SET_STRING_ELT(out, 1, Rf_mkChar(second));
  UNPROTECT(1);
  return out;
}

static void set_attribute(SEXP x, SEXP symbol, SEXP value) {
  Rf_setAttrib(x, symbol, PROTECT(value));
  UNPROTECT(1);
}

static SEXP local_zone;

void drv_set_local_zone(SEXP zone) {
  if (local_zone) R_ReleaseObject(local_zone);
  R_PreserveObject(local_zone = zone);
  MARK_NOT_MUTABLE(zone);
}

static SEXP time_zone(int32_t time) {
  if (time == DRV_TIME_LOCAL && local_zone) return local_zone;
  return strings(time == DRV_TIME_UTC ? "UTC" : "", NULL);
}

static SEXP row_names(const drv_node *node) {
  if (node->row_names) return build_vector(node->row_names);
  /* the compact row.names that data.frame() itself makes: c(NA, -n) */
  SEXP rows = Rf_allocVector(INTSXP, 2);
  INTEGER(rows)[0] = NA_INTEGER;
  INTEGER(rows)[1] = -(int)node->data_frame;
  return rows;
}

SEXP drv_build(const drv_node *node) {
  SEXP out = build_vector(node);
  if (!node->names && !node->ndim && node->data_frame < 0 && !node->time) return out;
  PROTECT(out);
  if (node->names) set_names(out, node);
  if (node->ndim) {
    SEXP dim = Rf_allocVector(INTSXP, node->ndim);
    memcpy(INTEGER(dim), node->dim, (size_t)node->ndim * sizeof(int32_t));
    set_attribute(out, R_DimSymbol, dim);
  }
  if (node->data_frame >= 0) {
    set_attribute(out, R_RowNamesSymbol, row_names(node));
    set_attribute(out, R_ClassSymbol, strings("data.frame", NULL));
  }
  if (node->time) {
    set_attribute(out, R_ClassSymbol, strings("POSIXct", "POSIXt"));
    if (node->time != DRV_TIME_UNZONED) set_attribute(out, Rf_install("tzone"), time_zone(node->time));
  }
  UNPROTECT(1);
  return out;
}
