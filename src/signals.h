#ifndef DROVER_SIGNALS_H
#define DROVER_SIGNALS_H
#define R_NO_REMAP
#include <Rinternals.h>

/* Whether SIGTERM or SIGHUP has come and was not taken yet. */
int drv_signals_waiting(void);
/* SIGTERM is noted from now on, and rings `bell`, a descriptor of an eventfd; SIGHUP too or not at all. For good: in a process that is not a
 * user's session. */
void drv_signals_of_worker(int bell);

SEXP drv_signals_catch(void);
SEXP drv_signals_release(void);
SEXP drv_signals_take(void);

#endif
