#ifndef DROVER_CLOCK_H
#define DROVER_CLOCK_H
#include <stdint.h>
#include <time.h>

/* The monotonic clock. */
static inline int64_t drv_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t drv_now_ms(void) { return drv_now_ns() / 1000000; }

#endif
