#ifndef DROVER_WORKER_H
#define DROVER_WORKER_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* The namespace of the package. */
SEXP drv_namespace(void);
/* Calls a function of the package with one value. */
SEXP drv_call_package(const char *name, SEXP argument);
/* A single string's text, empty when it is none. Lives as long as the .Call. */
drv_str drv_text(SEXP string);
/* All of a character vector, until the call from R returns. */
const drv_str *drv_texts(SEXP strings);

/* Where this process takes requests, or NULL. */
drv_link *drv_worker_link(void);
/* Serves from `link` on, which drv_worker_close() frees; the handlers are those given last. */
void drv_worker_open(drv_link *link);
void drv_worker_close(void);
void drv_worker_forget_app(void);
/* Nothing new is taken. */
void drv_worker_stop(void);
/* In the child of any fork; and in one that was forked to be a worker or a zygote. */
void drv_worker_on_fork(void);
void drv_worker_is_meant(void);

/* Whether a handler runs; whether this process serves requests or callbacks, and is not a fork of the one that does. */
int drv_worker_in_handler(void);
/* The handler that runs asks at the console, as browser() does, and whether it has. */
void drv_worker_asks(void);
int drv_worker_has_asked(void);
/* Whether the loop has been called from R's prompt, which waits beneath. */
int drv_worker_is_idle(void);
/* Whether R's reader is to find nothing. */
int drv_worker_forgets_answers(void);
int drv_worker_is_serving(void);
/* Whether it is a fork that a handler has made, which is nobody's worker. */
int drv_worker_is_forked(void);
int drv_worker_is_waiting_for_promises(void);

/* Around the call of a stream's generator: streams.c. */
void drv_worker_begins_stream(void);
void drv_worker_ended_stream(void);

/* Sleeps until the bell rings or another descriptor, `control` or one that R waits for, is readable: then 1.
 * `stdin_too`: the console counts as well. Descriptors of -1 are none. poll(), as R's own select() knows no descriptor
 * from 1024 on. */
int drv_wait_for(int bell, int control, int timeout_ms, int stdin_too);
void drv_run_input_handlers(void);

/* Parses a body within the limits of the server. A malformed one is a condition with status 400. */
SEXP drv_worker_parse_json(const uint8_t *body, size_t len);
/* Signals the condition of a part of a request that cannot be read. */
void drv_stop_field(int status, drv_str message);

SEXP drv_worker_app(SEXP scope, SEXP names, SEXP limits);
SEXP drv_worker_guarded(SEXP guard, SEXP mode);
SEXP drv_worker_run(SEXP mode);
SEXP drv_worker_answer(SEXP value);
SEXP drv_worker_answer_in_frame(SEXP cell, SEXP value);
SEXP drv_worker_settle(SEXP cell, SEXP value);
SEXP drv_worker_leaves_callbacks(SEXP left);
SEXP drv_worker_log(SEXP level, SEXP text, SEXP cell);

/* A line that R has printed, for the log: of the request whose handler runs, if one does. */
void drv_worker_log_printed(drv_str text, int to_stderr);
SEXP drv_worker_state(void);
/* What a status is called. */
SEXP drv_phrase(SEXP status);

#endif
