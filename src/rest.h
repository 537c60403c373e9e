#ifndef DROVER_REST_H
#define DROVER_REST_H
#include <stdint.h>
#define R_NO_REMAP
#include <Rinternals.h>

/* What this process has in memory now is what it is to come back to. */
void drv_rest_note(void);
/* A handler has run, or something else of R. */
void drv_rest_is_over(void);
/* Nothing is to be done, at this time of the monotonic clock. Whether that is so for long enough: then drv_rest() is
 * called, once. */
int drv_rest_begins(int64_t now_ns);
/* Milliseconds until that is so, at most `longest`. */
int drv_rest_due_in(int longest);
/* Gives back what was needed for a while. May run finalizers. */
void drv_rest(void);
/* .Call: full collections are left to R from now on, in a process of which there are many: each would have all of what
 * it shares with its zygote to itself after one, and many would collect at a time. */
SEXP drv_rest_lightly(void);

#endif
