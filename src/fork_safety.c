/* What this process holds that its forks must not share: connections to databases, children, threads. Neighbours:
 * rust/crates/fork_safety (which finds it), threads.c, zygote.c (which forks), R/worker-fork-safety.R. */
#include "fork_safety.h"
#include "build.h"
#include "drover_rust.h"
#include "r.h"
#include "threads.h"

/* .Call: what is there already does not count. */
SEXP drv_fork_safety_watch(void) {
  drv_held_watch();
  return R_NilValue;
}

/* .Call: what is new since the last call came from `place`, a string such as "app.R, line 3". */
SEXP drv_fork_safety_came_from(SEXP place) {
  drv_held_came_from(drv_text(place));
  return R_NilValue;
}

/* .Call: what it is, in words, which is remembered for drv_held_drop(); "" for nothing. */
SEXP drv_fork_safety_found(void) {
  drv_threads_settle();
  drv_error answer;
  drv_held_found(&answer);
  return Rf_ScalarString(drv_mkchar(answer.message));
}

/* .Call: what is open now is the session's, and stays open in zygotes; what is opened later may be the server's. */
SEXP drv_fork_safety_before_serving(void) {
  drv_held_before_serving();
  return R_NilValue;
}
