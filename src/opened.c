/* Files that dr_file() has opened: a handler may remove or replace its file before the reply is sent, with on.exit() as
 * a rule.
 *
 * The descriptor belongs to an external pointer, which is an attribute of the path in the response. It goes to the
 * server beside the reply (rust/crates/shm/src/files.rs) and is closed here once that is sent; a response that is never
 * sent is closed by the finalizer. One that is sent again, or comes from another process, is sent by its path. */
#include "opened.h"
#include <R_ext/Memory.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* R collects garbage when memory is short, not descriptors: with this many open, a collection is forced. */
enum { LOOK_FROM = 64 };
static int open_now, look_at = LOOK_FROM;

static SEXP attribute(void) {
  static SEXP symbol = NULL;
  if (!symbol) symbol = Rf_install("opened");
  return symbol;
}

int drv_opened_is(SEXP pointer) {
  return TYPEOF(pointer) == EXTPTRSXP && R_ExternalPtrTag(pointer) == attribute();
}

/* An address of NULL is that of a pointer from another process: descriptors count from 1. */
static int descriptor(SEXP pointer) {
  if (!drv_opened_is(pointer)) return -1;
  return (int)(intptr_t)R_ExternalPtrAddr(pointer) - 1;
}

static void close_pointer(SEXP pointer) {
  int fd = descriptor(pointer);
  if (fd < 0) return;
  R_ClearExternalPtr(pointer);
  close(fd);
  open_now--;
}

int drv_opened_descriptor(SEXP file) { return descriptor(Rf_getAttrib(file, attribute())); }

void drv_opened_close(SEXP response) {
  SEXP names = Rf_getAttrib(response, R_NamesSymbol);
  if (TYPEOF(response) != VECSXP || TYPEOF(names) != STRSXP) return;
  for (R_xlen_t i = 0; i < XLENGTH(response); i++) {
    if (!strcmp(CHAR(STRING_ELT(names, i)), "file")) close_pointer(Rf_getAttrib(VECTOR_ELT(response, i), attribute()));
  }
}

static void collect(void) {
  R_gc();
  look_at = open_now < LOOK_FROM / 2 ? LOOK_FROM : 2 * open_now;
}

/* Not waiting for the other end of a pipe, and not for programs that handlers start. */
static int open_file(const char *path) { return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }

/* The pointer, or a string that says why there is none. */
SEXP drv_call_opened_open(SEXP path, SEXP remove) {
  const char *name = Rf_translateChar(STRING_ELT(path, 0));
  if (open_now >= look_at) collect();
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, attribute(), R_NilValue));
  R_RegisterCFinalizerEx(pointer, close_pointer, FALSE);
  int fd = open_file(name);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
    collect();
    fd = open_file(name);
  }
  struct stat stat;
  const char *why = fd < 0 || fstat(fd, &stat) ? strerror(errno) : S_ISREG(stat.st_mode) ? NULL : "not a regular file";
  if (!why && Rf_asLogical(remove) == TRUE && unlink(name)) why = strerror(errno);
  if (why) {
    if (fd >= 0) close(fd);
    UNPROTECT(1);
    return Rf_mkString(why);
  }
  R_SetExternalPtrAddr(pointer, (void *)(intptr_t)(fd + 1));
  open_now++;
  UNPROTECT(1);
  return pointer;
}

SEXP drv_call_opened_descriptor(SEXP file) { return Rf_ScalarInteger(drv_opened_descriptor(file)); }
