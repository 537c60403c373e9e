#ifndef DROVER_LEAVE_H
#define DROVER_LEAVE_H
#define R_NO_REMAP
#include <Rinternals.h>

SEXP drv_leave_when_waiting(SEXP fun);

#endif
