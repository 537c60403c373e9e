/* Tasks of dr_async(): what R wants another worker to run. What is run, and what comes of it, are requests like others.
 * Neighbours: R/async-tasks.R, rust/crates/binding/src/tasks.rs. */
#include "tasks.h"
#include "drover_rust.h"
#include "request.h"
#include "state.h"

SEXP drv_tasks_say(SEXP cell, SEXP timeout, SEXP call) {
  drv_link *link = drv_here.link;
  if (!link) return Rf_ScalarReal(0);
  if (drv_here.is_stray) Rf_error("a fork of a worker cannot reach its server: leave it to the worker");
  const drv_cell *of = TYPEOF(cell) == EXTPTRSXP ? drv_request_cell(cell) : NULL;
  drv_str bytes = {(const char *)RAW(call), (size_t)XLENGTH(call)};
  return Rf_ScalarReal(drv_task_say(link, of, Rf_asReal(timeout), bytes));
}
