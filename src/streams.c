/* Streams that handlers have returned (dr_stream()): their generators, called one at a time between requests by the
 * loop of worker.c.
 *
 * Rust knows when a generator is due and what its client has taken (worker/src/streams.rs); here is what is called, and
 * what it gives. Of each stream, R keeps an environment with `next_chunk`, `state` and `cancelled`, in which the call
 * is evaluated. A generator that jumps ends in guard() of R/worker-loop.R, as a handler does, which comes back with
 * drv_streams_failed().
 */
#include "streams.h"
#include "after_handler.h"
#include "clock.h"
#include "printed.h"
#include "process.h"
#include "r.h"
#include "request.h"
#include "rest.h"
#include "signals.h"
#include "state.h"
#include "values.h"
#include <poll.h>

/* Of drv_stream_write(). */
enum { SENT = 0, WAITS = 1 };

/* A generator that waits for its client looks up this often. */
#define LOOK_UP_MS 1000

static struct {
  SEXP all;        /* list, by the numbers of streams: an environment, or NULL */
  R_xlen_t open;   /* how many of those are environments */
  int64_t began;   /* when the generator that runs was called, in ns */
  int64_t ends_at; /* when those that write are broken off, in ms, as the server is to end; or 0 */
} s;

static SEXP symbol_of(SEXP *symbol, const char *name) {
  if (!*symbol) *symbol = Rf_install(name);
  return *symbol;
}

static SEXP next_chunk(void) {
  static SEXP symbol = NULL;
  return symbol_of(&symbol, "next_chunk");
}

static SEXP state(void) {
  static SEXP symbol = NULL;
  return symbol_of(&symbol, "state");
}

static SEXP cancelled(void) {
  static SEXP symbol = NULL;
  return symbol_of(&symbol, "cancelled");
}

static void keep(uint32_t number, SEXP scope) {
  R_xlen_t before = s.all ? XLENGTH(s.all) : 0;
  if (number > before) {
    SEXP larger = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)number * 2));
    for (R_xlen_t i = 0; i < before; i++) SET_VECTOR_ELT(larger, i, VECTOR_ELT(s.all, i));
    R_PreserveObject(larger);
    if (s.all) R_ReleaseObject(s.all);
    s.all = larger;
    UNPROTECT(1);
  }
  s.open += (scope != R_NilValue) - (VECTOR_ELT(s.all, number - 1) != R_NilValue);
  SET_VECTOR_ELT(s.all, number - 1, scope);
}

void drv_streams_open(drv_link *link, SEXP cell, SEXP response) {
  SEXP stream = PROTECT(drv_first(response, "stream"));
  double min_interval = Rf_asReal(drv_first(stream, "min_interval"));
  int ends_on_drain = Rf_asLogical(drv_first(stream, "ends_on_drain")) == 1;
  uint32_t number = drv_stream_open(link, drv_request_cell(cell), min_interval, ends_on_drain);
  if (number) {
    SEXP scope = PROTECT(R_NewEnv(R_EmptyEnv, FALSE, 0));
    Rf_defineVar(next_chunk(), drv_first(stream, "next_chunk"), scope);
    Rf_defineVar(state(), drv_first(stream, "state"), scope);
    Rf_defineVar(cancelled(), Rf_ScalarLogical(0), scope);
    keep(number, scope);
    UNPROTECT(1);
  }
  UNPROTECT(1);
}

/* The generator that ran has given its last chunk, or never will. */
static void over(drv_link *link, uint32_t number, const uint8_t *bytes, size_t len, int done, int is_last) {
  drv_here.stream = 0;
  if ((done || is_last) && number <= XLENGTH(s.all)) keep(number, R_NilValue);
  drv_stream_called(link, number, bytes, len, done);
}

static void wrong(const char *what) {
  Rf_errorcall(R_NilValue,
               "next_chunk() of a stream returned %s; return list(chunk = a string, a raw vector or a list, state = , "
               "done = )",
               what);
}

