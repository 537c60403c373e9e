/* What a handler must not do to the session that it runs in: end it, talk to its console, or come back in a fork as if
 * that were its worker. Neighbour: worker.c. */
#include "intercept.h"
#include "process.h"
#include "signals.h"
#include "state.h"
#define R_INTERFACE_PTRS
#include <Rinterface.h>
#include <R_ext/Utils.h>
#include <pthread.h>
#include <signal.h>

static void (*clean_up)(SA_TYPE, int, int);
static int (*read_console)(const char *, unsigned char *, int, int);

/* quit() is an error while requests or callbacks are served. R's own end for lack of memory is not stopped. */
static void on_clean_up(SA_TYPE save, int status, int last) {
  if (drv_here_is_serving() && save != SA_SUICIDE) Rf_error("quit() was called while serving; the server stays");
  if (drv_here.at_end) drv_here.at_end();
  /* R's own end would delete the folder of temporary files, which a fork shares with its session */
  if (drv_here.is_forked) drv_here_leave(save == SA_SUICIDE ? 2 : status);
  clean_up(save, status, last);
}

/* The prompt waits beneath the handler. An interrupt of this reading would end that one as well (R's readers share what
 * they know of readline, and R would end itself with the next key), so it comes when there is a line. */
static int read_beneath(const char *prompt, unsigned char *buffer, int size, int history) {
  sigset_t interrupts, before;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupts, &before);
  int read = read_console(prompt, buffer, size, history);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  /* before browser() reads on */
  R_CheckUserInterrupt();
  return read;
}

static void ask(void) {
  static int warned = 0;
  if (!warned) {
    warned = 1;
    REprintf("drover: a handler asks here (Q leaves browser()). Other requests wait, and clients that have waited for "
             "`timeout` get 504 or 503; with dr_serve(timeouts = dr_timeouts(timeout = 0)) they wait on.\n");
  }
  drv_here.asks = 1;
}

/* browser(), readline() and the like work in handlers of a session at a console. Elsewhere they find the end of input:
 * in a script they would otherwise read the lines after dr_serve(), and a worker process has no user to ask. */
static int on_read_console(const char *prompt, unsigned char *buffer, int size, int history) {
  if (drv_here.is_ours || drv_here.forgets) return 0;
  if (drv_here_in_handler()) {
    if (!R_Interactive || !drv_here_is_serving()) return 0;
    ask();
    if (drv_here.is_idle) return read_beneath(prompt, buffer, size, history);
  }
  return read_console(prompt, buffer, size, history);
}

/* The child of a fork that a handler made (parallel::mcfork) came back here: its parent answers, it does not. A worker
 * that was forked to be one is no such child. */
static void on_fork(void) {
  drv_here.is_stray = 1;
  drv_signals_on_fork();
  drv_process_on_fork();
}

void drv_intercept(void) {
  static int intercepts = 0;
  if (intercepts) return;
  intercepts = 1;
  pthread_atfork(NULL, NULL, on_fork);
  clean_up = ptr_R_CleanUp;
  ptr_R_CleanUp = on_clean_up;
  read_console = ptr_R_ReadConsole;
  ptr_R_ReadConsole = on_read_console;
}
