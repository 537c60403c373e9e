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
 * Two ways to wait. Blocking (`dr_serve(block = TRUE)`, draining, a worker process): in poll(), on the bell and on R's
 * input handlers. Idle: not at all; session.c has the loop called when requests wait.
 */
#include "worker.h"
#include "after_handler.h"
#include "websockets.h"
#include "clock.h"
#include "heap.h"
#include "inspection.h"
#include "json.h"
#include "opened.h"
#include "plain_endpoint.h"
#include "printed.h"
#include "process.h"
#include "r.h"
#include "request.h"
#include "rest.h"
#include "seed.h"
#include "serving.h"
#include "session.h"
#include "signals.h"
#include "state.h"
#include "streams.h"
#include "values.h"
#include "wait.h"
/* R_interrupts_suspended; after Rinternals.h, whose types it uses */
#include <R_ext/GraphicsEngine.h>

/* What drv_worker_run is to do, and why it returned; R/worker-loop.R has the same numbers. */
enum mode { IDLE = 0, BLOCK = 1, DRAIN = 2 };
enum outcome { STOPPED = 0, EVENTS = 1, QUIET = 2, ABORTED = 3 };

/* Of drv_reply_value: the head of a stream was made. */
enum { STREAM = 2 };

/* While requests keep coming, others that wait for R are looked at this often. */
#define LOOK_EVERY_NS 5000000
/* While quick requests keep coming, what they left is looked at this often. */
#define LOOK_AFTER 64
/* In idle mode: how long to wait for the next request before giving R back, and how long to keep it at most. */
#define LINGER_MS 2
#define KEEP_NS 20000000
/* In blocking mode, wake up this often even if nothing rings: a callback may be due that no descriptor tells of. */
#define TICK_MS 5000
#define DRAIN_MS 20

static struct {
  uint32_t handler;       /* the number of the one that runs, or ran last */
  int lets_interrupts_in; /* of the innermost call of guard(): a session's, where they were not held back outside */
} w;

/* ---- one request ---------------------------------------------------------------------------------------------- */

static int is_promise(SEXP value) { return Rf_inherits(value, "promise"); }

/* A reply is made: sends it, unless the R code that ran meanwhile (ALTREP) has ended the server. 1 when a file went
 * with it. */
static int send_reply(SEXP cell) {
  if (!drv_here.link) return 0;
  drv_seed_tell(cell);
  return drv_reply_send(drv_here.link, drv_request_cell(cell));
}

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
    if (drv_here.link) drv_streams_open(drv_here.link, cell, value);
  } else if (made && send_reply(cell)) drv_opened_close(value);
  return made;
}

