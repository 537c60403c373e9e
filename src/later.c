/* The package 'later', which calls a function on the main thread when R has nothing else to do. It takes longer to load
 * than everything else that a server needs, so nothing here loads it: go_idle() of R/serve-block.R does, for a session
 * that serves without blocking, and so does code that uses it. R/zzz.R reports when it is loaded; until then no
 * callbacks run, and none are missed. */
#include "later.h"
#include <R_ext/Rdynload.h>
#include <pthread.h>
#include <stdint.h>

typedef uint64_t (*call_native)(void (*)(void *), void *, double, int);

static call_native exec;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void drv_later_lock(void) { pthread_mutex_lock(&lock); }

void drv_later_unlock(void) { pthread_mutex_unlock(&lock); }

void drv_call_later(void (*f)(void *), double seconds) {
  drv_later_lock();
  if (exec) exec(f, NULL, seconds, 0);
  drv_later_unlock();
}

/* .Call: 'later' has been loaded. */
SEXP drv_later_loaded(void) {
  /* by way of void (*)(void), which the compiler knows to be any function */
  call_native found = (call_native)(void (*)(void))R_GetCCallable("later", "execLaterNative2");
  drv_later_lock();
  exec = found;
  drv_later_unlock();
  return R_NilValue;
}
