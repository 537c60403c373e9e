#ifndef DROVER_NATIVES_H
#define DROVER_NATIVES_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: the function that a package registered, as an external pointer; otherwise a string, why there is none. */
SEXP drv_natives_resolve(SEXP package, SEXP callable);

/* The C handlers of the list that natives_for_engine() made, for the engine. The descriptions live as long as the
 * .Call; what they point at is the list's: it is kept for as long as a handler may run. */
drv_natives drv_natives_of(SEXP handlers);

#endif
