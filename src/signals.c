/* Signals, noted for the main thread to act on: while dr_serve(block = TRUE) or dr_run() has the session, and in a
 * worker process. docs/processes-and-signals.md has the table. Not for SIGINT, which is R's, nor for what a worker
 * process does about its own (process.c), nor for the interrupt of a handler (session.c).
 *
 * SIGHUP means two things: from a person, that the app is to be loaded anew; from the system or a shell, that the
 * terminal has gone, and what was started there is to end. They are told apart by the terminal: it was there at the
 * start, and is not there now. A process for which SIGHUP was ignored, as by nohup, goes on ignoring it.
 */
#include "signals.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

static const int signals[] = {SIGTERM, SIGQUIT, SIGHUP, SIGUSR1};
enum { N = sizeof signals / sizeof *signals };

static volatile sig_atomic_t terminate, hang_up, reopen, caught;
/* rung by the handlers, so that a sleep that is about to begin ends at once */
static volatile sig_atomic_t bell = -1;
static struct sigaction before[N];
static int had_terminal;

int drv_signals_end(void) { return terminate || hang_up; }

int drv_signals_waiting(void) { return drv_signals_end() || reopen; }

static void note(int signal) {
  int saved = errno;
  if (signal == SIGHUP) hang_up = 1;
  else if (signal == SIGUSR1) reopen = 1;
  else terminate = 1;
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

static int has_terminal(void) {
  int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (terminal >= 0) close(terminal);
  return terminal >= 0;
}

static void forget(void) { terminate = hang_up = reopen = 0; }

void drv_signals_of_worker(int its_bell) {
  forget();
  bell = its_bell;
  install(SIGTERM, NULL);
  install(SIGQUIT, NULL);
  /* what its children get back */
  for (int i = 0; i < N; i++) before[i] = (struct sigaction){.sa_handler = SIG_DFL};
  caught = 1;
}

/* In a child that a handler has forked (parallel::mclapply), SIGTERM ends the process and rings no bell. */
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

void drv_signals_catch(int its_bell) {
  forget();
  bell = its_bell;
  if (caught) return;
  had_terminal = has_terminal();
  for (int i = 0; i < N; i++) {
    install(signals[i], &before[i]);
    if (signals[i] == SIGHUP && before[i].sa_handler == SIG_IGN) sigaction(SIGHUP, &before[i], NULL);
  }
  caught = 1;
}

/* .Call: they mean again what they meant before. */
SEXP drv_signals_release(void) {
  for (int i = 0; caught && i < N; i++) sigaction(signals[i], &before[i], NULL);
  caught = 0;
  forget();
  bell = -1;
  return R_NilValue;
}

/* .Call: c(end, reload, logs are to be opened again), logical, and forgets them. */
SEXP drv_signals_take(void) {
  int gone = hang_up && had_terminal && !has_terminal();
  SEXP out = Rf_allocVector(LGLSXP, 3);
  LOGICAL(out)[0] = terminate || gone;
  LOGICAL(out)[1] = hang_up && !gone;
  LOGICAL(out)[2] = reopen;
  forget();
  return out;
}
