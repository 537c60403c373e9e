#ifndef DROVER_SERVICE_H
#define DROVER_SERVICE_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* The server of this session whose workers are processes, or NULL. */
const drv_service *drv_service_here(void);
/* In a fork of the session: the service is its parent's. */
void drv_service_is_not_ours(void);

SEXP drv_service_open(SEXP settings, SEXP options, SEXP source);
SEXP drv_service_go_idle(void);
SEXP drv_service_catch_signals(void);
SEXP drv_service_reopen_log(void);
SEXP drv_service_running(void);
SEXP drv_service_wait(SEXP timeout);
SEXP drv_service_news(void);
SEXP drv_service_workers(void);
SEXP drv_service_failed(SEXP id);
SEXP drv_service_jobs(SEXP state, SEXP kind, SEXP most);
SEXP drv_service_renew(SEXP source, SEXP adopt);
SEXP drv_service_scale(SEXP n_min, SEXP n_max, SEXP pool);
SEXP drv_service_end(SEXP graceful_timeout);
SEXP drv_service_close(void);

#endif
