/* A session whose handlers run in worker processes: the server and its supervisor, seen from the main thread, which
 * only hears of events. Blocking, it sleeps in poll() on a bell of its own; otherwise it is called through the event
 * loop of 'later'. Neighbours: R/serve-processes.R, rust/crates/binding/src/service.rs. Not for a session that is its
 * own worker: session.c.
 */
#define _GNU_SOURCE /* eventfd */
#include "service.h"
#include "build.h"
#include "console.h"
#include "intercept.h"
#include "later.h"
#include "r.h"
#include "session.h"
#include "signals.h"
#include "wait.h"
#include <stdatomic.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static drv_service *service;
static int bell = -1;
/* Whether 'later' is to call idle_callback() when there are events, and whether it has been asked to. */
static atomic_int by_callback, called;

const drv_service *drv_service_here(void) { return service; }

void drv_service_is_not_ours(void) { service = NULL; }

static void idle_callback(void *unused) {
  (void)unused;
  atomic_store(&called, 0);
  if (service) drv_call_package("service_idle", R_NilValue);
}

/* From the supervisor's thread, after each event. */
static void wake(void) {
  uint64_t one = 1;
  /* the only error is a full counter, and then it is ringing already */
  if (write(bell, &one, sizeof one) < 0) return;
  if (atomic_load(&by_callback) && !atomic_exchange(&called, 1)) drv_call_later(idle_callback, 0);
}

/* list(descriptor, process id) of a zygote, or a string: the JSON of a program. */
static drv_source source_of(SEXP source) {
  if (TYPEOF(source) == VECSXP) {
    return (drv_source){Rf_asInteger(VECTOR_ELT(source, 0)), Rf_asInteger(VECTOR_ELT(source, 1)), {NULL, 0}};
  }
  return (drv_source){-1, 0, drv_text(source)};
}

/* .Call: starts it. Its URLs, a line each, or list(kind, message) when it cannot be started. */
SEXP drv_service_open(SEXP settings, SEXP options, SEXP source) {
  drv_intercept();
  if (service) Rf_error("a server is running");
  if (bell < 0) bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  drv_source from = source_of(source);
  drv_error error;
  atomic_store(&by_callback, 0);
  drv_str its_settings = drv_text(settings), its_options = drv_text(options);
  drv_signals_hold();
  service = drv_service_start(its_settings, its_options, &from, wake, &error);
  drv_signals_let_go();
  return service ? Rf_ScalarString(drv_mkchar(drv_service_urls(service))) : drv_start_error(&error);
}

/* .Call: events are heard of while the session is idle, from now on; those that there are already, soon. */
SEXP drv_service_go_idle(void) {
  atomic_store(&by_callback, 1);
  if (!atomic_exchange(&called, 1)) drv_call_later(idle_callback, 0);
  return R_NilValue;
}

/* .Call: signals are noted from now on. */
SEXP drv_service_catch_signals(void) {
  drv_signals_catch(service ? bell : -1);
  return R_NilValue;
}

/* .Call: has its log file opened again, if there is one. */
SEXP drv_service_reopen_log(void) {
  if (service) drv_service_reopens_log(service);
  return R_NilValue;
}

SEXP drv_service_running(void) { return Rf_ScalarLogical(service != NULL); }

/* .Call: sleeps until there may be an event, a signal or a callback, for at most `timeout` seconds. */
SEXP drv_service_wait(SEXP timeout) {
  uint64_t rung;
  R_CheckUserInterrupt();
  if (!drv_signals_waiting() && drv_wait_for(bell, -1, (int)(Rf_asReal(timeout) * 1000), 0)) drv_run_input_handlers();
  if (read(bell, &rung, sizeof rung) < 0) rung = 0; /* the bell was not rung */
  R_CheckUserInterrupt();
  return R_NilValue;
}

/* .Call: the next event, as in service.rs; NULL when there is none. */
SEXP drv_service_news(void) {
  const drv_node *node = service ? drv_service_event(service) : NULL;
  return node ? drv_build(node) : R_NilValue;
}

/* .Call: a data frame with a row for each worker. */
SEXP drv_service_workers(void) {
  const drv_node *node = service ? drv_service_status(service) : drv_session_worker();
  if (!node) node = drv_service_no_status();
  return node ? drv_build(node) : R_NilValue;
}

/* .Call: failed requests that the server of this session keeps, as JSON: that with this id, or for "" a line about
 * each; NULL for none. */
SEXP drv_service_failed(SEXP id) {
  drv_str text = drv_failed_requests(service, drv_session_here(), drv_text(id));
  return text.ptr ? Rf_ScalarString(drv_mkchar(text)) : R_NilValue;
}

/* .Call: the latest jobs of the server of this session, at most so many, as JSON (jobs.rs): those in this state and of
 * this kind, "" for all; NULL without a server. */
SEXP drv_service_jobs(SEXP state, SEXP kind, SEXP most) {
  const drv_session *session = drv_session_here();
  drv_str text = drv_jobs(service, session, drv_text(state), drv_text(kind), (uint32_t)Rf_asInteger(most));
  return text.ptr ? Rf_ScalarString(drv_mkchar(text)) : R_NilValue;
}

/* .Call: the app is loaded anew from `source`, or `source` is a zygote of the present one. NULL, or a string: what is
 * wrong. */
SEXP drv_service_renew(SEXP source, SEXP adopt) {
  drv_error error;
  drv_source from = source_of(source);
  if (!service) return Rf_mkString("no server runs");
  if (drv_service_source(service, &from, Rf_asLogical(adopt) == TRUE, &error)) return R_NilValue;
  return Rf_ScalarString(drv_mkchar(error.message));
}

/* .Call: other bounds for the number of workers in a pool. NULL, or a string: what is wrong. */
SEXP drv_service_scale(SEXP n_min, SEXP n_max, SEXP pool) {
  drv_error error;
  if (!service) return Rf_mkString("no server runs");
  SEXP text = STRING_ELT(pool, 0);
  drv_str name = {CHAR(text), LENGTH(text)};
  if (drv_service_rescale(service, Rf_asInteger(n_min), Rf_asInteger(n_max), name, &error)) return R_NilValue;
  return Rf_ScalarString(drv_mkchar(error.message));
}

/* .Call: begins the end; the event "stopped" tells of it. */
SEXP drv_service_end(SEXP graceful_timeout) {
  if (service) drv_service_stop(service, Rf_asReal(graceful_timeout));
  return R_NilValue;
}

/* .Call: ends the server at once, if it still runs. */
SEXP drv_service_close(void) {
  drv_service *ending = service;
  service = NULL;
  if (ending) drv_service_free(ending);
  drv_console_flush();
  return R_NilValue;
}
