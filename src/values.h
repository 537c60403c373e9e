#ifndef DROVER_VALUES_H
#define DROVER_VALUES_H
#define R_NO_REMAP
#include <Rinternals.h>

/* `value`, which from now on is kept for ever and never changed in place. */
SEXP drv_constant(SEXP value);
/* A dr_response of these parts, which are protected, and known to be right. Not protected. */
SEXP drv_response(SEXP status, SEXP body, SEXP headers);
/* A dr_response of a string body, an integer status in 200..599 and no headers but a Content-Type; NULL for anything
 * else. */
SEXP drv_plain_response(SEXP body, SEXP status, SEXP headers, SEXP type);
/* .Call: the same of a string that R has as UTF-8, with status 200; NULL for anything else. */
SEXP drv_text_reply(SEXP text, SEXP type);
/* The last element of a character vector or list called `name` (one string), or NULL. */
SEXP drv_pick(SEXP values, SEXP name);
/* The first element of a list called `name`, in ASCII, or NULL, as `[[` has it. No R code runs. */
SEXP drv_first(SEXP list, const char *name);
/* Whether a list has no names but those, of which the last is NULL. No R code runs. */
int drv_has_only(SEXP list, const char *const *names);
/* .Call: whether an external pointer points at anything. */
SEXP drv_pointer_is_live(SEXP pointer);
/* .Call: bytes or, with `time`, seconds of a string such as "10MB" or "30s"; NaN for what is neither. */
SEXP drv_units(SEXP text, SEXP time);
/* .Call: what a status is called. */
SEXP drv_phrase(SEXP status);
/* .Call: how many workers run at a time on this machine. */
SEXP drv_cores(void);

/* .Call: see values.c. */
SEXP drv_wrong_name(SEXP call, SEXP fun);

#endif
