/* A worker process: how it ends, how it is interrupted, and how it gets along without the thread of 'later'.
 *
 *   SIGTERM  stop: what runs is finished, nothing new is taken
 *   SIGINT   interrupts the handler that runs, if it runs the request that the server named in the link; otherwise
 *            ignored
 *   SIGHUP   ignored
 *   SIGIO    the control channel has news: if the server has ended, this process kills its own group, even while R is
 *            busy. A zygote has the same lifeline while it loads its app
 *
 * Interrupts are R's, and a jump: they are let in where a handler runs, and nowhere else. Outside, R holds them back
 * (R_interrupts_suspended); every context that a handler's failure can jump to was begun in that state, and R restores
 * it with the context, so that what deals with the failure is safe, too. What arrives there is forgotten before the
 * next handler.
 *
 * Neighbours: worker.c (the loop), zygote.c (which has it begin), rust/crates/binding/src/process.rs (the control
 * channel).
 */
#define _GNU_SOURCE /* F_SETSIG and the like */
#include "process.h"
#include "build.h"
#include "clock.h"
#include "heap.h"
#include "hygiene.h"
#include "inspection.h"
#include "natives.h"
#include "r.h"
#include "rest.h"
#include "signals.h"
#include "state.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
/* after Rinternals.h, whose types it uses */
#include <R_ext/GraphicsEngine.h>

/* Ask 'later' this often while promises are pending: a package's thread may resolve one without waking the loop. */
#define PROMISES_MS 20
/* After a handler that was too quick to be asked about: how long to sleep before asking 'later' after all. */
#define SOON_MS 2

static struct {
  drv_process *process;
  int lifeline;
  int last;  /* the server ends with this process */
  /* a handler runs, or what answers for one that failed: an interrupt may be noted */
  volatile sig_atomic_t handling;
  /* when the next callback is due, in ms of the monotonic clock; INT64_MAX for never */
  int64_t due;
  /* R code has run since `due` was asked for; 2: more than a quick handler */
  int stale;
} p = {.lifeline = -1};

/* ---- signals -------------------------------------------------------------------------------------------------- */

/* On the main thread only: what it notes is read and cleared there. A thread of a package passes the signal on. */
static void on_interrupt(int signal) {
  int saved = errno;
  if (syscall(SYS_gettid) != getpid()) syscall(SYS_tgkill, getpid(), getpid(), signal);
  else if (p.handling && drv_process_is_interrupted(p.process)) R_interrupts_pending = 1;
  errno = saved;
}

static void on_hang_up(int signal) { (void)signal; }

/* Nothing but the server's end is looked for: orders are read by the loop. */
static void on_lifeline(int signal) {
  (void)signal;
  int saved = errno;
  char byte;
  ssize_t n = recv(p.lifeline, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) drv_here_end_group();
  errno = saved;
}

static void handle_signal(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, NULL);
}

void drv_process_hold(int channel) {
  p.lifeline = channel;
  handle_signal(SIGIO, on_lifeline, SA_RESTART);
  fcntl(channel, F_SETOWN, getpid());
  fcntl(channel, F_SETFL, fcntl(channel, F_GETFL) | O_ASYNC);
  /* it may have ended before there was a signal for it */
  on_lifeline(SIGIO);
}

void drv_process_let_go(int channel) {
  fcntl(channel, F_SETFL, fcntl(channel, F_GETFL) & ~O_ASYNC);
  handle_signal(SIGIO, on_hang_up, SA_RESTART);
  p.lifeline = -1;
}

void drv_process_on_fork(void) {
  if (!p.process) return;
  p.process = NULL;
  drv_here.control = -1;
  drv_here.is_asked = 0;
  handle_signal(SIGINT, SIG_DFL, 0);
}

void drv_process_enter(drv_process *process, int bell) {
  p.process = process;
  p.due = INT64_MAX;
  p.stale = 2;
  drv_here.control = drv_process_fd(process);
  drv_signals_of_worker(bell);
  handle_signal(SIGINT, on_interrupt, 0);
  /* handlers rather than SIG_IGN, which programs that a handler starts would inherit */
  handle_signal(SIGHUP, on_hang_up, SA_RESTART);
  drv_process_hold(drv_here.control);
}

/* ---- for the loop --------------------------------------------------------------------------------------------- */

int drv_process_receive(void) {
  if (!p.process) return 0;
  uint32_t asked[4];
  for (int stop = 0;;) {
    switch (drv_process_order(p.process, asked)) {
    case 0:
      return stop;
    case 1:
      stop = drv_here.is_asked = 1;
      p.last = asked[0] != 0;
      break;
    case 3:
      drv_inspection_asked(asked);
      break;
    default:
      drv_here_end_group();
    }
  }
}