/* Replies to the request of `cell` with what a handler returned. 1 when that was a promise: the reply comes later. */
static int answer(SEXP cell, SEXP value) {
  drv_only_parent();
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

static void after_handler(void) {
  drv_rest_is_over();
  drv_printed_flush();
  drv_here.in_handler = 0;
  drv_session_handled();
  drv_forget_answers();
  if (!drv_here.link) return;
  uint64_t took = drv_link_finished(drv_here.link);
  if (drv_inspection_samples) drv_inspection_ran(w.handler, took);
  drv_after_call(took);
}

static void handle(uint32_t handler, int traits) {
  w.handler = handler;
  drv_before_call();
  drv_seed_note();
  drv_here.in_handler = 1;
  SEXP cell = PROTECT(drv_app.cell);
  SEXP call = VECTOR_ELT(drv_app.calls, (R_xlen_t)handler - 1), value;
  if (traits & DRV_IS_EVENT) {
    SEXP params = PROTECT(traits & DRV_HAS_PARAMS ? drv_request_params(cell) : R_NilValue);
    value = drv_websocket_event(Rf_findVarInFrame(drv_app.scope, CAR(call)), cell, params);
    UNPROTECT(1);
  } else {
    drv_request_set_params(drv_app.req, cell, traits & DRV_HAS_PARAMS);
    /* the argument is forced: a function that the handler leaves behind must find this request in it, not the next */
    SEXP plain = VECTOR_ELT(drv_app.plain, (R_xlen_t)handler - 1);
    /* without a call by its name, it is in no sample */
    if (drv_inspection_samples) plain = R_NilValue;
    value = plain == R_NilValue ? plain : drv_plain_endpoint_whole(drv_app.req, plain);
    if (value == R_NilValue) value = R_forceAndCall(call, 1, drv_app.scope);
  }
  PROTECT(value);
  drv_here.awaiting += drv_inspection_samples ? answer_by_name(CAR(call), cell, value) : answer(cell, value);
  UNPROTECT(2);
  after_handler();
}

/* ---- waiting -------------------------------------------------------------------------------------------------- */

/* Sleeps on the bell. 1 when R has other things to do. */
static int doze(int timeout_ms, int stdin_too) {
  drv_here.polls = 1;
  int others = 0;
  if (drv_link_doze(drv_here.link)) {
    others = drv_wait_for(drv_link_bell(drv_here.link), drv_here.control, timeout_ms, stdin_too);
    drv_link_awake(drv_here.link);
  }
  return others;
}

/* There has been nothing to do for a while. */
static void rest(void) {
  SEXP cell = drv_serving_cell();
  if (cell && drv_request_is_pristine(drv_app.req)) drv_cell_rest(drv_request_cell(cell));
  drv_rest();
}

/* What woke us was no request. */
static void look_around(void) {
  drv_run_input_handlers();
  if (drv_process_receive()) drv_here.stops = 1;
}

/* ---- the loop ------------------------------------------------------------------------------------------------- */

static SEXP run(enum mode mode) {
  drv_here.is_idle = mode == IDLE;
  drv_inspection_attend();
  int64_t began = drv_now_ns(), looked = began;
  for (unsigned n = 1;; n++) {
    /* other modes go on: a reload, or the server's end, waits for a condition of its own */
    int ends = mode == BLOCK && (drv_here.stops || drv_signals_waiting());
    if (!drv_here.link || ends) return Rf_ScalarInteger(STOPPED);
    drv_serving_ensure_request();
    int32_t traits = 0;
    uint32_t handler = drv_link_next(drv_here.link, drv_request_cell(drv_app.cell), &traits);
    if (handler) handle(handler, traits);
    /* in turn, so that neither keeps the other waiting */
    int busy = drv_streams_call(drv_here.link) || handler;
    /* a single handler that was not quick may have used up the time */
    if (busy && drv_here.unseen && n % LOOK_AFTER) continue;
    drv_after_quick();
    drv_process_check_events();
    int64_t now = drv_now_ns();
    drv_heap_look(now);
    if (!busy && drv_rest_begins(now)) rest();
    if (busy) {
      if (now - looked < LOOK_EVERY_NS) continue;
      looked = now;
      if (mode == BLOCK && (drv_here.callbacks_left || drv_wait_for(-1, drv_here.control, 0, 0) ||
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
      if (drv_here.callbacks_left) {
        look_around();
        return Rf_ScalarInteger(EVENTS);
      }
      int64_t before = now;
      int patience = drv_process_patience(TICK_MS);
      int due = drv_streams_due_in(drv_here.link, patience);
      if (doze(due, 0)) look_around();
      else if (due < patience) continue;
      else if (drv_now_ns() - before < (int64_t)patience * 1000000 || !drv_process_patience_is_over(TICK_MS)) continue;
      return Rf_ScalarInteger(EVENTS);
    }
    case DRAIN:
      /* of a process whose server has given its streams up, each generator hears of it */
      drv_streams_end_early(drv_here.link, drv_here.is_asked);
      if (drv_streams_due_in(drv_here.link, 1) <= 0) continue;
      if (drv_session_is_drained()) return Rf_ScalarInteger(STOPPED);
      if (doze(drv_streams_due_in(drv_here.link, drv_here.callbacks_left ? 0 : DRAIN_MS), 0)) look_around();
      return Rf_ScalarInteger(EVENTS);
    case IDLE: {
      int due = drv_streams_due_in(drv_here.link, LINGER_MS);
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
  drv_here.guarded++;
  Rboolean done = R_ToplevelExec(call_guard, &g);
  drv_here.guarded--;
  R_interrupts_suspended = suspended;
  w.lets_interrupts_in = outer;
  drv_process_is_between();
  return done ? g.outcome : Rf_ScalarInteger(ABORTED);
}

/* ---- .Call ---------------------------------------------------------------------------------------------------- */

/* The handler that ran has failed: its request gets this answer, unless it had one already. */
SEXP drv_worker_answer(SEXP value) {
  SEXP cell = drv_here.link ? drv_serving_cell() : NULL;
  if (cell && drv_cell_is_open(drv_request_cell(cell))) drv_here.awaiting += answer(cell, value);
  if (drv_here.in_handler) after_handler();
  return R_NilValue;
}

/* Requests of the route whose handler runs, which waited with its own: up to `most` `req` objects, in a list. Each is
 * to be settled. */
SEXP drv_worker_take_along(SEXP most) {
  R_xlen_t n = 0, room = (R_xlen_t)Rf_asReal(most);
  SEXP taken = R_NilValue, last = R_NilValue;
  PROTECT_INDEX at;
  PROTECT_WITH_INDEX(taken, &at);
  SEXP first = drv_here.link && drv_here.in_handler ? drv_serving_cell() : NULL;
  while (first && n < room) {
    SEXP req = PROTECT(drv_request_new());
    drv_cell *cell = drv_request_cell(drv_request_pointer(req));
    SEXP next = PROTECT(Rf_list1(req));
    if (drv_link_next_of(drv_here.link, drv_request_cell(first), cell)) {
      drv_here.awaiting++;
      if (last == R_NilValue) REPROTECT(taken = next, at);
      else SETCDR(last, next);
      last = next;
      n++;
    } else {
      first = NULL;
    }
    UNPROTECT(2);
  }
  if (n) drv_link_notify(drv_here.link);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, n));
  for (R_xlen_t i = 0; i < n; i++, taken = CDR(taken)) SET_VECTOR_ELT(out, i, CAR(taken));
  UNPROTECT(2);
  return out;
}

/* Gives a request that was taken along its params; when they cannot be had, signals why. */
SEXP drv_worker_params(SEXP req) {
  drv_request_set_params(req, drv_request_pointer(req), 1);
  return R_NilValue;
}

/* What answer_by_name() calls. */
SEXP drv_worker_answer_in_frame(SEXP cell, SEXP value) { return Rf_ScalarInteger(answer(cell, value)); }

/* A promise has come to its end. */
SEXP drv_worker_settle(SEXP cell, SEXP value) {
  if (!drv_here.link || !drv_cell_is_open(drv_request_cell(cell))) return R_NilValue;
  drv_here.awaiting -= !answer(cell, value);
  drv_rest_is_over();
  if (drv_here.link) drv_link_notify(drv_here.link);
  drv_session_minds_time();
  return R_NilValue;
}

/* Whether callbacks are due that have not been called, so that requests have their turn before. */
SEXP drv_worker_leaves_callbacks(SEXP left) {
  drv_here.callbacks_left = Rf_asLogical(left) == TRUE;
  return R_NilValue;
}

/* Logs a line, about the request of `cell`, about the one that runs when `cell` is TRUE, or about none when it is
 * NULL. */
SEXP drv_worker_log(SEXP level, SEXP text, SEXP cell) {
  if (!drv_here.link) return R_NilValue;
  const drv_cell *about = NULL;
  if (TYPEOF(cell) == EXTPTRSXP) about = drv_request_cell(cell);
  else if (TYPEOF(cell) == LGLSXP && drv_serving_cell()) about = drv_request_cell(drv_app.cell);
  drv_link_log(drv_here.link, about, Rf_asInteger(level), drv_text(text));
  return R_NilValue;
}

void drv_worker_log_printed(drv_str text, int to_stderr) {
  if (!drv_here.link) return;
  const drv_cell *about = drv_here.in_handler && drv_serving_cell() ? drv_request_cell(drv_app.cell) : NULL;
  drv_link_log_printed(drv_here.link, about, to_stderr, text);
}

/* list(running, in_handler, handler, req) */
SEXP drv_worker_state(void) {
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 4));
  SET_VECTOR_ELT(out, 0, Rf_ScalarLogical(drv_here.link != NULL));
  SET_VECTOR_ELT(out, 1, Rf_ScalarLogical(drv_here.in_handler));
  SET_VECTOR_ELT(out, 2, Rf_ScalarInteger((int)w.handler));
  SET_VECTOR_ELT(out, 3, drv_serving_cell() ? drv_app.req : R_NilValue);
  UNPROTECT(1);
  return out;
}
