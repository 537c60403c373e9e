#ifndef DROVER_PACKED_FILES_H
#define DROVER_PACKED_FILES_H
#define R_NO_REMAP
#include <Rinternals.h>

SEXP drv_packed_files_make(SEXP from, SEXP encoding, SEXP to);

#endif
