#ifndef DROVER_TLS_H
#define DROVER_TLS_H
#define R_NO_REMAP
#include <Rinternals.h>

SEXP drv_tls_make(SEXP folder);

#endif
