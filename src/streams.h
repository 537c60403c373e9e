#ifndef DROVER_STREAMS_H
#define DROVER_STREAMS_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* The message made last is the head of a stream: begins it, with the generator that `response` has, for the request of
 * `cell`. */
void drv_streams_open(drv_link *link, SEXP cell, SEXP response);
/* Calls the generator that is due, if there is one: 1 when it was. `link` may be NULL. */
int drv_streams_call(drv_link *link);
/* Milliseconds until a generator is due, at most `longest`. */
int drv_streams_due_in(drv_link *link, int longest);
/* Whether streams are open. Those without an end of their own are to end; with `all`, each. */
int drv_streams_are_open(const drv_link *link);
void drv_streams_end_early(drv_link *link, int all);
/* The link they belong to is gone. */
void drv_streams_forget(void);

/* .Call: the generator that ran has failed, with this for the log: its stream is broken off. FALSE when none ran. */
SEXP drv_streams_failed(SEXP text);
/* .Call: the generator that runs writes this, a string, a raw vector or a list, and waits until its client has taken
 * enough. FALSE when the stream takes no more. */
SEXP drv_streams_write(SEXP chunk);
/* .Call: whether a generator runs; has all streams end, and whether any is still open. */
SEXP drv_streams_state(void);
SEXP drv_streams_end(void);

#endif
