/* A process that serves looks at itself: it samples R's stack, or measures what its memory holds. Here is when that
 * begins and ends, which is between requests, and what is counted meanwhile; R/worker-inspection.R does it. Neighbours:
 * worker.c (the loop), process.c (which hears what the server wants). */
#include "inspection.h"
#include "clock.h"
#include "r.h"
#include <stdio.h>
#include <stdlib.h>

int drv_inspection_samples = 0;

static struct {
  uint32_t asked[4];
  int waits;     /* `asked` has not been attended to */
  int64_t until; /* when what is under way is over, in ms of the monotonic clock; 0 when nothing is */
  SEXP answers;
  uint32_t handlers;
  double *requests, *seconds; /* of each handler */
} s;

void drv_inspection_ran(uint32_t handler, uint64_t ns) {
  if (handler == 0 || handler > s.handlers) return;
  s.requests[handler - 1]++;
  s.seconds[handler - 1] += (double)ns / 1e9;
}

SEXP drv_inspection_answers(void) { return s.answers; }

void drv_inspection_asked(const uint32_t asked[4]) {
  for (int i = 0; i < 4; i++) s.asked[i] = asked[i];
  s.waits = 1;
}

int drv_inspection_due_in(int longest) {
  if (s.waits) return 0;
  if (!s.until) return longest;
  int64_t left = s.until - drv_now_ms();
  return left < 0 ? 0 : left < longest ? (int)left : longest;
}

void drv_inspection_attend(void) {
  if (s.until && drv_now_ms() >= s.until) {
    s.until = 0;
    drv_call_package("inspection_over", R_NilValue);
  }
  if (!s.waits) return;
  s.waits = 0;
  SEXP asked = PROTECT(Rf_allocVector(REALSXP, 4));
  for (int i = 0; i < 4; i++) REAL(asked)[i] = s.asked[i];
  drv_call_package("inspect", asked);
  UNPROTECT(1);
}

/* ---- .Call ---------------------------------------------------------------------------------------------------- */

static void forget(void) {
  drv_inspection_samples = 0;
  if (s.answers) R_ReleaseObject(s.answers);
  s.answers = NULL;
  free(s.requests);
  s.requests = s.seconds = NULL;
  s.handlers = 0;
}

/* From now on handlers are counted, and answer by `answers`. */
SEXP drv_inspection_begin(SEXP answers, SEXP handlers) {
  forget();
  int n = Rf_asInteger(handlers);
  s.requests = calloc(2 * (size_t)n + 1, sizeof(double));
  if (!s.requests) Rf_error("there is no memory left");
  s.seconds = s.requests + n;
  s.handlers = (uint32_t)n;
  R_PreserveObject(s.answers = answers);
  drv_inspection_samples = 1;
  return R_NilValue;
}

/* Until now: list(requests, seconds), a number for each handler. */
SEXP drv_inspection_end(void) {
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 2));
  const double *of[] = {s.requests, s.seconds};
  for (int i = 0; i < 2; i++) {
    SEXP numbers = SET_VECTOR_ELT(out, i, Rf_allocVector(REALSXP, s.handlers));
    for (uint32_t k = 0; k < s.handlers; k++) REAL(numbers)[k] = of[i][k];
  }
  forget();
  UNPROTECT(1);
  return out;
}

/* Has inspection_over() called once `seconds` have passed. */
SEXP drv_inspection_until(SEXP seconds) {
  s.until = drv_now_ms() + (int64_t)(1000 * Rf_asReal(seconds));
  return R_NilValue;
}

/* The value of a variable, in a list, if no code has to run for it; otherwise NULL. */
SEXP drv_inspection_settled(SEXP env, SEXP name) {
  SEXP symbol = Rf_installTrChar(STRING_ELT(name, 0));
  if (R_BindingIsActive(symbol, env)) return R_NilValue;
  SEXP value = Rf_findVarInFrame(env, symbol);
  if (TYPEOF(value) == PROMSXP) value = PRVALUE(value);
  if (value == R_UnboundValue || value == R_MissingArg) return R_NilValue;
  PROTECT(value);
  SEXP out = Rf_allocVector(VECSXP, 1);
  SET_VECTOR_ELT(out, 0, value);
  UNPROTECT(1);
  return out;
}

/* Names a value for as long as it lives. */
SEXP drv_inspection_address(SEXP value) {
  char text[32];
  snprintf(text, sizeof text, "%p", (void *)value);
  return Rf_mkString(text);
}
