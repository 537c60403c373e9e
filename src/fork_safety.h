#ifndef DROVER_FORK_SAFETY_H
#define DROVER_FORK_SAFETY_H
#define R_NO_REMAP
#include <Rinternals.h>

SEXP drv_fork_safety_watch(void);
SEXP drv_fork_safety_came_from(SEXP place);
SEXP drv_fork_safety_found(void);
SEXP drv_fork_safety_before_serving(void);

#endif
