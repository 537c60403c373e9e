/* Ending a script that waits: once its server was ended by a signal, there is nothing left to wait for. R looks at its
 * input handlers while it sleeps; R/serve-leave.R does the same for code that waits in the package 'later'. */
#include "leave.h"
#include <R_ext/eventloop.h>
#include <sys/eventfd.h>
#include <unistd.h>

static InputHandler *waiting;
static SEXP leave;

static void has_waited(void *unused) {
  (void)unused;
  int bell = waiting->fileDescriptor;
  removeInputHandler(&R_InputHandlers, waiting);
  waiting = NULL;
  close(bell);
  SEXP call = PROTECT(Rf_lang1(leave));
  Rf_eval(call, R_BaseEnv);
  UNPROTECT(1);
}

/* .Call: the function is called, once, when R waits for something. */
SEXP drv_leave_when_waiting(SEXP fun) {
  if (waiting) return R_NilValue;
  int bell = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell < 0) return R_NilValue;
  R_PreserveObject(leave = fun);
  waiting = addInputHandler(R_InputHandlers, bell, has_waited, 0);
  return R_NilValue;
}
