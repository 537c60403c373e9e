/* What a fork of a session must not keep of the server that the session has: while any process holds a connection, its
 * client never sees the end of it, and while any holds the listener, the port stays taken.
 *
 * A zygote that is forked before the server starts has nothing of it. One that is forked later, to replace another,
 * closes every socket, event descriptor and memory file that was opened since. */
#include "descriptors.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct open_file {
  int fd;
  dev_t device;
  ino_t file;
};

static struct open_file *noted;
static size_t n_noted;

/* Calls `each` for all descriptors. A table of them first, as closing some while reading the folder would skip
 * others. */
static void for_all(void (*each)(int fd, int keep), int keep) {
  DIR *folder = opendir("/proc/self/fd");
  if (!folder) return;
  size_t n = 0, room = 64;
  int *fds = malloc(room * sizeof *fds);
  if (!fds) {
    closedir(folder);
    return;
  }
  struct dirent *entry;
  while ((entry = readdir(folder))) {
    if (entry->d_name[0] == '.') continue;
    int fd = atoi(entry->d_name);
    if (fd == dirfd(folder)) continue;
    if (n == room) {
      int *more = realloc(fds, 2 * room * sizeof *fds);
      if (!more) break;
      fds = more;
      room *= 2;
    }
    fds[n++] = fd;
  }
  closedir(folder);
  for (size_t i = 0; i < n; i++) each(fds[i], keep);
  free(fds);
}

static void note(int fd, int unused) {
  (void)unused;
  struct stat s;
  if (fstat(fd, &s)) return;
  struct open_file *more = realloc(noted, (n_noted + 1) * sizeof *noted);
  if (!more) return;
  noted = more;
  noted[n_noted++] = (struct open_file){fd, s.st_dev, s.st_ino};
}

void drv_descriptors_note(void) {
  n_noted = 0;
  for_all(note, -1);
}

static int is_known(int fd) {
  struct stat s;
  if (fstat(fd, &s)) return 1;
  for (size_t i = 0; i < n_noted; i++) {
    if (noted[i].fd == fd && noted[i].device == s.st_dev && noted[i].file == s.st_ino) return 1;
  }
  return 0;
}

static void drop(int fd, int keep) {
  if (fd <= STDERR_FILENO || fd == keep || is_known(fd)) return;
  char link[64], target[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length <= 0) return;
  target[length] = 0;
  static const char *const kinds[] = {"socket:", "anon_inode:", "/memfd:"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!strncmp(target, kinds[i], strlen(kinds[i]))) {
      close(fd);
      return;
    }
  }
}

void drv_descriptors_drop_strange(int keep) { for_all(drop, keep); }
