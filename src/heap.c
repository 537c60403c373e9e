/* R's garbage collections, for metrics: their number, their duration, and the memory allocated. R has no hook for them,
 * so this makes an object without references, whose finalizer runs with the next collection, counts it, and makes
 * another: microseconds, where a collection takes milliseconds. Neighbours: worker.c (the loop), process.c and
 * session.c, which pass the reports to their servers. */
#include "heap.h"
#include "clock.h"
#include <stdlib.h>
#define R_NO_REMAP
#include <Rinternals.h>
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
#include <malloc.h>
#define HAS_MALLINFO 1
#endif

/* Between two reports. */
#define EVERY_NS 1000000000

static struct {
  heap_reporter *report; /* NULL while no reports are wanted */
  uint32_t collections;  /* since the last report */
  double seconds;        /* that collections had taken, all in all, when that was made */
  int64_t reported;      /* when that was, in ns */
} h;

/* Seconds of all collections since R counts them, which begins with the first call. */
static double seconds_spent(void) {
  SEXP call = PROTECT(Rf_lang1(Rf_install("gc.time")));
  SEXP times = Rf_eval(call, R_BaseEnv);
  double elapsed = TYPEOF(times) == REALSXP && XLENGTH(times) > 2 ? REAL(times)[2] : 0;
  UNPROTECT(1);
  return elapsed;
}

static uint64_t allocated(void) {
#ifdef HAS_MALLINFO
  struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
#else
  return 0;
#endif
}

static void await_collection(void);

static void was_collected(SEXP pointer) {
  (void)pointer;
  if (!h.report) return;
  h.collections++;
  await_collection();
}

static void await_collection(void) {
  SEXP pointer = PROTECT(R_MakeExternalPtr(&h, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(pointer, was_collected, FALSE);
  UNPROTECT(1);
}

void drv_heap_watch(heap_reporter *report) {
  int watched = h.report != NULL;
  h.report = report;
  h.collections = 0;
  h.seconds = seconds_spent();
  h.reported = 0;
  if (!watched) await_collection();
}

void drv_heap_forget(void) { h.report = NULL; }

void drv_heap_look(int64_t now_ns) {
  if (!h.report || !h.collections || now_ns - h.reported < EVERY_NS) return;
  h.reported = now_ns;
  double spent = seconds_spent();
  uint32_t micros = spent > h.seconds ? (uint32_t)((spent - h.seconds) * 1e6) : 0;
  uint32_t collections = h.collections;
  uint64_t bytes = allocated();
  /* what cannot be told now is told with the next */
  if (!h.report(collections, micros, bytes)) return;
  h.collections = 0;
  h.seconds = spent;
}

int drv_heap_due_in(int longest) {
  if (!h.collections) return longest;
  int64_t left = (h.reported + EVERY_NS - drv_now_ns()) / 1000000 + 1;
  return left < 0 ? 0 : left < longest ? (int)left : longest;
}
