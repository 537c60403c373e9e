#ifndef DROVER_NATIVES_H
#define DROVER_NATIVES_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: the function that `package` has registered as `callable`, as an external pointer; or, as a string, why there is none. */
SEXP drv_natives_resolve(SEXP package, SEXP callable);

#endif
