/* SIGTERM and SIGHUP, noted for the main thread to act on: while dr_serve(block = TRUE) has the session, and in a worker
 * process. Not for SIGINT, which is R's, nor for what a worker process does about its own (process.c). */
#include "signals.h"
#include "service.h"
#include "worker.h"
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static volatile sig_atomic_t terminate, hang_up, caught;
/* rung by the handlers, so that a sleep that is about to begin ends at once */
static volatile sig_atomic_t bell = -1;
static struct sigaction before[2];

int drv_signals_waiting(void) { return terminate || hang_up; }

static void note(int signal) {
  int saved = errno;
  if (signal == SIGTERM) terminate = 1;
  else hang_up = 1;
  uint64_t one = 1;
  ssize_t unused = bell >= 0 ? write(bell, &one, sizeof one) : 0;
  (void)unused; /* the only error is a full counter, and then it is ringing already */
  errno = saved;
}

static void install(int signal, struct sigaction *old) {
  struct sigaction action = {.sa_handler = note};
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, old);
}

void drv_signals_of_worker(int its_bell) {
  terminate = hang_up = 0;
  bell = its_bell;
  install(SIGTERM, NULL);
  /* what its children get back */
  before[0] = before[1] = (struct sigaction){.sa_handler = SIG_DFL};
  caught = 1;
}

/* A child that a handler has made (parallel::mclapply) is ended by SIGTERM, and rings nobody's bell. */
void drv_signals_on_fork(void) { drv_signals_release(); }

static sigset_t held;

void drv_signals_hold(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &held);
}

void drv_signals_let_go(void) { pthread_sigmask(SIG_SETMASK, &held, NULL); }

void drv_signals_ring(int its_bell) {
  if (caught) bell = its_bell;
}

/* .Call: from now on both are noted. */
SEXP drv_signals_catch(void) {
  terminate = hang_up = 0;
  bell = drv_worker_desk() ? drv_desk_bell(drv_worker_desk()) : drv_service_bell();
  if (!caught) {
    install(SIGTERM, &before[0]);
    install(SIGHUP, &before[1]);
    caught = 1;
  }
  return R_NilValue;
}

/* .Call: they mean again what they meant before. */
SEXP drv_signals_release(void) {
  if (caught) {
    sigaction(SIGTERM, &before[0], NULL);
    sigaction(SIGHUP, &before[1], NULL);
  }
  caught = terminate = hang_up = 0;
  bell = -1;
  return R_NilValue;
}

/* .Call: c(terminate, hang_up), logical, and forgets them. */
SEXP drv_signals_take(void) {
  SEXP out = Rf_allocVector(LGLSXP, 2);
  LOGICAL(out)[0] = terminate;
  LOGICAL(out)[1] = hang_up;
  terminate = hang_up = 0;
  return out;
}
