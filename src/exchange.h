#ifndef DROVER_EXCHANGE_H
#define DROVER_EXCHANGE_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: sends a request, a raw vector, over the socket at a path. An external pointer, or why that cannot be. */
SEXP drv_call_exchange_begin(SEXP path, SEXP request);
/* .Call: goes on with it. What has come, a raw vector, when that is all or is to be `enough`; NULL otherwise. */
SEXP drv_call_exchange_go_on(SEXP exchange, SEXP enough);

#endif
