#ifndef DROVER_TYPED_H
#define DROVER_TYPED_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: what a handler takes of a request, in a list with the names of `getters`: R/typed-handler.R. */
SEXP drv_typed_values(SEXP getters, SEXP req);
/* .Call: an object of JSON with its members in the order and of the types of `fields`: R/typed-values.R. */
SEXP drv_typed_object(SEXP fields, SEXP x);

#endif