static int is_done(SEXP done) {
  if (done == R_NilValue) return 0;
  if (TYPEOF(done) != LGLSXP || XLENGTH(done) != 1 || LOGICAL_ELT(done, 0) == NA_LOGICAL)
    wrong("a `done` that is not TRUE or FALSE");
  return LOGICAL_ELT(done, 0);
}

/* A list is sent as lines of JSON. */
static SEXP as_chunk(SEXP chunk) { return TYPEOF(chunk) == VECSXP ? drv_call_package("json_lines", chunk) : chunk; }

/* 0 when a chunk has none. May run R code (ALTREP). */
static int bytes_of(SEXP chunk, drv_str *bytes) {
  if (TYPEOF(chunk) == RAWSXP) *bytes = (drv_str){(const char *)RAW(chunk), (size_t)XLENGTH(chunk)};
  else if (TYPEOF(chunk) != STRSXP) return chunk == R_NilValue;
  else if (XLENGTH(chunk) != 1 || STRING_ELT(chunk, 0) == NA_STRING) return 0;
  else *bytes = drv_text(chunk);
  return 1;
}

/* Fields behind the body: given before drv_stream_called() says that it is whole. */
static void set_trailers(uint32_t number, SEXP trailers) {
  SEXP text = PROTECT(drv_call_package("trailer_text", trailers));
  drv_link *link = drv_here.link;
  if (link) {
    drv_str wrong = drv_stream_trailers(link, number, drv_text(text));
    if (wrong.ptr)
      Rf_errorcall(R_NilValue, "`trailers` of a stream: %.*s cannot be sent behind the body", (int)wrong.len,
                   wrong.ptr);
  }
  UNPROTECT(1);
}

/* What a generator returned. */
static void take(uint32_t number, SEXP scope, SEXP value) {
  if (TYPEOF(value) != VECSXP || (XLENGTH(value) && Rf_getAttrib(value, R_NamesSymbol) == R_NilValue)) {
    wrong("no list with names");
  }
  static const char *const fields[] = {"chunk", "state", "done", "trailers", NULL};
  if (!drv_has_only(value, fields)) drv_call_package("stop_chunk_field", value);
  SEXP chunk = drv_first(value, "chunk"), next = PROTECT(drv_first(value, "state"));
  PROTECT_INDEX at;
  PROTECT_WITH_INDEX(chunk, &at);
  int done = is_done(drv_first(value, "done"));
  const void *before = vmaxget();
  REPROTECT(chunk = as_chunk(chunk), at);
  drv_str bytes = {"", 0};
  if (!bytes_of(chunk, &bytes)) wrong("a `chunk` that is no string, no raw vector and no list");
  if (next != R_NilValue) Rf_defineVar(state(), next, scope);
  SEXP trailers = drv_first(value, "trailers");
  if (done && trailers != R_NilValue) set_trailers(number, trailers);
  /* the generator, or an ALTREP chunk, may have ended the server */
  drv_link *link = drv_here.link;
  if (link) over(link, number, (const uint8_t *)bytes.ptr, bytes.len, done, 0);
  drv_here.stream = 0;
  vmaxset(before);
  UNPROTECT(2);
}

/* While a generator writes, its process hears what the server wants of it, as it does between requests. A session that
 * is its own server and is to end cannot begin with that: streams that end by it do so here, and those that go on until
 * they are done have the time that they would have. */
static void look_up(drv_link *link) {
  if (drv_process_receive()) drv_here.stops = 1;
  int64_t now = drv_now_ms();
  if (drv_signals_end() && !s.ends_at)
    s.ends_at = now + (int64_t)(1000 * Rf_asReal(drv_call_package("seconds_to_finish", R_NilValue)));
  int is_late = s.ends_at && now >= s.ends_at;
  if (s.ends_at || drv_here.is_asked) drv_stream_end_early(link, is_late || drv_here.is_asked);
}

