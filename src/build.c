/* Makes R objects of the nodes that Rust describes (drover_rust.h). Allocation may jump, so this is C:
 * no Rust frame is on the stack while it runs. Not for reading R objects: that is rust/crates/binding. */
#include "build.h"
#include <string.h>

SEXP drv_mkchar(drv_str s) {
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

SEXP drv_build(const drv_node *node) {
  SEXP out = build_vector(node);
  if (!node->names && !node->ndim && node->data_frame < 0) return out;
  PROTECT(out);
  if (node->names) set_names(out, node);
  if (node->ndim) {
    SEXP dim = PROTECT(Rf_allocVector(INTSXP, node->ndim));
    memcpy(INTEGER(dim), node->dim, (size_t)node->ndim * sizeof(int32_t));
    Rf_setAttrib(out, R_DimSymbol, dim);
    UNPROTECT(1);
  }
  if (node->data_frame >= 0) {
    /* the compact row.names that data.frame() itself makes: c(NA, -n) */
    SEXP rows = PROTECT(Rf_allocVector(INTSXP, 2));
    INTEGER(rows)[0] = NA_INTEGER;
    INTEGER(rows)[1] = -(int)node->data_frame;
    Rf_setAttrib(out, R_RowNamesSymbol, rows);
    Rf_setAttrib(out, R_ClassSymbol, PROTECT(Rf_mkString("data.frame")));
    UNPROTECT(2);
  }
  UNPROTECT(1);
  return out;
}
