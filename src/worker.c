/* The main thread as worker: takes requests, calls handlers, replies.
 *
 * R code runs here, so this is where R's long jumps start and end. No Rust frame is ever below R code: the engine is asked for
 * one request, returns, the handler is called, and the engine is asked again. Around it, from the outside in:
 *
 *   drv_worker_guarded   R_ToplevelExec: stops even jumps to top level, which no R handler sees
 *   guard() in R         tryCatch and withCallingHandlers, once for as many requests as come, not once for each
 *   drv_worker_run       the loop
 *
 * A jump out of a handler ends in guard() or drv_worker_guarded(); the request that ran is then failed (drv_worker_fail) and the
 * loop entered again.
 *
 * Two ways to wait. Blocking (`dr_serve(block = TRUE)`, draining): in poll(), on the engine's bell and on whatever else R
 * waits for. Idle: not at all; the engine's threads wake the session through the event loop of the package 'later', which calls
 * idle_callback() when R is at top level, or in later::run_now().
 */
#include "worker.h"
#include "build.h"
#include "hygiene.h"
#include "intercept.h"
#include "json.h"
#include "request.h"
#include <R_ext/Rdynload.h>
#include <R_ext/eventloop.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What drv_worker_run is to do, and why it returned; R/worker.R has the same numbers. */
enum mode { IDLE = 0, BLOCK = 1, DRAIN = 2 };
enum outcome { STOPPED = 0, EVENTS = 1, QUIET = 2, ABORTED = 3 };

/* While requests keep coming, others that wait for R are looked at this often. */
#define LOOK_EVERY_NS 5000000
/* A handler that takes less is not looked at in full: what it left changed is seen when no request waits, and after LOOK_AFTER
 * requests. Next to nothing that matters can be done to a session in this time. */
#define QUICK_NS 10000
#define LOOK_AFTER 64
/* In idle mode: how long to wait for the next request before giving R back, and how long to keep it at most. */
#define LINGER_MS 2
#define KEEP_NS 20000000
/* In blocking mode, wake up this often even if nothing rings: a callback may be due that no descriptor tells of. */
#define TICK_MS 5000
#define DRAIN_MS 20

static struct {
  drv_session *session; /* the server, when it is this session's */
  drv_desk *desk;       /* requests come from here; NULL while none are served */
  SEXP calls;    /* list: for each handler the call `name`(req) */
  SEXP scope;    /* environment with those names, and `req` */
  SEXP req;      /* the request object in use, or NULL; kept by `scope` */
  SEXP cell;     /* its cell, kept by `req` */
  uint32_t handler;
  int in_handler;
  int guarded; /* depth of drv_worker_guarded */
  int stop;
  int forked;
  int unseen; /* the last handlers were too quick to look at what they left */
  uint32_t max_json_depth;
  size_t max_collisions;
} w;

/* Whether the main thread sleeps in poll() (the bell's descriptor wakes it) or has to be called through 'later'. */
static atomic_int polls;
static uint64_t (*later_exec)(void (*)(void *), void *, double, int);

SEXP drv_namespace(void) {
  static SEXP ns = NULL;
  if (!ns) {
    SEXP name = PROTECT(Rf_mkString("drover"));
    ns = R_FindNamespace(name);
    R_PreserveObject(ns);
    UNPROTECT(1);
  }
  return ns;
}

drv_desk *drv_worker_desk(void) { return w.desk; }

int drv_worker_in_handler(void) { return w.in_handler; }

int drv_worker_is_serving(void) { return w.guarded && !w.forked; }

static SEXP call_package(const char *name, SEXP argument) {
  /* the argument is a value, whatever its type: quoted, so that a call among them is not evaluated */
  SEXP quoted = PROTECT(Rf_lang2(R_QuoteSymbol, argument));
  SEXP call = PROTECT(Rf_lang2(Rf_install(name), quoted));
  SEXP value = Rf_eval(call, drv_namespace());
  UNPROTECT(2);
  return value;
}

void drv_stop_field(int status, drv_str message) {
  SEXP text = PROTECT(Rf_ScalarString(drv_mkchar(message)));
  SEXP call = PROTECT(Rf_lang3(Rf_install("stop_field"), PROTECT(Rf_ScalarInteger(status)), text));
  Rf_eval(call, drv_namespace());
  UNPROTECT(3);
  Rf_error("unreachable");
}

SEXP drv_worker_parse_json(const uint8_t *body, size_t len) {
  drv_json_error error;
  SEXP value = drv_json_parse(body, len, 1, w.max_json_depth, w.max_collisions, &error);
  if (!value) drv_stop_field(400, (drv_str){error.message, strlen(error.message)});
  return value;
}

