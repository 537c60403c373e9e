/* What a handler must not do to the session that it runs in: end it, or talk to its console. Neighbour: worker.c. */
#include "intercept.h"
#include "process.h"
#include "worker.h"
#include "zygote.h"
#define R_INTERFACE_PTRS
#include <Rinterface.h>
#include <R_ext/Utils.h>
#include <pthread.h>
#include <signal.h>

static void (*clean_up)(SA_TYPE, int, int);
static int (*read_console)(const char *, unsigned char *, int, int);

/* quit() is an error while requests or callbacks are served. R's own end for lack of memory is not stopped. */
static void on_clean_up(SA_TYPE save, int status, int last) {
  if (drv_worker_is_serving() && save != SA_SUICIDE) Rf_error("quit() was called while serving; the server stays");
  drv_zygote_is_ending();
  /* R's own end would delete the folder of temporary files, which a fork shares with its session */
  if (drv_process_forked()) drv_process_leave(save == SA_SUICIDE ? 2 : status);
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

/* browser(), readline() and the like work in handlers of a session at a console. Elsewhere they find the end of input:
 * in a script they would otherwise read the lines after dr_serve(), and a worker process has nobody to ask. */
static int on_read_console(const char *prompt, unsigned char *buffer, int size, int history) {
  if (drv_process_here() || drv_worker_forgets_answers()) return 0;
  if (drv_worker_in_handler()) {
    if (!R_Interactive || !drv_worker_is_serving()) return 0;
    drv_worker_asks();
    if (drv_worker_is_idle()) return read_beneath(prompt, buffer, size, history);
  }
  return read_console(prompt, buffer, size, history);
}

void drv_intercept(void) {
  clean_up = ptr_R_CleanUp;
  ptr_R_CleanUp = on_clean_up;
  read_console = ptr_R_ReadConsole;
  ptr_R_ReadConsole = on_read_console;
}
