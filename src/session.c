/* A session that is its own worker: its server, and the loop of worker.c called whenever requests wait and R is idle.
 *
 * Blocking, the main thread sleeps in poll() and the bell's descriptor wakes it. Idle, it is called through the event
 * loop of the package 'later': the engine's threads ask for that, and idle_callback() runs when R is at top level, or
 * in later::run_now(). Not for worker processes (process.c) nor for the session that only looks after them (service.c).
 *
 * A handler whose client has gone may be interrupted. SIGINT means the whole session, so the engine sends SIGURG to the
 * main thread: programs ignore it by default, and here it raises an R interrupt if the request that the server has
 * named still runs and its handler has not asked at the console (browser()). An interrupt that is still pending when
 * the handler returns is dropped. */
#include "session.h"
#include "build.h"
#include "clock.h"
#include "console.h"
#include "heap.h"
#include "intercept.h"
#include "later.h"
#include "natives.h"
#include "process.h"
#include "r.h"
#include "rest.h"
#include "serving.h"
#include "signals.h"
#include "state.h"
#include "streams.h"
/* R_interrupts_pending; after Rinternals.h, whose types it uses */
#include <R_ext/GraphicsEngine.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>

/* A stream that is due later than this is looked at again before: about a day. */
#define LONGEST_MS 86400000

static drv_session *session;
/* The list that keeps what its C handlers need. */
static SEXP natives;
static void idle_callback(void *);

/* From here on a request rings; one that came before is found now. */
static void doze(void) {
  if (!drv_link_doze(drv_here.link)) drv_call_later(idle_callback, 0);
}

void drv_session_polled(void) {
  /* inside the loop that will go on to sleep by itself */
  if (!session || drv_here_is_serving()) return;
  drv_here.polls = 0;
  doze();
}

const drv_session *drv_session_here(void) { return session; }

const drv_node *drv_session_worker(void) { return session ? drv_session_status(session) : NULL; }

int drv_session_is_drained(void) {
  if (session) return drv_session_drained(session);
  /* a promise that the server does not wait for any more may never come to its end */
  int awaits = drv_here.awaiting && !drv_here.is_asked;
  return !awaits && !drv_streams_are_open(drv_here.link) && drv_process_c_is_through();
}

static void idle_callback(void *unused) {
  (void)unused;
  if (!session) return;
  if (drv_here_in_handler()) {
    /* a handler runs later::run_now(): one request at a time */
    drv_call_later(idle_callback, 0.01);
    return;
  }
  int again = Rf_asInteger(drv_call_package("serve_idle", R_NilValue));
  if (!session) return;
  drv_here.polls = 0;
  if (again || !drv_link_doze(drv_here.link)) drv_call_later(idle_callback, 0);
  else drv_session_minds_time();
}

/* When timed_callback() has been asked for, in ms of the monotonic clock; INT64_MAX for never. */
static int64_t asked_for = INT64_MAX;

static void timed_callback(void *unused) {
  /* one that was asked for before an earlier one */
  if (drv_now_ms() < asked_for) return;
  asked_for = INT64_MAX;
  idle_callback(unused);
}

void drv_session_minds_time(void) {
  if (!session) return;
  int due = drv_rest_due_in(LONGEST_MS);
  if (drv_streams_are_open(drv_here.link)) due = drv_streams_due_in(drv_here.link, due);
  if (due >= LONGEST_MS) return;
  int64_t at = drv_now_ms() + due;
  if (at >= asked_for) return;
  asked_for = at;
  /* not before: the clock of 'later' need not be this one */
  drv_call_later(timed_callback, (due + 1) / 1000.0);
}

/* From I/O threads. */
static int32_t ring(void) {
  if (drv_here.polls) return 0;
  drv_call_later(idle_callback, 0);
  return 1;
}

/* The thread that handlers run in, and whether the server has interrupted the one that runs. */
static pthread_t main_thread;
static volatile sig_atomic_t interrupted;
static struct sigaction urgent_before;

/* From I/O threads. */
static void interrupt(void) { pthread_kill(main_thread, SIGURG); }

static void on_urgent(int signal) {
  (void)signal;
  if (!session || !pthread_equal(pthread_self(), main_thread)) return;
  if (!drv_here_in_handler() || drv_here.asks || !drv_session_is_interrupted(session)) return;
  interrupted = 1;
  R_interrupts_pending = 1;
}