static void wait_for_client(drv_link *link) {
  drv_here.polls = 1;
  if (!drv_stream_doze(link)) return;
  struct pollfd fds[2] = {{drv_link_bell(link), POLLIN, 0}, {drv_here.control, POLLIN, 0}};
  poll(fds, 2, LOOK_UP_MS);
  drv_link_awake(link);
}

SEXP drv_streams_write(SEXP chunk) {
  const void *before = vmaxget();
  drv_str bytes = {"", 0};
  PROTECT(chunk = as_chunk(chunk));
  if (!bytes_of(chunk, &bytes)) Rf_error("a stream takes a string, a raw vector or a list");
  /* what a fork has of the link is the worker's, too */
  if (!drv_here_is_serving()) Rf_error("a stream is written by its own process, and not by a fork of it");
  int how = WAITS;
  /* what runs meanwhile, as an interrupt does, may end the server or this stream */
  for (drv_link *link; how == WAITS && (link = drv_here.link) && drv_here.stream;) {
    look_up(link);
    how = drv_stream_write(link, drv_here.stream, (const uint8_t *)bytes.ptr, bytes.len);
    if (how == WAITS) wait_for_client(link);
    bytes.len = 0;
    R_CheckUserInterrupt();
  }
  vmaxset(before);
  UNPROTECT(1);
  return Rf_ScalarLogical(how == SENT);
}

static void after_generator(void) {
  drv_rest_is_over();
  drv_printed_flush();
  drv_only_parent();
  drv_forget_answers();
  if (drv_here.link) drv_after_call((uint64_t)(drv_now_ns() - s.began));
}

int drv_streams_call(drv_link *link) {
  if (!link || !s.open) return 0;
  static SEXP call = NULL;
  if (!call) call = drv_constant(Rf_lang3(next_chunk(), state(), cancelled()));
  int32_t is_last = 0;
  uint32_t number = drv_stream_next(link, &is_last);
  if (!number) return 0;
  SEXP scope = PROTECT(number <= XLENGTH(s.all) ? VECTOR_ELT(s.all, number - 1) : R_NilValue);
  if (scope == R_NilValue) {
    /* R had no memory for what it needs */
    over(link, number, NULL, 0, -1, 1);
    UNPROTECT(1);
    return 1;
  }
  drv_here.stream = number;
  s.ends_at = 0;
  if (is_last) Rf_defineVar(cancelled(), Rf_ScalarLogical(1), scope);
  drv_before_call();
  s.began = drv_now_ns();
  SEXP value = PROTECT(R_forceAndCall(call, 2, scope));
  if (!is_last) take(number, scope, value);
  else if (drv_here.link) over(drv_here.link, number, NULL, 0, 0, 1);
  UNPROTECT(2);
  drv_here.stream = 0;
  after_generator();
  return 1;
}

int drv_streams_due_in(drv_link *link, int longest) {
  return link && s.open ? drv_stream_due_in(link, longest) : longest;
}

int drv_streams_are_open(const drv_link *link) { return link && drv_stream_count(link) > 0; }

void drv_streams_end_early(drv_link *link, int all) {
  if (drv_streams_are_open(link)) drv_stream_end_early(link, all);
}

void drv_streams_forget(void) {
  if (s.all) R_ReleaseObject(s.all);
  s.all = NULL;
  s.open = 0;
  drv_here.stream = 0;
}

SEXP drv_streams_failed(SEXP text) {
  uint32_t number = drv_here.stream;
  drv_link *link = drv_here.link;
  if (!number) return Rf_ScalarLogical(0);
  drv_here.stream = 0;
  if (link) {
    drv_stream_log(link, number, drv_text(text));
    over(link, number, NULL, 0, -1, 1);
  }
  after_generator();
  return Rf_ScalarLogical(1);
}

SEXP drv_streams_state(void) { return Rf_ScalarLogical(drv_here.stream != 0); }

SEXP drv_streams_end(void) {
  drv_link *link = drv_here.link;
  drv_streams_end_early(link, 1);
  return Rf_ScalarLogical(drv_streams_are_open(link));
}
