/* Memory that a worker gives back after a while without requests. A large answer leaves its R object behind until the
 * next garbage collection, which happens when something else is allocated: in an idle worker, never. So a worker that
 * has grown collects by itself: young objects first, which is quick, and all only when that did not help, since a full
 * collection writes to memory that the workers share with their zygote. Neighbours: worker.c (the loop), session.c (a
 * session that serves without blocking). */
#include "rest.h"
#include "clock.h"
#include "drover_rust.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Requests that come one after the other do not wait for it. */
#define AFTER_NS 1000000000
/* Less is not worth a collection: R itself keeps as much for small objects. */
#define WORTH_IT (16 << 20)

static struct {
  int is_due;     /* something ran since the last rest */
  int64_t since;  /* since when nothing is to be done, in ns; 0 while it is */
  int64_t least;  /* bytes in memory after the last rest, or less */
  int is_light;   /* only young objects are collected */
} rest;

/* Bytes in memory that are this process's own; 0 when the system does not say. */
static int64_t in_memory(void) {
  char text[128];
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  long long resident, shared;
  if (n <= 0) return 0;
  text[n] = 0;
  if (sscanf(text, "%*d %lld %lld", &resident, &shared) != 2) return 0;
  return (int64_t)(resident - shared) * sysconf(_SC_PAGESIZE);
}

static int has_grown(void) {
  int64_t bytes = in_memory();
  if (bytes < rest.least) rest.least = bytes;
  return bytes - rest.least >= WORTH_IT;
}

void drv_rest_note(void) {
  rest.is_due = 0;
  rest.since = 0;
  rest.least = in_memory();
}

void drv_rest_is_over(void) {
  rest.is_due = 1;
  rest.since = 0;
}

int drv_rest_begins(int64_t now_ns) {
  if (!rest.is_due) return 0;
  if (!rest.since) rest.since = now_ns;
  if (now_ns - rest.since < AFTER_NS) return 0;
  rest.is_due = 0;
  return 1;
}

int drv_rest_due_in(int longest) {
  if (!rest.is_due) return longest;
  int64_t since = rest.since ? rest.since : drv_now_ns();
  int64_t left = (since + AFTER_NS - drv_now_ns()) / 1000000 + 1;
  return left < 0 ? 0 : left < longest ? (int)left : longest;
}

/* gc(full = FALSE) */
static void collect_young(void) {
  SEXP call = PROTECT(Rf_lang2(Rf_install("gc"), Rf_ScalarLogical(0)));
  SET_TAG(CDR(call), Rf_install("full"));
  Rf_eval(call, R_BaseEnv);
  UNPROTECT(1);
}

SEXP drv_rest_lightly(void) {
  rest.is_light = 1;
  return R_NilValue;
}

void drv_rest(void) {
  if (!has_grown()) return;
  collect_young();
  drv_give_back();
  if (!rest.is_light && has_grown()) {
    R_gc();
    drv_give_back();
  }
  rest.least = in_memory();
}
