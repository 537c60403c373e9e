#ifndef DROVER_SHARED_STATE_H
#define DROVER_SHARED_STATE_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call entries */
SEXP drv_call_state_add(SEXP name, SEXP key, SEXP by, SEXP lifetime);
SEXP drv_call_state_delete(SEXP name, SEXP key);
SEXP drv_call_state_get(SEXP name, SEXP key);
SEXP drv_call_state_keys(SEXP name);
SEXP drv_call_state_set(SEXP name, SEXP key, SEXP value, SEXP lifetime, SEXP version);

#endif
