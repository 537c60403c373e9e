#ifndef DROVER_OPENED_H
#define DROVER_OPENED_H
#define R_NO_REMAP
#include <Rinternals.h>

/* The descriptor that goes with the path `file`, part of a response of dr_file(); -1 when it has none (any more).
 * Neither allocates nor jumps. */
int drv_opened_descriptor(SEXP file);

/* Whether a pointer is one of these: another process does without it, and goes by the path. */
int drv_opened_is(SEXP pointer);

/* What `response` named has been sent: this process needs the file no longer. */
void drv_opened_close(SEXP response);

/* .Call entries */
SEXP drv_call_opened_open(SEXP path, SEXP remove);
SEXP drv_call_opened_descriptor(SEXP file);

#endif
