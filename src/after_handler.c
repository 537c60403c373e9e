/* What is to be done around each call of a handler, or of a stream's generator: what it must not leave to the next one,
 * or to the session. Neighbours: worker.c and streams.c, which call them; hygiene.c, which sees what is left;
 * R/worker-hygiene.R, which puts it right. */
#include "after_handler.h"
#include "hygiene.h"
#include "process.h"
#include "r.h"
#include "state.h"
#include <R_ext/eventloop.h>

/* A handler that takes less is not looked at in full: what it left changed is seen when no request waits, and after
 * some requests. Next to nothing that matters can be done to a session in this time. */
#define QUICK_NS 10000

void drv_before_call(void) {
  drv_here.asks = 0;
  drv_process_begins();
}

void drv_only_parent(void) {
  if (drv_here.is_stray) drv_here_leave(0);
}

/* The prompt beneath, which waited while the handler asked, must not take what the handler was answered for its own: R
 * keeps the line that ended browser() until its reader begins again, and that there was input until it looks again. */
void drv_forget_answers(void) {
  if (!drv_here.asks) return;
  drv_here.asks = 0;
  drv_here.forgets = 1;
  drv_call_package("begin_reading_again", R_NilValue);
  drv_here.forgets = 0;
  R_checkActivity(0, 1);
}

static void repair(void) {
  /* what was replied must not wait for it */
  drv_link_notify(drv_here.link);
  SEXP awaiting = PROTECT(Rf_ScalarLogical(drv_here.awaiting > 0));
  drv_call_package("repair_session", awaiting);
  UNPROTECT(1);
  drv_hygiene_note();
}

void drv_after_call(uint64_t took_ns) {
  int quick = took_ns < QUICK_NS;
  drv_here.unseen = quick;
  drv_process_handled(quick);
  if (quick ? drv_hygiene_options_changed() : drv_hygiene_is_disturbed()) repair();
}

void drv_after_quick(void) {
  if (!drv_here.unseen) return;
  drv_here.unseen = 0;
  if (drv_hygiene_is_disturbed()) repair();
}