static int report_heap(uint32_t collections, uint32_t micros, uint64_t bytes) {
  return p.process && drv_process_report_heap(p.process, collections, micros, bytes);
}

int drv_process_c_is_through(void) { return !p.process || drv_here.is_asked || drv_process_c_has_ended(p.process); }

void drv_process_is_last(void) { p.last = 1; }

void drv_process_begins(void) {
  if (!p.process) return;
  p.handling = 1;
  R_interrupts_suspended = FALSE;
}

void drv_process_is_between(void) {
  if (!p.process) return;
  R_interrupts_suspended = TRUE;
  /* in this order: none is noted after the last has been forgotten */
  p.handling = 0;
  R_interrupts_pending = 0;
}

void drv_process_check_events(void) {
  if (p.process) R_interrupts_suspended = FALSE;
  R_CheckUserInterrupt();
  if (p.process) R_interrupts_suspended = TRUE;
}

void drv_process_handled(int quick) {
  drv_process_is_between();
  p.stale |= quick ? 1 : 2;
}

/* In a session, and in a process that was not forked, a thread of 'later' makes a descriptor of R's readable in
 * time. */
static int must_ask(void) { return p.process && drv_here.is_forked; }

static void ask(void) {
  double seconds = Rf_asReal(drv_call_package("callbacks_due_in", R_NilValue));
  p.due = seconds < 1e9 ? drv_now_ms() + (int64_t)(seconds * 1000 + 0.999) : INT64_MAX;
  p.stale = 0;
}

static int until_due(int longest) {
  if (drv_here.awaiting && longest > PROMISES_MS) longest = PROMISES_MS;
  int64_t left = p.due == INT64_MAX ? longest : p.due - drv_now_ms();
  return left < 0 ? 0 : left < longest ? (int)left : longest;
}

int drv_process_callbacks_due_in(int longest) {
  longest = drv_inspection_due_in(longest);
  if (!must_ask()) return longest;
  ask();
  return until_due(longest);
}

int drv_process_patience(int longest) {
  longest = drv_rest_due_in(drv_heap_due_in(drv_inspection_due_in(longest)));
  if (!must_ask()) return longest;
  if (p.stale > 1) ask();
  int left = until_due(longest);
  return p.stale && left > SOON_MS ? SOON_MS : left;
}

int drv_process_patience_is_over(int longest) {
  if (drv_inspection_due_in(longest) <= 0) return 1;
  if (!must_ask()) return 1;
  if (p.stale || drv_here.awaiting) ask();
  if (until_due(longest) > 0) return 0;
  /* what is due is called now, and then there is another time to ask for */
  p.stale = 2;
  return 1;
}

/* ---- .Call ---------------------------------------------------------------------------------------------------- */

/* The worker's threads are started here, and not before: there are none when on_worker_start forks. They heed no
 * signal, so that signals reach the main thread, and a crash in one of them ends the process at once: R's handlers for
 * that would run R code in the wrong thread, and delete the folder of temporary files that all workers share. NULL, or
 * a string: why not. */
SEXP drv_process_ready(SEXP natives) {
  /* what on_worker_start has set is how handlers find it */
  drv_hygiene_note();
  if (!p.process) return R_NilValue;
  drv_natives described = drv_natives_of(natives);
  R_PreserveObject(natives);
  drv_error error;
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &mask);
  int served = drv_process_serve_c(p.process, described, &error);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  if (!served) return Rf_ScalarString(drv_mkchar(error.message));
  if (drv_process_wants_heap(p.process)) drv_heap_watch(report_heap);
  drv_process_report_ready(p.process);
  return R_NilValue;
}

SEXP drv_process_failed(SEXP why) {
  if (p.process) drv_process_report_failed(p.process, drv_text(why));
  return R_NilValue;
}

/* The report of an inspection, or why there is none. */
SEXP drv_process_reports(SEXP number, SEXP text, SEXP failed) {
  if (!p.process) return R_NilValue;
  int taken = drv_process_report(p.process, (uint32_t)Rf_asReal(number), drv_text(text), Rf_asLogical(failed) == TRUE);
  return Rf_ScalarLogical(taken);
}

/* Whether the server ends with this process, which then runs the stop hooks of the app that it has loaded. */
SEXP drv_process_ends_server(void) { return Rf_ScalarLogical(p.last); }

/* Whether this process is a worker or a zygote, and no session. */
SEXP drv_process_state(void) { return Rf_ScalarLogical(drv_here.is_ours); }