static void catch_urgent(void) {
  /* system calls that a handler is in go on, as it may not be interrupted after all */
  struct sigaction action = {.sa_handler = on_urgent, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  main_thread = pthread_self();
  interrupted = 0;
  sigaction(SIGURG, &action, &urgent_before);
}

/* Whether the server has interrupted the handler that runs; asking forgets it. */
static int take_interrupt(void) {
  int was = interrupted;
  interrupted = 0;
  return was;
}

static int report_heap(uint32_t collections, uint32_t micros, uint64_t bytes) {
  if (session) drv_session_heap(session, collections, micros, bytes);
  return session != NULL;
}

void drv_session_handled(void) {
  if (take_interrupt()) R_interrupts_pending = 0;
}

/* .Call: whether the interrupt that is being dealt with was the server's, and not a person's. */
SEXP drv_session_interrupted(void) { return Rf_ScalarLogical(take_interrupt()); }

/* Starts a server for the app given last, with its C handlers, see natives.h. Its URLs, a line each, or
 * list(kind, message) when it cannot be started. */
SEXP drv_session_open(SEXP json, SEXP handlers) {
  drv_intercept();
  if (drv_here.link) Rf_error("a server is running");
  drv_str text = drv_text(json);
  drv_error error;
  drv_link *link = NULL;
  drv_here.polls = 0;
  drv_natives described = drv_natives_of(handlers);
  R_PreserveObject(natives = handlers);
  drv_signals_hold();
  session = drv_session_start(text.ptr, text.len, described, ring, interrupt, &link, &error);
  drv_signals_let_go();
  if (!session) {
    R_ReleaseObject(natives);
    drv_serving_forget_app();
    return drv_start_error(&error);
  }
  catch_urgent();
  drv_serving_open(link);
  if (drv_session_wants_heap(session)) drv_heap_watch(report_heap);
  doze();
  return Rf_ScalarString(drv_mkchar(drv_session_urls(session)));
}

/* .Call: 'later' calls the loop while the session is idle, from now on; soon, when requests wait already. */
SEXP drv_session_go_idle(void) {
  if (session) doze();
  return R_NilValue;
}

/* What the C handlers of the app that takes over need. */
static SEXP next_natives;

SEXP drv_session_renew_app(SEXP json, SEXP handlers) {
  if (!session) Rf_error("no server runs in this session");
  drv_str text = drv_text(json);
  drv_error error;
  drv_natives described = drv_natives_of(handlers);
  R_PreserveObject(next_natives = handlers);
  drv_signals_hold();
  int renewed = drv_session_renew(session, text.ptr, text.len, described, &error);
  drv_signals_let_go();
  if (renewed) return R_NilValue;
  R_ReleaseObject(next_natives);
  return drv_start_error(&error);
}

SEXP drv_session_renewed(SEXP force) {
  return Rf_ScalarLogical(!session || drv_session_is_renewed(session, Rf_asLogical(force) == TRUE));
}

SEXP drv_session_forget(void) {
  drv_serving_close();
  return R_NilValue;
}

SEXP drv_session_reopen(void) {
  if (!session) return R_NilValue;
  drv_error error;
  int32_t ended = 0;
  drv_here.polls = 0;
  drv_link *link = drv_session_take_over(session, &ended, &error);
  if (ended) R_ReleaseObject(natives);
  natives = next_natives;
  if (!link) return drv_start_error(&error);
  drv_serving_open(link);
  drv_signals_ring(drv_link_bell(link));
  doze();
  return R_NilValue;
}

SEXP drv_session_reopen_log(void) {
  if (session) drv_session_reopens_log(session);
  return R_NilValue;
}

/* .Call: signals are noted from now on. */
SEXP drv_session_catch_signals(void) {
  drv_signals_catch(drv_here.link ? drv_link_bell(drv_here.link) : -1);
  return R_NilValue;
}

SEXP drv_session_begin_leave(void) {
  if (session) drv_session_leave(session);
  return R_NilValue;
}

SEXP drv_session_begin_drain(void) {
  drv_here.stops = 1;
  if (session) drv_session_drain(session);
  return R_NilValue;
}

SEXP drv_session_close(void) {
  if (!session) return R_NilValue;
  drv_session *ending = session;
  session = NULL;
  sigaction(SIGURG, &urgent_before, NULL);
  drv_heap_forget();
  /* a C handler that does not come to its end keeps what it was given */
  if (drv_session_free(ending)) R_ReleaseObject(natives);
  drv_serving_close();
  drv_console_flush();
  return R_NilValue;
}
