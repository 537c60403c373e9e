#ifndef DROVER_TITLE_H
#define DROVER_TITLE_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: what ps shows of this process from now on, cut where there is no room for more. */
SEXP drv_title(SEXP text);

#endif
