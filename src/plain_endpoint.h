#ifndef DROVER_PLAIN_ENDPOINT_H
#define DROVER_PLAIN_ENDPOINT_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: whether plumber's own way is the only one now, by its options and those of R. `private`: what a router knows;
 * `engine`: that of R/state.R. */
SEXP drv_plumber_is_hindered(SEXP private, SEXP engine);

/* .Call: an endpoint whose handler takes no arguments, for the functions below: its verb and whole address; `call`, to
 * be evaluated in `envir`; `private` and `engine` as above; `working`, of R/state.R, and whether the handler is for a
 * folder; the number of its writer and the type of what that makes, see R/plumber-serializers.R; and
 * answer(req, value), for values that R has to write. */
SEXP drv_plain_endpoint_new(SEXP verb, SEXP address, SEXP call, SEXP envir, SEXP private, SEXP engine, SEXP working,
                            SEXP has_folder, SEXP writer, SEXP type, SEXP answer);
/* .Call: its answer to a request for just its address: a response, or a list of one with the handler's value when R has
 * to make the response. NULL, and nothing was called, when the request, or what plumber's options ask for, is not as
 * simple. */
SEXP drv_plain_endpoint(SEXP req, SEXP endpoint);
/* The same for the worker, which need not call R for it: a response, or what R makes of the handler's value; NULL when
 * nothing was called. Not protected. */
SEXP drv_plain_endpoint_whole(SEXP req, SEXP endpoint);

#endif
