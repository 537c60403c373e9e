#ifndef DROVER_SIGNALS_H
#define DROVER_SIGNALS_H
#define R_NO_REMAP
#include <Rinternals.h>

/* Whether a signal has come that was not taken yet. */
int drv_signals_waiting(void);
/* Whether one is among them after which the server, or the app that it has, is to end. */
int drv_signals_end(void);
/* SIGTERM and SIGQUIT are noted from now on, and ring `bell`, the descriptor of an eventfd. For good: in a worker
 * process. */
void drv_signals_of_worker(int bell);

/* All four are noted from now on, and ring this bell, or -1. Where they are noted already, they ring another one. */
void drv_signals_catch(int bell);
void drv_signals_ring(int bell);

/* In the child of any fork: signals mean there what they would without us. */
void drv_signals_on_fork(void);

/* Threads that are started between these two get no signals: R's handlers are for R's thread. That of SIGPIPE, which
 * writing to a client that has gone may raise, would signal an R error on any. */
void drv_signals_hold(void);
void drv_signals_let_go(void);

SEXP drv_signals_release(void);
SEXP drv_signals_take(void);

#endif
