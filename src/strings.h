#ifndef DROVER_STRINGS_H
#define DROVER_STRINGS_H

#include "drover_rust.h"
#include <Rinternals.h>

/* drv_build() of what a client sent, after garbage was collected if that makes it faster. */
SEXP drv_build_strings(const drv_node *root);

#endif
