#ifndef DROVER_COMMANDS_H
#define DROVER_COMMANDS_H
#include "drover_rust.h"
#define R_NO_REMAP
#include <Rinternals.h>

/* What a command is about: Rust's `CCommand` has the same numbers. */
enum {
  DRV_SEND = 0,
  DRV_CLOSE = 1,
  DRV_JOIN = 2,
  DRV_LEAVE = 3,
  DRV_BROADCAST = 4,
  DRV_MEMBERS = 5,
  DRV_ROOMS = 6,
  DRV_PURGE = 7,
  DRV_ENQUEUE = 8,
  DRV_JOB = 9
};

/* Says that an argument is not what it should be. Does not return. */
void drv_refuse(const char *argument, SEXP value);
/* Has the server do something. What it answers, if it does, is the result: list(numbers, texts). An R error when there
 * is no server. */
SEXP drv_say(const drv_command *command);
/* The number that is the answer. */
SEXP drv_count_of(SEXP answer);

/* .Call: forgets responses that the server keeps: 0 by what their requests ask for, 1 by how that begins, 2 by tag. How
 * many they were. */
SEXP drv_cache_purge(SEXP by, SEXP text);

#endif
