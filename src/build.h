#ifndef DROVER_BUILD_H
#define DROVER_BUILD_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* The CHARSXP of a string, marked UTF-8; NA_STRING where ptr is NULL. */
SEXP drv_mkchar(drv_str s);
/* list(status, message) of why something could not be started. Not protected. */
SEXP drv_start_error(const drv_error *error);
/* What the attribute tzone of DRV_TIME_LOCAL is from now on. */
void drv_set_local_zone(SEXP zone);
/* The R value that `node` describes. The result is not protected. */
SEXP drv_build(const drv_node *node);

#endif
