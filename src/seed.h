#ifndef DROVER_SEED_H
#define DROVER_SEED_H
#define R_NO_REMAP
#include <Rinternals.h>

/* A handler begins: notes what R's generator of random numbers is at, where that is wanted. */
void drv_seed_note(void);
/* The reply to the request of `cell` was made, and is not sent. If it is an error and its handler runs, the server is
 * told what the generator was at when that began. */
void drv_seed_tell(SEXP cell);

/* .Call: whether that is wanted. */
SEXP drv_seed_want(SEXP wanted);

#endif
