#ifndef DROVER_CONSOLE_H
#define DROVER_CONSOLE_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: servers that are started from now on log to R's console. 'later' has to be loaded. */
SEXP drv_console_open(void);
/* Writes what waits. */
void drv_console_flush(void);

#endif
