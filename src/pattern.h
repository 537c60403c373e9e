#ifndef DROVER_PATTERN_H
#define DROVER_PATTERN_H

#include <Rinternals.h>

/* What there is in a path pattern, or a string that says what is wrong with it. */
SEXP drv_pattern(SEXP text);

/* Of patterns in the order in which they are tried: by which one each is hidden, NA for none. */
SEXP drv_hidden_patterns(SEXP patterns);

#endif
