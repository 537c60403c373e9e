#ifndef DROVER_SESSION_H
#define DROVER_SESSION_H
#include "drover_rust.h"
#include <stdint.h>
#define R_NO_REMAP
#include <Rinternals.h>

/* The main thread does not sleep in poll() any more, while the session is idle: has the loop called for what came
 * meanwhile. */
void drv_session_polled(void);
/* Whether no client waits for an answer: this session's own server has no connections left or, in a worker process, no
 * promise, stream or C handler is pending. */
int drv_session_is_drained(void);

/* The server of this session that has it as its worker, or NULL. */
const drv_session *drv_session_here(void);
/* The session as the worker of its own server, or NULL: a data frame of one row. */
const drv_node *drv_session_worker(void);

/* A handler has returned: an interrupt of the server's that R has not heeded is forgotten. */
void drv_session_handled(void);
/* Streams may be due while the session is idle, or its rest: has the loop called in time. */
void drv_session_minds_time(void);

SEXP drv_session_interrupted(void);
SEXP drv_session_catch_signals(void);
/* .Call: has a log file opened again, if this session has a server of its own. */
SEXP drv_session_reopen_log(void);
SEXP drv_session_open(SEXP json, SEXP handlers);
SEXP drv_session_go_idle(void);
/* .Call, in this order: requests from now on are for another app, and wait (NULL, or list(kind, message)); whether the
 * one before has nothing left to do; its link and app are forgotten, and requests come to the link of the new one. */
SEXP drv_session_renew_app(SEXP json, SEXP handlers);
SEXP drv_session_renewed(SEXP force);
SEXP drv_session_forget(void);
SEXP drv_session_reopen(void);
SEXP drv_session_begin_leave(void);
SEXP drv_session_begin_drain(void);
SEXP drv_session_close(void);

#endif
