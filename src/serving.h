#ifndef DROVER_SERVING_H
#define DROVER_SERVING_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* The handlers of the app: `calls`, a list, the call `name`(req) of each; `plain`, a list, its attribute `plain`, see
 * plain_endpoint.h, or NULL; `scope`, an environment with those names, and `req`. And the request object in use, `req`,
 * or NULL, which is kept by `scope`; its cell, kept by `req`. */
struct drv_app {
  SEXP calls, plain, scope, req, cell;
};
extern struct drv_app drv_app;

/* Serves from `link` on, which drv_serving_close() frees; the handlers are those given last. */
void drv_serving_open(drv_link *link);
void drv_serving_close(void);
void drv_serving_forget_app(void);

/* The cell of the request in use, or NULL. A handler can reach `scope`, as its parent.frame(), and take `req` out of
 * it: then the object may be gone, and is not touched. */
SEXP drv_serving_cell(void);
/* Provides a request object that no R code holds: the one in use, if possible, or a new one. */
void drv_serving_ensure_request(void);

SEXP drv_serving_app(SEXP scope, SEXP names, SEXP limits);

#endif