static SEXP req_symbol(void) {
  static SEXP symbol = NULL;
  if (!symbol) symbol = Rf_install("req");
  return symbol;
}

/* ---- one request ---------------------------------------------------------------------------------------------- */

/* The child of a fork that a handler made (parallel::mcfork) came back here: its parent answers, it does not. */
static void on_fork(void) { w.forked = 1; }

static void only_parent(void) {
  if (w.forked) _exit(0);
}

/* The cell of the request in use. A handler can reach `scope`, as its parent.frame(), and take `req` out of it: then
 * the object may be gone, and is not touched. */
static SEXP current_cell(void) {
  if (!w.req || Rf_findVarInFrame(w.scope, req_symbol()) != w.req) return NULL;
  return w.cell;
}

static void ensure_request(void) {
  if (current_cell() && drv_request_is_pristine(w.req) && !drv_cell_is_open(drv_request_cell(w.cell))) {
    drv_request_reset(w.cell);
    return;
  }
  w.req = NULL;
  SEXP req = PROTECT(drv_request_new());
  Rf_defineVar(req_symbol(), req, w.scope);
  w.cell = drv_request_pointer(req);
  w.req = req;
  UNPROTECT(1);
}

static int is_promise(SEXP value) { return Rf_inherits(value, "promise"); }

/* Replies to the request of `cell` with what a handler returned. */
static void answer(SEXP cell, SEXP value) {
  only_parent();
  drv_cell *engine = drv_request_cell(cell);
  if (drv_reply_value(w.desk, engine, value)) return;
  SEXP response = PROTECT(call_package("as_response", value));
  if (is_promise(response)) {
    SEXP await = PROTECT(Rf_lang3(Rf_install("await"), PROTECT(Rf_lang2(R_QuoteSymbol, response)), cell));
    Rf_eval(await, drv_namespace());
    UNPROTECT(2);
  } else if (!drv_reply_value(w.desk, engine, response)) {
    Rf_error("R handler returned a response that cannot be sent: its body or a header is not text");
  }
  UNPROTECT(1);
}

static void repair(void) {
  /* what was replied must not wait for it */
  drv_desk_tell(w.desk);
  call_package("repair_session", R_NilValue);
  drv_hygiene_note();
}

static void after_handler(void) {
  w.in_handler = 0;
  int quick = drv_desk_finished(w.desk) < QUICK_NS;
  w.unseen = quick;
  if (quick ? drv_hygiene_options_changed() : drv_hygiene_is_disturbed()) repair();
}

static void handle(uint32_t handler, int has_params) {
  w.handler = handler;
  w.in_handler = 1;
  SEXP cell = PROTECT(w.cell);
  drv_request_set_params(w.req, cell, has_params);
  /* the argument is forced: a function that the handler leaves behind must find this request in it, not the next one */
  SEXP value = PROTECT(R_forceAndCall(VECTOR_ELT(w.calls, (R_xlen_t)handler - 1), 1, w.scope));
  answer(cell, value);
  UNPROTECT(2);
  after_handler();
}

/* ---- waiting -------------------------------------------------------------------------------------------------- */

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Sleeps until the bell rings or another descriptor of R's is readable. 1 when one of the others is. `stdin_too`: the console
 * counts as well. poll(), as R's own select() knows no descriptor from 1024 on. */
static int wait_for(int bell, int timeout_ms, int stdin_too) {
  struct pollfd fds[64];
  nfds_t n = 0;
  if (bell >= 0) fds[n++] = (struct pollfd){bell, POLLIN, 0};
  nfds_t own = n;
  for (InputHandler *h = R_InputHandlers; h && n < 64; h = h->next) {
    if (h->fileDescriptor < 0 || (h->fileDescriptor == STDIN_FILENO && !stdin_too)) continue;
    fds[n++] = (struct pollfd){h->fileDescriptor, POLLIN, 0};
  }
  if (poll(fds, n, timeout_ms) <= 0) return 0;
  for (nfds_t i = own; i < n; i++) {
    if (fds[i].revents) return 1;
  }
  return 0;
}

static void run_input_handlers(void) {
  fd_set *ready = R_checkActivity(0, 1);
  if (ready) R_runHandlers(R_InputHandlers, ready);
}

/* Sleeps on the bell. 1 when R has other things to do. */
static int doze(int timeout_ms, int stdin_too) {
  atomic_store(&polls, 1);
  int others = 0;
  if (drv_desk_doze(w.desk)) {
    others = wait_for(drv_desk_bell(w.desk), timeout_ms, stdin_too);
    drv_desk_awake(w.desk);
  }
  return others;
}

/* ---- the loop ------------------------------------------------------------------------------------------------- */

