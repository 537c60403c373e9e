/* What R wants the server to do, from a handler or from the session that serves. Neighbours: websockets.c and jobs.c,
 * which say most of it; R/policy-cache.R; rust/crates/binding/src/commands.rs. */
#include "commands.h"
#include "build.h"
#include "clock.h"
#include "r.h"
#include "service.h"
#include "session.h"
#include "state.h"
#include "strings.h"
#include <poll.h>

/* How long the answer of the server is waited for: it is there at once, unless that has gone, or waits for a disk. */
#define ANSWER_MS 10000

void drv_refuse(const char *argument, SEXP value) {
  SEXP both = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(both, 0, Rf_mkString(argument));
  SET_VECTOR_ELT(both, 1, value);
  drv_call_package("refuse_ws_argument", both);
  Rf_error("unreachable");
}

/* Has something done. What the server answers, if it does, is the result: list(numbers, texts). */
SEXP drv_say(const drv_command *command) {
  drv_link *link = drv_here.link;
  if (link && drv_here.is_stray) Rf_error("a fork of a worker cannot reach its server: leave it to the worker");
  int said = drv_command_send(link, link ? NULL : drv_service_here(), command);
  if (said < 0) drv_refuse("msg", R_NilValue);
  if (!said) drv_call_package("stop_no_server", R_NilValue);
  if (said == 1) return R_NilValue;
  int64_t until = drv_now_ms() + ANSWER_MS;
  const drv_node *answer = NULL;
  while ((link = drv_here.link, answer = drv_command_answer(link)) == NULL && link && drv_now_ms() < until) {
    drv_here.polls = 1;
    if (!drv_stream_doze(link)) continue;
    struct pollfd bell = {drv_link_bell(link), POLLIN, 0};
    poll(&bell, 1, 1000);
    drv_link_awake(link);
  }
  SEXP value = PROTECT(answer ? drv_build_strings(answer) : R_NilValue);
  drv_session_polled();
  if (!answer) drv_call_package("stop_no_answer", R_NilValue);
  UNPROTECT(1);
  return value;
}

/* The number that is the answer. */
SEXP drv_count_of(SEXP answer) {
  SEXP numbers = VECTOR_ELT(answer, 0);
  return Rf_ScalarInteger(XLENGTH(numbers) ? (int)REAL(numbers)[0] : 0);
}

/* Responses that the server keeps: R/policy-cache.R has checked what is asked. */
SEXP drv_cache_purge(SEXP by, SEXP text) {
  const void *before = vmaxget();
  drv_command command = {.kind = DRV_PURGE, .small = Rf_asInteger(by), .room = drv_text(text)};
  SEXP count = drv_count_of(PROTECT(drv_say(&command)));
  vmaxset(before);
  UNPROTECT(1);
  return count;
}
