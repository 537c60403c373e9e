#ifndef DROVER_JSON_H
#define DROVER_JSON_H
#include "drover_rust.h"
#include <stddef.h>
#include <stdint.h>
#define R_NO_REMAP
#include <Rinternals.h>

/* Parses text into R values. When the text is refused, NULL is returned and `error` filled, with its terminating NUL.
 * Nothing is left allocated when R jumps. `text` must not move or change during the call. */
typedef struct {
  char message[192];
} drv_json_error;
SEXP drv_json_parse(const uint8_t *text, size_t len, int simplify, uint32_t max_depth, size_t max_collisions,
                    drv_json_error *error);

/* Says what a reply is being made of, NULL for nothing, and answers what that was before. R code of ALTREP classes may
 * run meanwhile; it gets a copy when it changes that value. */
SEXP drv_json_reads(SEXP x);

/* For Rust, by way of interface.c: R's jumps stop here.
 *
 * The elements of an ALTREP vector, laid out in memory that lives as long as the vector; NULL when that failed. */
const void *drv_view(SEXP x, R_xlen_t *n);
/* The text of a CHARSXP in UTF-8, to be freed with drv_free; NULL when that failed. */
char *drv_translate(SEXP x, size_t *n);
void drv_free(char *text);
int drv_native_is_utf8(void);
int drv_is_session_zone(const char *name, size_t len);
/* The seconds by which the session's time zone is ahead of UTC at a time; 0 when there is no such time. */
int32_t drv_zone_offset(double second, int64_t *offset);
/* Whether getOption("digits.secs") is set. */
int drv_digits_secs_set(void);
/* The seconds since 1970 of texts that may be dates, NaN where they are none; 0 when that failed. */
int32_t drv_read_dates(const drv_str *texts, size_t n, int32_t utc, double *seconds);

/* .Call entries */
SEXP drv_call_json_write(SEXP x, SEXP arguments, SEXP known);
SEXP drv_call_json_reply(SEXP x, SEXP status, SEXP headers, SEXP auto_unbox, SEXP digits);
SEXP drv_call_json_refused(SEXP x);
SEXP drv_call_json_parse(SEXP text, SEXP simplify, SEXP max_depth, SEXP max_collisions);

#endif