SEXP drv_worker_run(SEXP mode_) {
  enum mode mode = Rf_asInteger(mode_);
  int64_t began = now_ns(), looked = began;
  for (unsigned n = 1;; n++) {
    if (!w.desk || (w.stop && mode != DRAIN)) return Rf_ScalarInteger(STOPPED);
    ensure_request();
    int32_t has_params = 0;
    uint32_t handler = drv_desk_next(w.desk, drv_request_cell(w.cell), &has_params);
    if (handler) {
      handle(handler, has_params);
      if (n % LOOK_AFTER) continue;
    }
    if (w.unseen) {
      w.unseen = 0;
      if (drv_hygiene_is_disturbed()) repair();
    }
    R_CheckUserInterrupt();
    int64_t now = now_ns();
    if (handler) {
      if (now - looked < LOOK_EVERY_NS) continue;
      looked = now;
      if (mode == BLOCK && wait_for(-1, 0, 0)) {
        run_input_handlers();
        return Rf_ScalarInteger(EVENTS);
      }
      if (mode == IDLE && now - began > KEEP_NS) return Rf_ScalarInteger(EVENTS);
      continue;
    }
    switch (mode) {
    case BLOCK: {
      int64_t before = now;
      if (doze(TICK_MS, 0)) run_input_handlers();
      else if (now_ns() - before < (int64_t)TICK_MS * 1000000) continue;
      return Rf_ScalarInteger(EVENTS);
    }
    case DRAIN:
      if (drv_session_drained(w.session)) return Rf_ScalarInteger(STOPPED);
      if (doze(DRAIN_MS, 0)) run_input_handlers();
      return Rf_ScalarInteger(EVENTS);
    case IDLE:
      if (now - began > KEEP_NS || doze(LINGER_MS, 1) || now_ns() - now >= (int64_t)LINGER_MS * 1000000)
        return Rf_ScalarInteger(QUIET);
    }
  }
}

typedef struct {
  SEXP guard, mode, outcome;
} guarded;

static void call_guard(void *data) {
  guarded *g = data;
  SEXP call = PROTECT(Rf_lang2(g->guard, g->mode));
  g->outcome = Rf_eval(call, drv_namespace());
  UNPROTECT(1);
}

/* Runs guard(mode). An outcome that no R code saw coming is ABORTED. */
SEXP drv_worker_guarded(SEXP guard, SEXP mode) {
  guarded g = {guard, mode, R_NilValue};
  w.guarded++;
  Rboolean done = R_ToplevelExec(call_guard, &g);
  w.guarded--;
  return done ? g.outcome : Rf_ScalarInteger(ABORTED);
}

/* ---- idle mode ------------------------------------------------------------------------------------------------ */

static void idle_callback(void *unused) {
  (void)unused;
  if (!w.desk) return;
  if (w.in_handler) {
    /* a handler runs later::run_now(): one request at a time */
    later_exec(idle_callback, NULL, 0.01, 0);
    return;
  }
  int again = Rf_asInteger(call_package("serve_idle", R_NilValue));
  if (!w.desk) return;
  atomic_store(&polls, 0);
  if (again || !drv_desk_doze(w.desk)) later_exec(idle_callback, NULL, 0, 0);
}

/* From I/O threads. 'later' takes callbacks from any thread. */
static int32_t ring(void) {
  if (atomic_load(&polls)) return 0;
  later_exec(idle_callback, NULL, 0, 0);
  return 1;
}

/* ---- .Call ---------------------------------------------------------------------------------------------------- */

static drv_str text_of(SEXP string) {
  if (TYPEOF(string) != STRSXP || XLENGTH(string) != 1 || STRING_ELT(string, 0) == NA_STRING) return (drv_str){"", 0};
  const char *text = Rf_translateCharUTF8(STRING_ELT(string, 0));
  return (drv_str){text, strlen(text)};
}

static SEXP start_error(const drv_error *error) {
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(out, 0, Rf_ScalarInteger(error->status));
  SET_VECTOR_ELT(out, 1, Rf_ScalarString(drv_mkchar(error->message)));
  UNPROTECT(1);
  return out;
}

