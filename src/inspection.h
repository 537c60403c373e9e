#ifndef DROVER_INSPECTION_H
#define DROVER_INSPECTION_H
#include "drover_rust.h"
#include <stdint.h>
#define R_NO_REMAP
#include <Rinternals.h>

/* Whether R's stack is being sampled, by this process for itself. */
extern int drv_inspection_samples;
/* While it is: a handler has run for so long. */
void drv_inspection_ran(uint32_t handler, uint64_t ns);
/* An environment where the name of each route is a function of a cell and a value, which answers. */
SEXP drv_inspection_answers(void);

/* The server has asked for this: which inspection, what it is about, milliseconds, microseconds. */
void drv_inspection_asked(const uint32_t asked[4]);
/* Milliseconds until there is something to do about it, at most `longest`. */
int drv_inspection_due_in(int longest);
/* Between requests: does what is due. */
void drv_inspection_attend(void);

SEXP drv_inspection_begin(SEXP answers, SEXP handlers);
SEXP drv_inspection_end(void);
SEXP drv_inspection_until(SEXP seconds);
SEXP drv_inspection_settled(SEXP env, SEXP name);
SEXP drv_inspection_address(SEXP value);

#endif
