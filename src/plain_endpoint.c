/* The shortest way through an endpoint of plumber: one call from R instead of ten, which cost more than such handlers
 * do. What is not plain goes the way of R/plumber-run.R, which gives the same answers. */
#include "plain_endpoint.h"
#include "json.h"
#include "request.h"
#include "values.h"
#include <string.h>

/* The elements of an endpoint, as drv_plain_endpoint_new() puts them together. */
enum { VERB, ADDRESS, CALL, ENVIR, PRIVATE, ENGINE, WORKING, HAS_FOLDER, WRITER, TYPE, ANSWER, ELEMENTS };

/* How the response is made. */
enum { BY_R, TEXT, JSON, UNBOXED_JSON };

/* Looked up once, as this is done for each request. */
static struct {
  SEXP warn, secret, max_size, max_body_given, plumber, folders;
} name;

static void know_names(void) {
  if (name.warn) return;
  name.secret = Rf_install("plumber.sharedSecret");
  name.max_size = Rf_install("maxSize");
  name.max_body_given = Rf_install("max_body_given");
  name.plumber = Rf_install("plumber");
  name.folders = Rf_install("folders");
  name.warn = Rf_install("warn");
}

/* Warnings are errors to others, but not in plumber, which may also ask for a secret, or look at sizes, unless the
 * server was given a limit for these. */
static int is_hindered(SEXP private, SEXP engine) {
  if (Rf_asInteger(Rf_GetOption1(name.warn)) >= 2) return 1;
  if (Rf_GetOption1(name.secret) != R_NilValue) return 1;
  SEXP most = Rf_findVarInFrame(private, name.max_size);
  int is_limited = Rf_isNumeric(most) && Rf_length(most) == 1 && Rf_asReal(most) > 0;
  return is_limited && Rf_asLogical(Rf_findVarInFrame(engine, name.max_body_given)) != TRUE;
}

SEXP drv_plumber_is_hindered(SEXP private, SEXP engine) {
  know_names();
  return Rf_ScalarLogical(is_hindered(private, engine));
}

SEXP drv_plain_endpoint_new(SEXP verb, SEXP address, SEXP call, SEXP envir, SEXP private, SEXP engine, SEXP working,
                            SEXP has_folder, SEXP writer, SEXP type, SEXP answer) {
  const SEXP elements[ELEMENTS] = {
    [VERB] = verb, [ADDRESS] = address, [CALL] = call, [ENVIR] = envir, [PRIVATE] = private, [ENGINE] = engine,
    [WORKING] = working, [HAS_FOLDER] = has_folder, [WRITER] = writer, [TYPE] = type, [ANSWER] = answer,
  };
  SEXP endpoint = PROTECT(Rf_allocVector(VECSXP, ELEMENTS));
  for (int i = 0; i < ELEMENTS; i++) SET_VECTOR_ELT(endpoint, i, elements[i]);
  UNPROTECT(1);
  return endpoint;
}

static int is_plain(SEXP req, SEXP endpoint) {
  know_names();
  if (!drv_request_asks_for(req, VECTOR_ELT(endpoint, VERB), VECTOR_ELT(endpoint, ADDRESS))) return 0;
  SEXP how = Rf_findVarInFrame(VECTOR_ELT(endpoint, ENGINE), name.plumber);
  if (TYPEOF(how) != STRSXP || strcmp(CHAR(STRING_ELT(how, 0)), "fast")) return 0;
  if (Rf_asLogical(VECTOR_ELT(endpoint, HAS_FOLDER))) {
    /* a worker process with one router is in its folder already */
    SEXP folders = Rf_findVarInFrame(VECTOR_ELT(endpoint, WORKING), name.folders);
    if (TYPEOF(folders) != STRSXP || XLENGTH(folders) != 1) return 0;
  }
  return !is_hindered(VECTOR_ELT(endpoint, PRIVATE), VECTOR_ELT(endpoint, ENGINE));
}

static SEXP response(SEXP value, int writer, SEXP type) {
  static SEXP ok = NULL, no_headers, digits, unboxes, boxes;
  if (!ok) {
    no_headers = drv_constant(Rf_allocVector(VECSXP, 0));
    digits = drv_constant(Rf_ScalarInteger(4));
    unboxes = drv_constant(Rf_ScalarLogical(1));
    boxes = drv_constant(Rf_ScalarLogical(0));
    ok = drv_constant(Rf_ScalarInteger(200));
  }
  if (OBJECT(value) || writer == BY_R) return R_NilValue;
  if (writer == TEXT) return drv_text_reply(value, type);
  return drv_call_json_reply(value, ok, no_headers, writer == UNBOXED_JSON ? unboxes : boxes, digits);
}

SEXP drv_plain_endpoint(SEXP req, SEXP endpoint) {
  if (!is_plain(req, endpoint)) return R_NilValue;
  SEXP value = PROTECT(Rf_eval(VECTOR_ELT(endpoint, CALL), VECTOR_ELT(endpoint, ENVIR)));
  SEXP answer = PROTECT(response(value, Rf_asInteger(VECTOR_ELT(endpoint, WRITER)), VECTOR_ELT(endpoint, TYPE)));
  if (answer == R_NilValue) {
    answer = Rf_allocVector(VECSXP, 1);
    SET_VECTOR_ELT(answer, 0, value);
  }
  UNPROTECT(2);
  return answer;
}

SEXP drv_plain_endpoint_whole(SEXP req, SEXP endpoint) {
  SEXP answer = PROTECT(drv_plain_endpoint(req, endpoint));
  if (TYPEOF(answer) == VECSXP && !OBJECT(answer)) {
    SEXP value = PROTECT(Rf_lang2(R_QuoteSymbol, VECTOR_ELT(answer, 0)));
    SEXP call = PROTECT(Rf_lang3(VECTOR_ELT(endpoint, ANSWER), req, value));
    answer = R_forceAndCall(call, 2, R_BaseEnv);
    UNPROTECT(2);
  }
  UNPROTECT(1);
  return answer;
}
