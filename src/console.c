/* The log of a session at a console, written by R as its own output is: front ends such as RStudio and Jupyter show
 * that, and nothing that threads write to standard error. Records wait in rust/crates/observe/src/console.rs;
 * 'later' has them written when R is at its prompt, and session.c between two requests.
 */
#include "console.h"
#include "drover_rust.h"
#include "later.h"
#include <R_ext/Print.h>
#include <stdatomic.h>
#include <unistd.h>

/* Whether 'later' has been asked to call. */
static atomic_int called;
/* The session: its forks have the records, and even the lock, as they were in that moment. */
static pid_t owner;

/* R writes no more than 8 kB in one go. */
enum { PIECE = 4000 };

static void print(drv_str text) {
  while (text.len) {
    size_t n = text.len < PIECE ? text.len : PIECE;
    /* between two characters */
    while (n < text.len && n > PIECE - 4 && (text.ptr[n] & 0xC0) == 0x80) n--;
    REprintf("%.*s", (int)n, text.ptr);
    text.ptr += n;
    text.len -= n;
  }
}

void drv_console_flush(void) {
  drv_str text;
  if (owner != getpid()) return;
  while (drv_console_next(&text)) print(text);
}

static void flush(void *unused) {
  (void)unused;
  /* before: what comes meanwhile is seen now, or asks again */
  atomic_store(&called, 0);
  drv_console_flush();
}

/* From the thread that writes the log. */
static void wake(void) {
  if (!atomic_exchange(&called, 1)) drv_call_later(flush, 0);
}

SEXP drv_console_open(void) {
  owner = getpid();
  drv_console_start(wake);
  return R_NilValue;
}
