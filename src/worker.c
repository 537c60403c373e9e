/* The main thread as worker: takes requests, calls handlers, replies. The same in a session that is its own worker
 * (session.c) and in a worker process (process.c).
 *
 * R code runs here, so this is where R's long jumps start and end. No Rust frame is ever below R code: the engine is
 * asked for one request, returns, the handler is called, and the engine is asked again. Around it, from the outside in:
 *
 *   drv_worker_guarded   R_ToplevelExec: stops even jumps to top level, which no R handler sees
 *   guard() in R         tryCatch and withCallingHandlers, once for as many requests as come, not once for each
 *   drv_worker_run       the loop
 *
 * A jump out of a handler ends in guard() or drv_worker_guarded(); the request that ran is then answered
 * (drv_worker_answer) and the loop entered again.
 *
 * Two ways to wait. Blocking (`dr_serve(block = TRUE)`, draining, a worker process): in poll(), on the bell and on
 * whatever else R waits for. Idle: not at all; session.c has the loop called when requests wait.
 */
#include "worker.h"
#include "values.h"
#include "build.h"
#include "channels.h"
#include "clock.h"
#include "heap.h"
#include "hygiene.h"
#include "inspection.h"
#include "json.h"
#include "opened.h"
#include "plain_endpoint.h"
#include "printed.h"
#include "process.h"
#include "request.h"
#include "rest.h"
#include "session.h"
#include "signals.h"
#include "streams.h"
#include <R_ext/eventloop.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
/* R_interrupts_suspended; after Rinternals.h, whose types it uses */
#include <R_ext/GraphicsEngine.h>

/* What drv_worker_run is to do, and why it returned; R/worker.R has the same numbers. */
enum mode { IDLE = 0, BLOCK = 1, DRAIN = 2 };
enum outcome { STOPPED = 0, EVENTS = 1, QUIET = 2, ABORTED = 3 };

/* Of drv_reply_value: the head of a stream was made. */
enum { STREAM = 2 };

/* While requests keep coming, others that wait for R are looked at this often. */
#define LOOK_EVERY_NS 5000000
/* A handler that takes less is not looked at in full: what it left changed is seen when no request waits, and after
 * LOOK_AFTER requests. Next to nothing that matters can be done to a session in this time. */
#define QUICK_NS 10000
#define LOOK_AFTER 64
/* In idle mode: how long to wait for the next request before giving R back, and how long to keep it at most. */
#define LINGER_MS 2
#define KEEP_NS 20000000
/* In blocking mode, wake up this often even if nothing rings: a callback may be due that no descriptor tells of. */
#define TICK_MS 5000
#define DRAIN_MS 20

static struct {
  drv_link *link; /* requests come from here; NULL while none are served */
  SEXP calls;     /* list: for each handler the call `name`(req) */
  SEXP plain;     /* list: for each handler its attribute `plain`, see plain_endpoint.h, or NULL */
  SEXP scope;     /* environment with those names, and `req` */
  SEXP req;       /* the request object in use, or NULL; kept by `scope` */
  SEXP cell;      /* its cell, kept by `req` */
  uint32_t handler;
  volatile sig_atomic_t in_handler; /* asked by a signal handler, too: session.c */
  volatile sig_atomic_t asks;       /* the handler has asked at the console: somebody is looking at it */
  int forgets;                      /* what was answered is forgotten now */
  enum mode mode;                   /* of the loop that runs */
  int guarded;  /* depth of drv_worker_guarded */
  int lets_interrupts_in; /* of the innermost: a session's, where they were not held back outside of it */
  int stop;     /* nothing new is taken */
  int forked;   /* a child that a handler made came back here */
  int awaiting; /* requests whose handlers have returned a promise that is still open */
  int callbacks_left; /* those of 'later' that are due had their time, and more are due */
  int unseen;   /* the last handlers were too quick to look at what they left */
  uint32_t max_json_depth;
  size_t max_collisions;
} w;

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

drv_link *drv_worker_link(void) { return w.link; }

int drv_worker_in_handler(void) { return w.in_handler || drv_streams_are_called(); }

int drv_worker_has_asked(void) { return w.asks; }

int drv_worker_is_idle(void) { return w.mode == IDLE; }

void drv_worker_asks(void) {
  static int told = 0;
  if (!told) {
    told = 1;
    REprintf("drover: a handler asks here (Q leaves browser()). Other requests wait, and clients that have waited for "
             "`timeout` get 504 or 503; with dr_serve(timeouts = dr_timeouts(timeout = 0)) they wait on.\n");
  }
  w.asks = 1;
}

