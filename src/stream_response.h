#ifndef DROVER_STREAM_RESPONSE_H
#define DROVER_STREAM_RESPONSE_H
#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: the responses of dr_stream() and dr_stream_sse(), of their calls, themselves and their arguments; NULL when R
 * has to look at these. */
SEXP drv_stream_response(SEXP call, SEXP fun, SEXP next_chunk, SEXP state, SEXP type, SEXP headers, SEXP min_interval,
                         SEXP status, SEXP on_drain);
SEXP drv_events_response(SEXP call, SEXP fun, SEXP generator, SEXP state, SEXP headers, SEXP min_interval, SEXP status,
                         SEXP on_drain, SEXP heartbeat);

#endif
