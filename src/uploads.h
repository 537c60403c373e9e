#ifndef DROVER_UPLOADS_H
#define DROVER_UPLOADS_H
#define R_NO_REMAP
#include <Rinternals.h>

SEXP drv_uploads_make(SEXP beneath);
SEXP drv_uploads_remove(void);

#endif