int drv_worker_forgets_answers(void) { return w.forgets; }

/* The prompt beneath, which waited while the handler asked, must not take what the handler was answered for its own: R
 * keeps the line that ended browser() until its reader begins again, and that there was input until it looks again. */
static void forget_answers(void) {
  w.asks = 0;
  w.forgets = 1;
  drv_call_package("begin_reading_again", R_NilValue);
  w.forgets = 0;
  R_checkActivity(0, 1);
}

int drv_worker_is_serving(void) { return w.guarded && !w.forked; }

int drv_worker_is_forked(void) { return w.forked; }

int drv_worker_is_waiting_for_promises(void) { return w.awaiting > 0; }

SEXP drv_call_package(const char *name, SEXP argument) {
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

/* The child of a fork that a handler made (parallel::mcfork) came back here: its parent answers, it does not. A worker
 * that was forked to be one is no such child. */
void drv_worker_on_fork(void) {
  w.forked = 1;
  drv_signals_on_fork();
  drv_process_on_fork();
}
void drv_worker_is_meant(void) { w.forked = 0; }

static void only_parent(void) {
  if (w.forked) drv_process_leave(0);
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
  /* an object takes longer to make than a small reply: what was replied does not wait for it */
  drv_link_tell(w.link);
  SEXP req = PROTECT(drv_request_new());
  Rf_defineVar(req_symbol(), req, w.scope);
  w.cell = drv_request_pointer(req);
  w.req = req;
  UNPROTECT(1);
}

static int is_promise(SEXP value) { return Rf_inherits(value, "promise"); }

/* A reply is made: sends it, unless the R code that ran meanwhile (ALTREP) has ended the server. 1 when a file went
 * with it. */
static int send_reply(SEXP cell) { return w.link ? drv_reply_send(w.link, drv_request_cell(cell)) : 0; }

/* An error in the words of the server: problem_response() in R, which middleware may have changed. */
static int reply_problem(SEXP cell, SEXP problem) {
  int status = Rf_asInteger(drv_first(problem, "status"));
  if (status < 400 || status > 599) return 0;
  drv_reply_failure(status, drv_text(drv_first(problem, "body")), drv_first(problem, "headers"));
  send_reply(cell);
  return 1;
}

/* 0 when `value` has no reply of its own: then nothing was sent. */
static int reply_value(SEXP cell, SEXP value) {
  if (OBJECT(value) && Rf_inherits(value, "dr_problem") && reply_problem(cell, value)) return 1;
  SEXP before = drv_json_reads(value);
  int made = drv_reply_value(value);
  drv_json_reads(before);
  if (made == STREAM) {
    if (w.link) drv_streams_open(w.link, cell, value);
  } else if (made && send_reply(cell)) drv_opened_close(value);
  return made;
}

/* Replies to the request of `cell` with what a handler returned. 1 when that was a promise: the reply comes later. */
static int answer(SEXP cell, SEXP value) {
  only_parent();
  PROTECT(cell);
  if (reply_value(cell, value)) {
    UNPROTECT(1);
    return 0;
  }
  int later = 0;
  SEXP response = PROTECT(drv_call_package("as_response", value));
  if (is_promise(response)) {
    SEXP await = PROTECT(Rf_lang3(Rf_install("await"), PROTECT(Rf_lang2(R_QuoteSymbol, response)), cell));
    Rf_eval(await, drv_namespace());
    UNPROTECT(2);
    later = 1;
  } else if (!reply_value(cell, response)) {
    Rf_error("R handler returned a response that cannot be sent: its body or a header is not text");
  }
  UNPROTECT(2);
  return later;
}

/* The same in a call by the name of the route: samples of R's stack show then whose answer is being written. */
static int answer_by_name(SEXP name, SEXP cell, SEXP value) {
  SEXP quoted = PROTECT(Rf_lang2(R_QuoteSymbol, value));
  SEXP call = PROTECT(Rf_lang3(name, cell, quoted));
  int later = Rf_asInteger(Rf_eval(call, drv_inspection_answers()));
  UNPROTECT(2);
  return later;
}

static void repair(void) {
  /* what was replied must not wait for it */
  drv_link_tell(w.link);
  SEXP awaiting = PROTECT(Rf_ScalarLogical(w.awaiting > 0));
  drv_call_package("repair_session", awaiting);
  UNPROTECT(1);
  drv_hygiene_note();
}

static void after_call(int quick) {
  w.unseen = quick;
  drv_process_handled(quick);
  if (quick ? drv_hygiene_options_changed() : drv_hygiene_is_disturbed()) repair();
}

static void after_handler(void) {
  drv_rest_is_over();
  drv_printed_flush();
  w.in_handler = 0;
  drv_session_handled();
  if (w.asks) forget_answers();
  if (!w.link) return;
  uint64_t took = drv_link_finished(w.link);
  if (drv_inspection_samples) drv_inspection_ran(w.handler, took);
  after_call(took < QUICK_NS);
}

/* When the generator that runs was called. */
static int64_t generator_began;

void drv_worker_begins_stream(void) {
  w.asks = 0;
  generator_began = drv_now_ns();
  drv_process_begins();
}

void drv_worker_ended_stream(void) {
  drv_rest_is_over();
  drv_printed_flush();
  only_parent();
  if (w.asks) forget_answers();
  if (w.link) after_call(drv_now_ns() - generator_began < QUICK_NS);
}

static void handle(uint32_t handler, int traits) {
  w.handler = handler;
  w.asks = 0;
  w.in_handler = 1;
  drv_process_begins();
  SEXP cell = PROTECT(w.cell);
  SEXP call = VECTOR_ELT(w.calls, (R_xlen_t)handler - 1), value;
  if (traits & DRV_IS_EVENT) {
    SEXP params = PROTECT(traits & DRV_HAS_PARAMS ? drv_request_params(cell) : R_NilValue);
    value = drv_channels_event(Rf_findVarInFrame(w.scope, CAR(call)), cell, params);
    UNPROTECT(1);
  } else {
    drv_request_set_params(w.req, cell, traits & DRV_HAS_PARAMS);
    /* the argument is forced: a function that the handler leaves behind must find this request in it, not the next */
    SEXP plain = VECTOR_ELT(w.plain, (R_xlen_t)handler - 1);
    /* without a call by its name, it is in no sample */
    if (drv_inspection_samples) plain = R_NilValue;
    value = plain == R_NilValue ? plain : drv_plain_endpoint_whole(w.req, plain);
    if (value == R_NilValue) value = R_forceAndCall(call, 1, w.scope);
  }
  PROTECT(value);
  w.awaiting += drv_inspection_samples ? answer_by_name(CAR(call), cell, value) : answer(cell, value);
  UNPROTECT(2);
  after_handler();
}

/* ---- waiting -------------------------------------------------------------------------------------------------- */

int drv_wait_for(int bell, int control, int timeout_ms, int stdin_too) {
  struct pollfd fds[64];
  nfds_t n = 0;
  if (bell >= 0) fds[n++] = (struct pollfd){bell, POLLIN, 0};
  nfds_t own = n;
  if (control >= 0) fds[n++] = (struct pollfd){control, POLLIN, 0};
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

void drv_run_input_handlers(void) {
  fd_set *ready = R_checkActivity(0, 1);
  if (ready) R_runHandlers(R_InputHandlers, ready);
}

/* Sleeps on the bell. 1 when R has other things to do. */
static int doze(int timeout_ms, int stdin_too) {
  drv_session_polls();
  int others = 0;
  if (drv_link_doze(w.link)) {
    others = drv_wait_for(drv_link_bell(w.link), drv_process_control(), timeout_ms, stdin_too);
    drv_link_awake(w.link);
  }
  return others;
}

/* There has been nothing to do for a while. */
static void rest(void) {
  SEXP cell = current_cell();
  if (cell && drv_request_is_pristine(w.req)) drv_cell_rest(drv_request_cell(cell));
  drv_rest();
}

/* What woke us was no request. */
static void look_around(void) {
  drv_run_input_handlers();
  if (drv_process_hear()) w.stop = 1;
}

/* ---- the loop ------------------------------------------------------------------------------------------------- */

static SEXP run(enum mode mode) {
  w.mode = mode;
  drv_inspection_attend();
  int64_t began = drv_now_ns(), looked = began;
  for (unsigned n = 1;; n++) {
    /* who waits for something else, as a reload or the server's end does, goes on until that is there */
    int ends = mode == BLOCK && (w.stop || drv_signals_waiting());
    if (!w.link || ends) return Rf_ScalarInteger(STOPPED);
    ensure_request();
    int32_t traits = 0;
    uint32_t handler = drv_link_next(w.link, drv_request_cell(w.cell), &traits);
    if (handler) handle(handler, traits);
    /* in turn, so that neither keeps the other waiting */
    int busy = drv_streams_call(w.link) || handler;
    /* what was not quick may have used up the time, be it alone */
    if (busy && w.unseen && n % LOOK_AFTER) continue;
    if (w.unseen) {
      w.unseen = 0;
      if (drv_hygiene_is_disturbed()) repair();
    }
    drv_process_check_events();
    int64_t now = drv_now_ns();
    drv_heap_look(now);
    if (!busy && drv_rest_begins(now)) rest();
    if (busy) {
      if (now - looked < LOOK_EVERY_NS) continue;
      looked = now;
      if (mode == BLOCK && (w.callbacks_left || drv_wait_for(-1, drv_process_control(), 0, 0) ||
                            drv_process_callbacks_due_in(TICK_MS) <= 0)) {
        look_around();
        return Rf_ScalarInteger(EVENTS);
      }
      if (mode != BLOCK && now - began > KEEP_NS) {
        if (mode == DRAIN) look_around();
        return Rf_ScalarInteger(EVENTS);
      }
      continue;
    }
    switch (mode) {
    case BLOCK: {
      if (w.callbacks_left) {
        look_around();
        return Rf_ScalarInteger(EVENTS);
      }
      int64_t before = now;
      int patience = drv_process_patience(TICK_MS);
      int due = drv_streams_due_in(w.link, patience);
      if (doze(due, 0)) look_around();
      else if (due < patience) continue;
      else if (drv_now_ns() - before < (int64_t)patience * 1000000 || !drv_process_patience_is_over(TICK_MS)) continue;
      return Rf_ScalarInteger(EVENTS);
    }
    case DRAIN:
      /* of a process whose server has given its streams up, each generator hears of it */
      drv_streams_end_early(w.link, drv_process_is_asked());
      if (drv_streams_due_in(w.link, 1) <= 0) continue;
      if (drv_session_is_drained()) return Rf_ScalarInteger(STOPPED);
      if (doze(drv_streams_due_in(w.link, w.callbacks_left ? 0 : DRAIN_MS), 0)) look_around();
      return Rf_ScalarInteger(EVENTS);
    case IDLE: {
      int due = drv_streams_due_in(w.link, LINGER_MS);
      if (now - began > KEEP_NS || doze(due, 1) || drv_now_ns() - now >= (int64_t)LINGER_MS * 1000000)
        return Rf_ScalarInteger(QUIET);
    }
    }
  }
}

/* .Call, from guard(). */
SEXP drv_worker_run(SEXP mode) {
  if (w.lets_interrupts_in) {
    R_interrupts_suspended = FALSE;
    R_CheckUserInterrupt();
  }
  SEXP outcome = run(Rf_asInteger(mode));
  if (w.lets_interrupts_in) R_interrupts_suspended = TRUE;
  return outcome;
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

/* Runs guard(mode). An outcome that no R code saw coming is ABORTED.
 *
 * Interrupts are held back until guard() can take one: before that, one would jump to top level, and Ctrl-C would be
 * lost. */
SEXP drv_worker_guarded(SEXP guard, SEXP mode) {
  guarded g = {guard, mode, R_NilValue};
  /* before the contexts that a handler may jump to */
  drv_process_is_between();
  Rboolean suspended = R_interrupts_suspended;
  int outer = w.lets_interrupts_in;
  w.lets_interrupts_in = !suspended;
  R_interrupts_suspended = TRUE;
  w.guarded++;
  Rboolean done = R_ToplevelExec(call_guard, &g);
  w.guarded--;
  R_interrupts_suspended = suspended;
  w.lets_interrupts_in = outer;
  drv_process_is_between();
  return done ? g.outcome : Rf_ScalarInteger(ABORTED);
}

/* ---- .Call ---------------------------------------------------------------------------------------------------- */

drv_str drv_text(SEXP string) {
  if (TYPEOF(string) != STRSXP || XLENGTH(string) != 1 || STRING_ELT(string, 0) == NA_STRING) return (drv_str){"", 0};
  const char *text = Rf_translateCharUTF8(STRING_ELT(string, 0));
  return (drv_str){text, strlen(text)};
}

const drv_str *drv_texts(SEXP strings) {
  R_xlen_t n = XLENGTH(strings);
  drv_str *out = (drv_str *)R_alloc(n ? (size_t)n : 1, sizeof(drv_str));
  for (R_xlen_t i = 0; i < n; i++) {
    const char *text = Rf_translateCharUTF8(STRING_ELT(strings, i));
    out[i] = (drv_str){text, strlen(text)};
  }
  return out;
}

/* Takes the handlers of an app: `scope` has `names` bound to them. */
SEXP drv_worker_app(SEXP scope, SEXP names, SEXP limits) {
  if (w.link) Rf_error("a server is running");
  drv_worker_forget_app();
  SEXP calls = PROTECT(Rf_allocVector(VECSXP, XLENGTH(names)));
  SEXP plain = PROTECT(Rf_allocVector(VECSXP, XLENGTH(names)));
  for (R_xlen_t i = 0; i < XLENGTH(names); i++) {
    SEXP name = Rf_installTrChar(STRING_ELT(names, i));
    SET_VECTOR_ELT(calls, i, Rf_lang2(name, req_symbol()));
    SET_VECTOR_ELT(plain, i, Rf_getAttrib(Rf_findVarInFrame(scope, name), Rf_install("plain")));
  }
  R_PreserveObject(calls);
  R_PreserveObject(plain);
  R_PreserveObject(scope);
  w.calls = calls;
  w.plain = plain;
  w.scope = scope;
  w.max_json_depth = (uint32_t)Rf_asInteger(VECTOR_ELT(limits, 0));
  w.max_collisions = (size_t)Rf_asReal(VECTOR_ELT(limits, 1));
  UNPROTECT(2);
  return R_NilValue;
}

void drv_worker_forget_app(void) {
  if (!w.calls) return;
  R_ReleaseObject(w.calls);
  R_ReleaseObject(w.plain);
  R_ReleaseObject(w.scope);
  w.calls = w.plain = w.scope = w.req = w.cell = NULL;
}

void drv_worker_open(drv_link *link) {
  w.req = NULL;
  w.stop = w.in_handler = w.awaiting = w.callbacks_left = w.unseen = 0;
  w.link = link;
  drv_rest_note();
  drv_hygiene_note();
}

void drv_worker_stop(void) { w.stop = 1; }

void drv_worker_close(void) {
  drv_link *link = w.link;
  w.link = NULL;
  if (link) drv_link_free(link);
  drv_streams_forget();
  drv_worker_forget_app();
}

/* The handler that ran has failed: its request gets this answer, unless it had one already. */
SEXP drv_worker_answer(SEXP value) {
  SEXP cell = w.link ? current_cell() : NULL;
  if (cell && drv_cell_is_open(drv_request_cell(cell))) w.awaiting += answer(cell, value);
  if (w.in_handler) after_handler();
  return R_NilValue;
}

/* What answer_by_name() calls. */
SEXP drv_worker_answer_in_frame(SEXP cell, SEXP value) { return Rf_ScalarInteger(answer(cell, value)); }

/* A promise has come to its end. */
SEXP drv_worker_settle(SEXP cell, SEXP value) {
  if (!w.link || !drv_cell_is_open(drv_request_cell(cell))) return R_NilValue;
  w.awaiting -= !answer(cell, value);
  drv_rest_is_over();
  if (w.link) drv_link_tell(w.link);
  drv_session_minds_time();
  return R_NilValue;
}

/* Whether callbacks are due that have not been called, so that requests have their turn before. */
SEXP drv_worker_leaves_callbacks(SEXP left) {
  w.callbacks_left = Rf_asLogical(left) == TRUE;
  return R_NilValue;
}

/* Logs a line, about the request of `cell`, about the one that runs when `cell` is TRUE, or about none when it is
 * NULL. */
SEXP drv_worker_log(SEXP level, SEXP text, SEXP cell) {
  if (!w.link) return R_NilValue;
  const drv_cell *about = NULL;
  if (TYPEOF(cell) == EXTPTRSXP) about = drv_request_cell(cell);
  else if (TYPEOF(cell) == LGLSXP && current_cell()) about = drv_request_cell(w.cell);
  drv_link_log(w.link, about, Rf_asInteger(level), drv_text(text));
  return R_NilValue;
}

void drv_worker_log_printed(drv_str text, int to_stderr) {
  if (!w.link) return;
  const drv_cell *about = w.in_handler && current_cell() ? drv_request_cell(w.cell) : NULL;
  drv_link_log_printed(w.link, about, to_stderr, text);
}

/* list(running, in_handler, handler, req) */
SEXP drv_worker_state(void) {
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 4));
  SET_VECTOR_ELT(out, 0, Rf_ScalarLogical(w.link != NULL));
  SET_VECTOR_ELT(out, 1, Rf_ScalarLogical(w.in_handler));
  SET_VECTOR_ELT(out, 2, Rf_ScalarInteger((int)w.handler));
  SET_VECTOR_ELT(out, 3, current_cell() ? w.req : R_NilValue);
  UNPROTECT(1);
  return out;
}

SEXP drv_phrase(SEXP status) {
  return Rf_ScalarString(drv_mkchar(drv_status_phrase(Rf_asInteger(status))));
}
