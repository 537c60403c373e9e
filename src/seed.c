/* What R's generator of random numbers was at when a handler began: a server that keeps failed requests is told, so
 * that one that is played again draws the same numbers. Where it keeps none, this is a comparison for each request;
 * where it does, a variable is looked up: R makes a new vector for each state of its generator, so that the old one
 * need not be copied. Neighbours: worker.c, which calls handlers; R/worker-random.R. */
#include "seed.h"
#include "drover_rust.h"
#include "request.h"
#include "serving.h"
#include "state.h"

/* A list of one: .Random.seed as it was, or NULL. NULL where it is not wanted. */
static SEXP noted;

void drv_seed_note(void) {
  if (!noted) return;
  SEXP seed = Rf_findVarInFrame(R_GlobalEnv, R_SeedsSymbol);
  SET_VECTOR_ELT(noted, 0, TYPEOF(seed) == INTSXP ? seed : R_NilValue);
}

void drv_seed_tell(SEXP cell) {
  /* of a promise that is settled later the beginning was another one */
  if (!noted || !drv_here.in_handler || cell != drv_serving_cell() || !drv_reply_is_error()) return;
  SEXP seed = VECTOR_ELT(noted, 0);
  if (TYPEOF(seed) != INTSXP) return;
  drv_link_seed(drv_here.link, drv_request_cell(cell), INTEGER_RO(seed), (size_t)XLENGTH(seed));
}

SEXP drv_seed_want(SEXP wanted) {
  int is = Rf_asLogical(wanted) == TRUE;
  if (is && !noted) {
    SEXP list = PROTECT(Rf_allocVector(VECSXP, 1));
    R_PreserveObject(list);
    noted = list;
    UNPROTECT(1);
  }
  if (!is && noted) {
    R_ReleaseObject(noted);
    noted = NULL;
  }
  return R_NilValue;
}
