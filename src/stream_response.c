/* Making the responses of dr_stream() and dr_stream_sse(), as one call: their checks alone took R longer than a plain
 * response takes from end to end. Arguments that are wrong, or only unusual, are left to R/stream.R: then these answer
 * NULL. Neighbours: streams.c, where the streams are; events.c; values.c, which makes plain responses so. */
#include "stream_response.h"
#include "r.h"
#include "values.h"
#include <math.h>
#include <string.h>

/* Seconds of a year, the longest time that R/check.R allows. */
#define YEAR 31536000.0

/* A function of two arguments; one that calls its first what is the second is for R to refuse. */
static int is_generator(SEXP x) {
  if (TYPEOF(x) != CLOSXP || Rf_length(FORMALS(x)) != 2) return 0;
  const char *first = CHAR(PRINTNAME(TAG(FORMALS(x))));
  return strncmp(first, "cancel", 6) != 0;
}

static int are_seconds(SEXP x) {
  if ((TYPEOF(x) != REALSXP && TYPEOF(x) != INTSXP) || XLENGTH(x) != 1 || ATTRIB(x) != R_NilValue) return 0;
  double seconds = Rf_asReal(x);
  return seconds >= 0 && seconds <= YEAR;
}

/* 1 for "end", 0 for "finish", -1 for anything else. */
static int ends_on_drain(SEXP x) {
  if (TYPEOF(x) != STRSXP || XLENGTH(x) != 1 || ATTRIB(x) != R_NilValue) return -1;
  const char *choice = CHAR(STRING_ELT(x, 0));
  return !strcmp(choice, "end") ? 1 : !strcmp(choice, "finish") ? 0 : -1;
}

static SEXP names_of(const char **fields) {
  SEXP names = drv_constant(Rf_getAttrib(PROTECT(Rf_mkNamed(VECSXP, fields)), R_NamesSymbol));
  UNPROTECT(1);
  return names;
}

/* The response with the status and header fields of `head`, a plain one. */
static SEXP of_head(SEXP head, SEXP next_chunk, SEXP state, SEXP min_interval, int ends) {
  static SEXP class = NULL, names, stream_names, yes, no;
  if (!class) {
    const char *fields[] = {"status", "body", "headers", "stream", ""};
    const char *parts[] = {"next_chunk", "state", "min_interval", "ends_on_drain", ""};
    names = names_of(fields);
    stream_names = names_of(parts);
    yes = drv_constant(Rf_ScalarLogical(1));
    no = drv_constant(Rf_ScalarLogical(0));
    SEXP both = PROTECT(Rf_allocVector(STRSXP, 2));
    SET_STRING_ELT(both, 0, Rf_mkChar("dr_stream"));
    SET_STRING_ELT(both, 1, Rf_mkChar("dr_response"));
    class = drv_constant(both);
    UNPROTECT(1);
  }
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 4)), stream = Rf_allocVector(VECSXP, 4);
  SET_VECTOR_ELT(out, 0, VECTOR_ELT(head, 0));
  SET_VECTOR_ELT(out, 2, VECTOR_ELT(head, 2));
  SET_VECTOR_ELT(out, 3, stream);
  SET_VECTOR_ELT(stream, 0, next_chunk);
  SET_VECTOR_ELT(stream, 1, state);
  SET_VECTOR_ELT(stream, 2, min_interval);
  SET_VECTOR_ELT(stream, 3, ends ? yes : no);
  Rf_setAttrib(stream, R_NamesSymbol, stream_names);
  Rf_setAttrib(out, R_NamesSymbol, names);
  Rf_setAttrib(out, R_ClassSymbol, class);
  UNPROTECT(1);
  return out;
}

/* A plain response without a body. */
static SEXP head_of(SEXP status, SEXP headers, SEXP type) {
  static SEXP none = NULL;
  if (!none) none = drv_constant(Rf_mkString(""));
  return drv_plain_response(none, status, headers, type);
}

SEXP drv_stream_response(SEXP call, SEXP fun, SEXP next_chunk, SEXP state, SEXP type, SEXP headers, SEXP min_interval,
                         SEXP status, SEXP on_drain) {
  int ends = ends_on_drain(on_drain);
  if (ends < 0 || !is_generator(next_chunk) || !are_seconds(min_interval)) return R_NilValue;
  if (drv_wrong_name(call, fun) != R_NilValue) return R_NilValue;
  SEXP head = PROTECT(head_of(status, headers, type));
  SEXP out = head == R_NilValue ? head : of_head(head, next_chunk, state, min_interval, ends);
  UNPROTECT(1);
  return out;
}

/* Content-Type, and the event_headers of R/stream.R. */
static SEXP headers_of_events(SEXP type) {
  SEXP others = PROTECT(Rf_eval(Rf_install("event_headers"), drv_namespace()));
  SEXP own = PROTECT(Rf_getAttrib(others, R_NamesSymbol));
  R_xlen_t n = XLENGTH(others) + 1;
  SEXP out = PROTECT(Rf_allocVector(VECSXP, n)), names = PROTECT(Rf_allocVector(STRSXP, n));
  SET_VECTOR_ELT(out, 0, type);
  SET_STRING_ELT(names, 0, Rf_mkChar("Content-Type"));
  for (R_xlen_t i = 1; i < n; i++) {
    SET_VECTOR_ELT(out, i, VECTOR_ELT(others, i - 1));
    SET_STRING_ELT(names, i, STRING_ELT(own, i - 1));
  }
  Rf_setAttrib(out, R_NamesSymbol, names);
  UNPROTECT(4);
  return out;
}

/* event_chunks() of R/stream.R */
static SEXP chunks_of(SEXP generator, SEXP beats, SEXP heartbeat) {
  SEXP call = PROTECT(Rf_lang4(Rf_install("event_chunks"), generator, beats, heartbeat));
  SEXP chunks = Rf_eval(call, drv_namespace());
  UNPROTECT(1);
  return chunks;
}

SEXP drv_events_response(SEXP call, SEXP fun, SEXP generator, SEXP state, SEXP headers, SEXP min_interval, SEXP status,
                         SEXP on_drain, SEXP heartbeat) {
  static SEXP type = NULL, all_headers;
  int ends = ends_on_drain(on_drain);
  if (ends < 0 || !is_generator(generator) || !are_seconds(min_interval) || !are_seconds(heartbeat)) return R_NilValue;
  if (drv_wrong_name(call, fun) != R_NilValue) return R_NilValue;
  if (!type) {
    type = drv_constant(Rf_mkString("text/event-stream"));
    all_headers = drv_constant(headers_of_events(type));
  }
  SEXP head = PROTECT(head_of(status, headers, type));
  if (head == R_NilValue) {
    UNPROTECT(1);
    return head;
  }
  SET_VECTOR_ELT(head, 2, all_headers);
  double pause = Rf_asReal(heartbeat), interval = Rf_asReal(min_interval);
  /* as beats_between() */
  double beats = pause > 0 ? fmax(1, ceil(interval / pause)) : 1;
  SEXP chunks = PROTECT(chunks_of(generator, PROTECT(Rf_ScalarReal(beats)), heartbeat));
  SEXP between = PROTECT(Rf_ScalarReal(interval / beats));
  SEXP out = of_head(head, chunks, state, between, ends);
  UNPROTECT(4);
  return out;
}
