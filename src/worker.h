#ifndef DROVER_WORKER_H
#define DROVER_WORKER_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* The namespace of the package. */
SEXP drv_namespace(void);
/* Where this process takes requests, or NULL. */
drv_desk *drv_worker_desk(void);
/* Whether a handler runs; whether this process serves requests or callbacks, and is not a fork of the one that does. */
int drv_worker_in_handler(void);
int drv_worker_is_serving(void);
/* Parses a body within the limits of the server. A malformed one is a condition with status 400. */
SEXP drv_worker_parse_json(const uint8_t *body, size_t len);
/* Signals the condition of a part of a request that cannot be read. */
void drv_stop_field(int status, drv_str message);

SEXP drv_worker_start(SEXP json, SEXP scope, SEXP names, SEXP limits);
SEXP drv_worker_guarded(SEXP guard, SEXP mode);
SEXP drv_worker_run(SEXP mode);
SEXP drv_worker_fail(SEXP status, SEXP detail, SEXP headers);
SEXP drv_worker_answer(SEXP value);
SEXP drv_worker_settle(SEXP cell, SEXP value);
SEXP drv_worker_settle_failure(SEXP cell, SEXP status, SEXP detail, SEXP headers);
SEXP drv_worker_log(SEXP level, SEXP text, SEXP cell);
SEXP drv_worker_state(void);
SEXP drv_worker_drain(void);
SEXP drv_worker_stop(void);
SEXP drv_pattern(SEXP text);

#endif
