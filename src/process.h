#ifndef DROVER_PROCESS_H
#define DROVER_PROCESS_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* This process is a worker from now on, whose main thread sleeps on `bell`. */
void drv_process_enter(drv_process *process, int bell);
/* From now on, or no longer, the end of this channel is the end of this process and all that it has started. */
void drv_process_hold(int channel);
void drv_process_let_go(int channel);
/* In the child of any fork: a worker's child is none. */
void drv_process_on_fork(void);
/* What the loop of worker.c asks of a worker process. In a session they do nothing, or wait as long as they are
 * told. */
void drv_process_is_last(void);               /* the server ends with this process */
int drv_process_c_is_through(void);           /* no C handler runs, or it does not matter */
int drv_process_receive(void);                /* reads it: 1 when this worker is to stop */
void drv_process_begins(void);                /* a handler is about to run: it can be interrupted */
void drv_process_is_between(void);            /* no handler runs: nothing can be */
void drv_process_handled(int quick);          /* one has run */
/* no handler runs: R looks for what else there is, a time limit that is over */
void drv_process_check_events(void);
int drv_process_callbacks_due_in(int longest); /* ms until a callback of 'later' is due */
int drv_process_patience(int longest);        /* ms to sleep */
int drv_process_patience_is_over(int longest); /* having slept so long: whether anything is due */

SEXP drv_process_ready(SEXP natives);
SEXP drv_process_failed(SEXP why);
SEXP drv_process_reports(SEXP number, SEXP text, SEXP failed);
SEXP drv_process_ends_server(void);
SEXP drv_process_state(void);

#endif
