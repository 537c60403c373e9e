#ifndef DROVER_JSON_H
#define DROVER_JSON_H
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

/* .Call entries */
SEXP drv_call_json_write(SEXP x, SEXP arguments, SEXP known);
SEXP drv_call_json_reply(SEXP x, SEXP status, SEXP headers, SEXP auto_unbox, SEXP digits);
SEXP drv_call_json_refused(SEXP x);
SEXP drv_call_json_parse(SEXP text, SEXP simplify, SEXP max_depth, SEXP max_collisions);

#endif
