#ifndef DROVER_PLAIN_ENDPOINT_H
#define DROVER_PLAIN_ENDPOINT_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: the answer of an endpoint of plumber whose handler takes no arguments, to a request for just its address: a
 * response, or a list of one with the handler's value when R has to make the response. NULL, and nothing was called,
 * when the request, or what plumber's options ask for, is not as simple. `endpoint`: see R/plumber-fast.R. */
SEXP drv_plain_endpoint(SEXP req, SEXP endpoint);
/* The same for the worker, which need not call R for it: a response, or what R makes of the handler's value; NULL when
 * nothing was called. Not protected. */
SEXP drv_plain_endpoint_whole(SEXP req, SEXP endpoint);

#endif
