/* A forked child has one thread, and copies of the locks that all other threads held. Code in the child that needs one
 * of these locks waits for ever: callbacks of 'later' did, in one fork of seventy, after the thread of 'later' had been
 * told of a new timer.
 *
 * The locks of other packages cannot be known. But a sleeping thread waits for work and, as a rule, holds none, while a
 * thread that runs, or was preempted, may. */
#define _GNU_SOURCE /* gettid() */
#include "threads.h"
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How long to wait, in all, and between two looks. One that computes for longer is left to its luck. */
#define LOOKS 200
#define BETWEEN_NS 500000

/* What /proc says of a thread: its number, its name in brackets, its state. The server's own threads are busy under
 * load, and their locks are seen to where they are. */
static int is_busy(int folder, const char *tid) {
  char path[NAME_MAX + sizeof "/stat"], text[128];
  snprintf(path, sizeof path, "%s/stat", tid);
  int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t n = read(file, text, sizeof text - 1);
  close(file);
  if (n <= 0) return 0;
  text[n] = 0;
  const char *name = strchr(text, '('), *end = strrchr(text, ')');
  if (!name || !end || strncmp(name, "(drover-", 8) == 0) return 0;
  return end[1] == ' ' && (end[2] == 'R' || end[2] == 'D');
}

static int any_is_busy(void) {
  DIR *all = opendir("/proc/self/task");
  if (!all) return 0;
  int busy = 0;
  pid_t me = gettid();
  for (const struct dirent *one; !busy && (one = readdir(all));)
    busy = one->d_name[0] != '.' && atoi(one->d_name) != me && is_busy(dirfd(all), one->d_name);
  closedir(all);
  return busy;
}

/* Threads of OpenMP wait for the next loop, and one in a fork would wait for them for ever. GNU's library ends them
 * when asked to, and makes new ones for the next loop, here as well as there; LLVM's sees to forks itself. */
static void end_those_of_openmp(void) {
  enum { SOFT = 1 };
  static int (*end)(int);
  if (!end) {
    void *library = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library) *(void **)&end = dlsym(library, "omp_pause_resource_all");
  }
  if (end) end(SOFT);
}

void drv_threads_settle(void) {
  end_those_of_openmp();
  for (int look = 0; look < LOOKS && any_is_busy(); look++) nanosleep(&(struct timespec){0, BETWEEN_NS}, NULL);
}
