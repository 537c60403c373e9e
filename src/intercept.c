/* What a handler must not do to the session that it runs in: end it, or talk to its console. Neighbour: worker.c. */
#include "intercept.h"
#include "process.h"
#include "worker.h"
#include "zygote.h"
#define R_INTERFACE_PTRS
#include <Rinterface.h>

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

/* browser(), readline() and the like find the end of input in a handler: in a script they would otherwise read the lines
 * after dr_serve(), and at a console nobody would know whose question it is. */
static int on_read_console(const char *prompt, unsigned char *buffer, int size, int history) {
  if (drv_worker_in_handler() || drv_process_here()) return 0;
  return read_console(prompt, buffer, size, history);
}

void drv_intercept(void) {
  clean_up = ptr_R_CleanUp;
  ptr_R_CleanUp = on_clean_up;
  read_console = ptr_R_ReadConsole;
  ptr_R_ReadConsole = on_read_console;
}
