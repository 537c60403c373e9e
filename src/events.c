/* Server-Sent Events as chunks of a stream: a call for each event, which took ten times as long in R. Rust writes the
 * text (rust/crates/binding/src/events.rs); fields that are not as usual are left to event_text_slowly() in R/stream.R,
 * which gives the same text, or the error. Neighbour: streams.c, where generators are called. */
#include "events.h"
#include "build.h"
#include "clock.h"
#include "drover_rust.h"
#include "r.h"
#include "values.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NA_TEXT ((drv_str){NULL, 0})

/* Longest number that is written here: up to LARGEST, in which every whole number has its digits. */
#define NUMBER 24
#define LARGEST 1e15

/* One string, as UTF-8. 0 when it is something else. Translated text is kept until vmaxset(). */
static int text_of(SEXP x, drv_str *out) {
  if (TYPEOF(x) != STRSXP || OBJECT(x) || XLENGTH(x) != 1 || STRING_ELT(x, 0) == NA_STRING) return 0;
  cetype_t encoding = Rf_getCharCE(STRING_ELT(x, 0));
  if (encoding == CE_BYTES) return 0;
  const char *text = Rf_translateCharUTF8(STRING_ELT(x, 0));
  /* what is not valid was escaped */
  if (encoding == CE_NATIVE && strcmp(text, CHAR(STRING_ELT(x, 0)))) return 0;
  *out = (drv_str){text, strlen(text)};
  return 1;
}

/* The same of a field that may be a whole number. */
static int word_of(SEXP x, char *number, drv_str *out) {
  if (x == R_NilValue) return 1;
  if (TYPEOF(x) != INTSXP && TYPEOF(x) != REALSXP) return text_of(x, out);
  if (OBJECT(x) || XLENGTH(x) != 1) return 0;
  double value = Rf_asReal(x);
  if (!(fabs(value) < LARGEST) || value != trunc(value)) return 0;
  /* no "-0" */
  snprintf(number, NUMBER, "%.0f", value == 0 ? 0 : value);
  *out = (drv_str){number, strlen(number)};
  return 1;
}

SEXP drv_call_event_text(SEXP event) {
  if (TYPEOF(event) != VECSXP || OBJECT(event)) return R_NilValue;
  drv_sse fields = {NA_TEXT, NA_TEXT, NA_TEXT, NA_TEXT, NA_TEXT};
  char numbers[3][NUMBER];
  SEXP comment = drv_first(event, "comment"), data = drv_first(event, "data");
  const void *before = vmaxget();
  int usual = (comment == R_NilValue || text_of(comment, &fields.comment)) &&
              word_of(drv_first(event, "event"), numbers[0], &fields.event) &&
              word_of(drv_first(event, "id"), numbers[1], &fields.id) &&
              word_of(drv_first(event, "retry"), numbers[2], &fields.retry);
  /* what is no string becomes JSON */
  if (usual && data != R_NilValue && TYPEOF(data) != STRSXP) data = drv_call_package("plain_json", data);
  PROTECT(data);
  if (usual && (data == R_NilValue || text_of(data, &fields.data))) {
    drv_str text = drv_sse_text(&fields);
    UNPROTECT(1);
    vmaxset(before);
    return text.ptr ? Rf_ScalarString(drv_mkchar(text)) : R_NilValue;
  }
  UNPROTECT(1);
  vmaxset(before);
  return R_NilValue;
}

static double now(void) { return (double)drv_now_ms() / 1000; }

SEXP drv_event_clock(void) { return Rf_ScalarReal(now()); }

SEXP drv_event_chunk(SEXP event, SEXP said, SEXP heartbeat, SEXP is_due) {
  static SEXP heart = NULL, names, names_at_end;
  if (TYPEOF(event) != VECSXP) return R_NilValue;
  if (XLENGTH(event) && Rf_getAttrib(event, R_NamesSymbol) == R_NilValue) return R_NilValue;
  static const char *const known[] = {"data", "event", "id", "retry", "comment", "state", "done", "trailers", NULL};
  if (!drv_has_only(event, known)) drv_call_package("stop_event_field", event);
  if (!heart) {
    const char *fields[] = {"chunk", "state", "done", ""}, *all[] = {"chunk", "state", "done", "trailers", ""};
    names = drv_constant(Rf_getAttrib(PROTECT(Rf_mkNamed(VECSXP, fields)), R_NamesSymbol));
    names_at_end = drv_constant(Rf_getAttrib(PROTECT(Rf_mkNamed(VECSXP, all)), R_NamesSymbol));
    UNPROTECT(2);
    heart = drv_constant(Rf_mkString(":\n\n"));
  }
  SEXP text = drv_call_event_text(event);
  if (text == R_NilValue) text = drv_call_package("event_text_slowly", event);
  PROTECT(text);
  int is_empty = !LENGTH(STRING_ELT(text, 0));
  double pause = Rf_asReal(heartbeat);
  /* times of calls are not exact */
  int beats = is_empty && pause > 0 && (!Rf_asLogical(is_due) || now() - REAL(said)[0] >= pause);
  if (beats || (!is_empty && pause > 0)) REAL(said)[0] = now();
  SEXP trailers = drv_first(event, "trailers");
  int has_trailers = trailers != R_NilValue;
  SEXP out = PROTECT(Rf_allocVector(VECSXP, has_trailers ? 4 : 3));
  SET_VECTOR_ELT(out, 0, beats ? heart : text);
  SET_VECTOR_ELT(out, 1, drv_first(event, "state"));
  SET_VECTOR_ELT(out, 2, drv_first(event, "done"));
  if (has_trailers) SET_VECTOR_ELT(out, 3, trailers);
  Rf_setAttrib(out, R_NamesSymbol, has_trailers ? names_at_end : names);
  UNPROTECT(2);
  return out;
}
