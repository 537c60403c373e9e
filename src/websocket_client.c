/* WebSockets to other servers: what R wants of them, and what has happened on them. The sockets are on a thread of
 * their own, which has 'later' call receive_client_events() on the main thread, when R has nothing else to do.
 * Neighbours: R/websocket-client.R, rust/crates/binding/src/websocket_client.rs. */
#include "websocket_client.h"
#include "build.h"
#include "drover_rust.h"
#include "later.h"
#include "r.h"
#include "state.h"
#include <string.h>

/* How soon it is looked again when a handler runs, which waits in later::run_now(). */
#define SOON_S 0.01

static void receive(void *unused) {
  (void)unused;
  /* a callback is not called inside a handler */
  if (drv_here_in_handler()) drv_call_later(receive, SOON_S);
  else drv_call_package("receive_client_events", R_NilValue);
}

/* From any thread. */
static void wake(void) { drv_call_later(receive, 0); }

SEXP drv_ws_client_wake(void) {
  wake();
  return R_NilValue;
}

SEXP drv_ws_client_connect(SEXP texts, SEXP numbers) {
  const void *before = vmaxget();
  SEXP headers = VECTOR_ELT(texts, 1), protocols = VECTOR_ELT(texts, 2);
  const double *n = REAL(numbers);
  drv_target target = {
      .url = drv_text(VECTOR_ELT(texts, 0)),
      .headers = drv_texts(headers),
      .n_headers = (size_t)XLENGTH(headers),
      .protocols = drv_texts(protocols),
      .n_protocols = (size_t)XLENGTH(protocols),
      .ca = drv_text(VECTOR_ELT(texts, 3)),
      .timeout = n[0],
      .max_message = n[1],
      .ping_interval = n[2],
      .reconnect = {n[3], n[4]},
      .deflate = n[5] != 0,
  };
  drv_str problem = {"", 0};
  double number = drv_websocket_client_connect(&target, wake, &problem);
  vmaxset(before);
  if (number > 0) return Rf_ScalarReal(number);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(out, 0, Rf_ScalarInteger((int)-number));
  SET_VECTOR_ELT(out, 1, Rf_ScalarString(drv_mkchar(problem)));
  UNPROTECT(1);
  return out;
}

SEXP drv_ws_client_send(SEXP connection, SEXP message, SEXP binary) {
  const void *before = vmaxget();
  int is_text = Rf_asLogical(binary) == FALSE;
  drv_str bytes = TYPEOF(message) == RAWSXP ? (drv_str){(const char *)RAW(message), (size_t)XLENGTH(message)}
                                            : drv_text(message);
  int sent = drv_websocket_client_send(Rf_asReal(connection), is_text, bytes);
  vmaxset(before);
  return Rf_ScalarInteger(sent);
}

SEXP drv_ws_client_close(SEXP connection, SEXP code, SEXP reason) {
  return Rf_ScalarLogical(drv_websocket_client_close(Rf_asReal(connection), Rf_asInteger(code), drv_text(reason)));
}

static SEXP raw_of(drv_str bytes) {
  SEXP raw = Rf_allocVector(RAWSXP, (R_xlen_t)bytes.len);
  if (bytes.len) memcpy(RAW(raw), bytes.ptr, bytes.len);
  return raw;
}

SEXP drv_ws_client_next(void) {
  enum { BINARY = 2 };
  drv_happened happened;
  if (!drv_websocket_client_next(&happened)) return R_NilValue;
  /* a text with a NUL in it is none that R could have */
  int is_raw = happened.kind == BINARY || memchr(happened.bytes.ptr, 0, happened.bytes.len);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 5));
  SET_VECTOR_ELT(out, 0, Rf_ScalarReal(happened.connection));
  SET_VECTOR_ELT(out, 1, Rf_ScalarInteger(happened.kind));
  SET_VECTOR_ELT(out, 2, Rf_ScalarInteger(happened.code));
  SET_VECTOR_ELT(out, 3, Rf_ScalarReal(happened.again));
  SET_VECTOR_ELT(out, 4, is_raw ? raw_of(happened.bytes) : Rf_ScalarString(drv_mkchar(happened.bytes)));
  UNPROTECT(1);
  return out;
}

SEXP drv_ws_client_stop(void) {
  drv_websocket_client_stop();
  return R_NilValue;
}
