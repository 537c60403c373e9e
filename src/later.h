#ifndef DROVER_LATER_H
#define DROVER_LATER_H
#define R_NO_REMAP
#include <Rinternals.h>

/* Has 'later' call `f` on the main thread after `seconds`, when R is at top level or in later::run_now(). From any
 * thread. Nothing happens while 'later' is not loaded. */
void drv_call_later(void (*f)(void *), double seconds);
/* Around a fork: no other thread is inside 'later' then, whose locks the child would find taken. */
void drv_later_lock(void);
void drv_later_unlock(void);

SEXP drv_later_loaded(void);

#endif
