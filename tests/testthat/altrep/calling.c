/* ALTREP vectors whose methods call an R function, for test-faults-altrep.R. */
#define R_NO_REMAP
#include <Rinternals.h>
#include <R_ext/Altrep.h>
#include <R_ext/Rdynload.h>

static R_altrep_class_t integers, strings;

/* data1: list(function, vector). The function is called whenever the elements are asked for. */
static void call(SEXP x) {
  SEXP code = PROTECT(Rf_lang1(VECTOR_ELT(R_altrep_data1(x), 0)));
  Rf_eval(code, R_GlobalEnv);
  UNPROTECT(1);
}

static SEXP vector_of(SEXP x) { return VECTOR_ELT(R_altrep_data1(x), 1); }

static R_xlen_t length_of(SEXP x) { return XLENGTH(vector_of(x)); }

static void *integer_data(SEXP x, Rboolean writable) {
  (void)writable;
  call(x);
  return INTEGER(vector_of(x));
}

static int integer_element(SEXP x, R_xlen_t i) {
  call(x);
  return INTEGER(vector_of(x))[i];
}

static const void *no_data(SEXP x) {
  (void)x;
  return NULL;
}

static void *string_data(SEXP x, Rboolean writable) {
  (void)writable;
  call(x);
  return (void *)DATAPTR_RO(vector_of(x));
}

static SEXP string_element(SEXP x, R_xlen_t i) {
  call(x);
  return STRING_ELT(vector_of(x), i);
}

static SEXP calling(SEXP function, SEXP vector) {
  SEXP data = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(data, 0, function);
  SET_VECTOR_ELT(data, 1, vector);
  SEXP x = R_new_altrep(TYPEOF(vector) == STRSXP ? strings : integers, data, R_NilValue);
  UNPROTECT(1);
  return x;
}

static const R_CallMethodDef calls[] = {{"calling", (DL_FUNC)(void (*)(void))calling, 2}, {NULL, NULL, 0}};

void R_init_calling(DllInfo *library) {
  R_registerRoutines(library, NULL, calls, NULL, NULL);
  integers = R_make_altinteger_class("calling_integers", "calling", library);
  R_set_altrep_Length_method(integers, length_of);
  R_set_altvec_Dataptr_method(integers, integer_data);
  R_set_altvec_Dataptr_or_null_method(integers, no_data);
  R_set_altinteger_Elt_method(integers, integer_element);
  strings = R_make_altstring_class("calling_strings", "calling", library);
  R_set_altrep_Length_method(strings, length_of);
  R_set_altvec_Dataptr_method(strings, string_data);
  R_set_altvec_Dataptr_or_null_method(strings, no_data);
  R_set_altstring_Elt_method(strings, string_element);
}