/* Starts a server. `scope` has `names` bound to the handlers. The port, or list(kind, message) when it cannot be started. */
SEXP drv_worker_start(SEXP json, SEXP scope, SEXP names, SEXP limits) {
  static int prepared = 0;
  if (w.desk) Rf_error("a server is running");
  if (!prepared) {
    later_exec = (uint64_t(*)(void (*)(void *), void *, double, int))R_GetCCallable("later", "execLaterNative2");
    pthread_atfork(NULL, NULL, on_fork);
    drv_intercept();
    prepared = 1;
  }
  SEXP calls = PROTECT(Rf_allocVector(VECSXP, XLENGTH(names)));
  for (R_xlen_t i = 0; i < XLENGTH(names); i++) {
    SET_VECTOR_ELT(calls, i, Rf_lang2(Rf_installTrChar(STRING_ELT(names, i)), req_symbol()));
  }
  drv_str text = text_of(json);
  drv_error error;
  atomic_store(&polls, 0);
  drv_session *session = drv_session_start(text.ptr, text.len, ring, &w.desk, &error);
  if (!session) {
    SEXP out = start_error(&error);
    UNPROTECT(1);
    return out;
  }
  R_PreserveObject(calls);
  R_PreserveObject(scope);
  w.calls = calls;
  w.scope = scope;
  w.req = NULL;
  w.stop = w.in_handler = 0;
  w.max_json_depth = (uint32_t)Rf_asInteger(VECTOR_ELT(limits, 0));
  w.max_collisions = (size_t)Rf_asReal(VECTOR_ELT(limits, 1));
  w.session = session;
  drv_hygiene_note();
  UNPROTECT(1);
  /* from here on a request rings; one that came before is found now */
  if (!drv_desk_doze(w.desk)) later_exec(idle_callback, NULL, 0, 0);
  return Rf_ScalarInteger(drv_session_port(session));
}

/* The handler that ran has failed: its request gets an error of the server's making, unless it was answered already. */
SEXP drv_worker_fail(SEXP status, SEXP detail, SEXP headers) {
  only_parent();
  if (!w.desk) return R_NilValue;
  SEXP cell = current_cell();
  if (cell && drv_cell_is_open(drv_request_cell(cell)))
    drv_reply_failure(w.desk, drv_request_cell(cell), Rf_asInteger(status), text_of(detail), headers);
  if (w.in_handler) after_handler();
  return R_NilValue;
}

/* The same, with what dr_on_error() made of it. */
SEXP drv_worker_answer(SEXP value) {
  SEXP cell = w.desk ? current_cell() : NULL;
  if (cell && drv_cell_is_open(drv_request_cell(cell))) answer(cell, value);
  if (w.in_handler) after_handler();
  return R_NilValue;
}

/* A promise has come to its end. */
SEXP drv_worker_settle(SEXP cell, SEXP value) {
  if (!w.desk || !drv_cell_is_open(drv_request_cell(cell))) return R_NilValue;
  answer(cell, value);
  drv_desk_tell(w.desk);
  return R_NilValue;
}

SEXP drv_worker_settle_failure(SEXP cell, SEXP status, SEXP detail, SEXP headers) {
  only_parent();
  if (!w.desk || !drv_cell_is_open(drv_request_cell(cell))) return R_NilValue;
  drv_reply_failure(w.desk, drv_request_cell(cell), Rf_asInteger(status), text_of(detail), headers);
  drv_desk_tell(w.desk);
  return R_NilValue;
}

/* Logs a line, about the request of `cell`, about the one that runs when `cell` is TRUE, or about none when it is NULL. */
SEXP drv_worker_log(SEXP level, SEXP text, SEXP cell) {
  if (!w.desk) return R_NilValue;
  const drv_cell *about = NULL;
  if (TYPEOF(cell) == EXTPTRSXP) about = drv_request_cell(cell);
  else if (TYPEOF(cell) == LGLSXP && current_cell()) about = drv_request_cell(w.cell);
  drv_desk_log(w.desk, about, Rf_asInteger(level), text_of(text));
  return R_NilValue;
}

/* list(running, in_handler, handler, req) */
SEXP drv_worker_state(void) {
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 4));
  SET_VECTOR_ELT(out, 0, Rf_ScalarLogical(w.desk != NULL));
  SET_VECTOR_ELT(out, 1, Rf_ScalarLogical(w.in_handler));
  SET_VECTOR_ELT(out, 2, Rf_ScalarInteger((int)w.handler));
  SET_VECTOR_ELT(out, 3, current_cell() ? w.req : R_NilValue);
  UNPROTECT(1);
  return out;
}

SEXP drv_worker_drain(void) {
  w.stop = 1;
  if (w.session) drv_session_drain(w.session);
  return R_NilValue;
}

SEXP drv_worker_stop(void) {
  drv_session *session = w.session;
  if (!session) return R_NilValue;
  drv_desk *desk = w.desk;
  w.session = NULL;
  w.desk = NULL;
  drv_session_free(session);
  drv_desk_free(desk);
  R_ReleaseObject(w.calls);
  R_ReleaseObject(w.scope);
  w.calls = w.scope = w.req = w.cell = NULL;
  return R_NilValue;
}

SEXP drv_pattern(SEXP text) {
  drv_str s = text_of(text);
  drv_error error;
  const drv_node *node = drv_pattern_parse(s.ptr, s.len, &error);
  return node ? drv_build(node) : Rf_ScalarString(drv_mkchar(error.message));
}
