#ifndef DROVER_EVENTS_H
#define DROVER_EVENTS_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: the text of a Server-Sent Event, a list of fields; NULL when R has to look at them. */
SEXP drv_call_event_text(SEXP event);
/* .Call: the chunk for what a generator of events returned; NULL when that is no list with names. `said`: seconds, of
 * when the stream said something last, which is changed in place; `is_due`: FALSE between two events. */
SEXP drv_event_chunk(SEXP event, SEXP said, SEXP heartbeat, SEXP is_due);
/* .Call: now, for `said`. */
SEXP drv_event_clock(void);

#endif
