/* R's string cache: when clients' strings have collided in it so often that R slows down, R collects those that are no
 * longer used. rust/crates/fields/src/guard.rs has the reasons, and counts. */
#include "strings.h"
#include "build.h"
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>
#include <time.h>

/* What this thread has taken: a machine that is busy elsewhere makes no collection dear. */
static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of the youngest objects only: strings of requests that are over are among them, and a full collection takes twenty
 * times as long. R does more by itself after some collections. */
static void make_room(void) {
  static SEXP collect = NULL;
  if (!collect) {
    SEXP no = PROTECT(Rf_ScalarLogical(0));
    collect = Rf_lang4(Rf_install("gc"), no, no, no); /* verbose, reset, full */
    R_PreserveObject(collect);
    UNPROTECT(1);
  }
  uint64_t before = now_ns();
  Rf_eval(collect, R_BaseEnv);
  drv_strings_have_room(now_ns() - before);
}

SEXP drv_build_strings(const drv_node *root) {
  if (drv_strings_want_room()) make_room();
  if (!drv_strings_collide()) return drv_build(root);
  uint64_t before = now_ns();
  SEXP value = drv_build(root);
  drv_strings_walked(now_ns() - before);
  return value;
}
