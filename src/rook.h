#ifndef DROVER_ROOK_H
#define DROVER_ROOK_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: the environment of a Rook request, see R/rook-request.R. */
SEXP drv_rook_request(SEXP req, SEXP depth, SEXP constants, SEXP no_input);
/* .Call: list(path, query, before, rest) of what was asked for, and where an app is mounted. */
SEXP drv_rook_target(SEXP url, SEXP depth);
/* .Call: list(name, port) of a `Host`. */
SEXP drv_rook_host(SEXP host);
/* .Call: the response of what a Rook app usually answers, NULL for anything else. */
SEXP drv_rook_response(SEXP value);
/* .Call, of R/load-rook.R: the status of a start of the web server of R, 0. */
SEXP drv_no_httpd(SEXP host, SEXP port);

#endif
