#ifndef DROVER_WORKER_H
#define DROVER_WORKER_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

SEXP drv_worker_guarded(SEXP guard, SEXP mode);
SEXP drv_worker_run(SEXP mode);
SEXP drv_worker_answer(SEXP value);
SEXP drv_worker_answer_in_frame(SEXP cell, SEXP value);
SEXP drv_worker_settle(SEXP cell, SEXP value);
SEXP drv_worker_leaves_callbacks(SEXP left);
SEXP drv_worker_params(SEXP req);
SEXP drv_worker_take_along(SEXP most);
SEXP drv_worker_log(SEXP level, SEXP text, SEXP cell);

/* A line that R has printed, for the log: of the request whose handler runs, if one does. */
void drv_worker_log_printed(drv_str text, int to_stderr);
SEXP drv_worker_state(void);

#endif
