#ifndef DROVER_TASKS_H
#define DROVER_TASKS_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: has another worker run `call`, a raw vector, for the request of `cell`, or for none when that is NULL, within
 * `timeout` milliseconds, 0 for no limit of its own. Its number; 0 when no server is there, -1 when it is too long, -2
 * when the request has its answer. */
SEXP drv_tasks_say(SEXP cell, SEXP timeout, SEXP call);

#endif
