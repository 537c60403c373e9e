/* What R wants the server to do. WebSockets as R has them: `conn` objects, the call of a handler for a message, and
 * what handlers want sent. The sockets are the server's, and so are rooms and the states of connections: a worker has
 * nothing of them that it could take with it. Neighbours: R/websocket*.R, R/policy-cache.R,
 * rust/crates/binding/src/websockets.rs. */
#include "websockets.h"
#include "build.h"
#include "clock.h"
#include "r.h"
#include "request.h"
#include "service.h"
#include "session.h"
#include "state.h"
#include "strings.h"
#include "values.h"
#include <poll.h>
#include <string.h>

enum { CONNECT = 0, TEXT = 1, BINARY = 2, CLOSED = 3 };
enum { SEND = 0, CLOSE = 1, JOIN = 2, LEAVE = 3, BROADCAST = 4, MEMBERS = 5, ROOMS = 6, PURGE = 7 };

/* How long the answer of the server is waited for: it is given at once, unless the server has gone. */
#define ANSWER_MS 10000

static SEXP symbol(SEXP *kept, const char *name) {
  if (!*kept) *kept = Rf_install(name);
  return *kept;
}

static SEXP fields_symbol(void) {
  static SEXP kept = NULL;
  return symbol(&kept, "fields");
}

static SEXP state_symbol(void) {
  static SEXP kept = NULL;
  return symbol(&kept, "state");
}

/* ---- conn ------------------------------------------------------------------------------------------------------ */

static SEXP raw_of(drv_str bytes) {
  SEXP raw = Rf_allocVector(RAWSXP, (R_xlen_t)bytes.len);
  if (bytes.len) memcpy(RAW(raw), bytes.ptr, bytes.len);
  return raw;
}

/* Unserializes a state. It is marked as not mutable, so a handler changes a copy, by which the change is noticed. */
static SEXP state_of(drv_str bytes) {
  if (!bytes.len) return R_NilValue;
  SEXP raw = PROTECT(raw_of(bytes));
  SEXP call = PROTECT(Rf_lang2(Rf_install("unserialize"), raw));
  SEXP value = Rf_eval(call, R_BaseEnv);
  MARK_NOT_MUTABLE(value);
  UNPROTECT(2);
  return value;
}

/* What the server is to keep, a raw vector. */
static SEXP kept_of(SEXP value) { return drv_call_package("serialized_state", value); }

/* The number of the connection, whose other fields are in an environment beside it: see R/websocket-conn.R. */
static SEXP conn_new(double id, SEXP state) {
  static SEXP class = NULL;
  if (!class) class = drv_constant(Rf_mkString("dr_ws_conn"));
  SEXP conn = PROTECT(Rf_ScalarReal(id));
  SEXP fields = PROTECT(R_NewEnv(R_EmptyEnv, FALSE, 0));
  Rf_defineVar(state_symbol(), state, fields);
  Rf_setAttrib(conn, fields_symbol(), fields);
  Rf_setAttrib(conn, R_ClassSymbol, class);
  UNPROTECT(2);
  return conn;
}

static void put_field(SEXP conn, const char *name, SEXP value) {
  Rf_defineVar(Rf_install(name), value, Rf_getAttrib(conn, fields_symbol()));
}

static SEXP text_of(drv_str text) { return Rf_ScalarString(drv_mkchar(text)); }

SEXP drv_websocket_connection(SEXP cell) {
  drv_event event;
  if (TYPEOF(cell) != EXTPTRSXP || !drv_cell_event(drv_request_cell(cell), &event)) return R_NilValue;
  SEXP conn = PROTECT(conn_new(event.connection, R_NilValue));
  if (event.text.len) {
    put_field(conn, "protocol", PROTECT(text_of(event.text)));
    UNPROTECT(1);
  }
  UNPROTECT(1);
  return conn;
}

/* ---- what has happened ------------------------------------------------------------------------------------------ */

/* The message: a string or, when it is not one that R could have, a raw vector. */
static SEXP message_of(SEXP cell) {
  drv_error error;
  drv_link *link = drv_here.link;
  const drv_node *node = link ? drv_cell_field(link, drv_request_cell(cell), DRV_MESSAGE_FIELD, &error) : NULL;
  if (!node) {
    if (link) drv_stop_field(error.status, error.message);
    Rf_error("the server has stopped");
  }
  SEXP message = PROTECT(drv_build_strings(node));
  drv_cell_built(drv_request_cell(cell));
  UNPROTECT(1);
  return message;
}

/* Of R/websocket-routes.R: where the arguments are bound, and a call for messages and one for closes, or NULL. The
 * arguments are forced: a function that the handler leaves behind must find this message in them, not the next one. */
static SEXP call_handler(SEXP scope, SEXP call, int is_close, SEXP conn, SEXP first, SEXP second) {
  static SEXP names[5];
  SEXP of_first = is_close ? symbol(&names[1], "code") : symbol(&names[2], "msg");
  Rf_defineVar(symbol(&names[0], "conn"), conn, scope);
  Rf_defineVar(of_first, first, scope);
  Rf_defineVar(is_close ? symbol(&names[3], "reason") : symbol(&names[4], "binary"), second, scope);
  SEXP value = PROTECT(R_forceAndCall(call, Rf_length(call) - 1, scope));
  /* it may be long */
  Rf_defineVar(of_first, R_NilValue, scope);
  UNPROTECT(1);
  return value;
}

SEXP drv_websocket_event(SEXP handlers, SEXP cell, SEXP params) {
  drv_event event;
  if (!drv_cell_event(drv_request_cell(cell), &event)) Rf_error("a request for a WebSocket that is none");
  int is_close = event.kind == CLOSED;
  SEXP call = VECTOR_ELT(handlers, is_close ? 2 : 1);
  if (call == R_NilValue) return R_NilValue;
  SEXP before = PROTECT(state_of(event.state));
  SEXP conn = PROTECT(conn_new(event.connection, before));
  if (params != R_NilValue) put_field(conn, "params", params);
  SEXP first = PROTECT(is_close ? Rf_ScalarInteger(event.code) : message_of(cell));
  SEXP second = PROTECT(is_close ? text_of(event.text) : Rf_ScalarLogical(event.kind == BINARY));
  SEXP value = PROTECT(call_handler(VECTOR_ELT(handlers, 0), call, is_close, conn, first, second));
  SEXP reply = R_NilValue;
  if (Rf_inherits(value, "promise")) {
    SEXP both = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(both, 0, value);
    SET_VECTOR_ELT(both, 1, conn);
    reply = drv_call_package("state_after", both);
    UNPROTECT(1);
  } else {
    SEXP after = Rf_findVarInFrame(Rf_getAttrib(conn, fields_symbol()), state_symbol());
    if (after != before && after != R_UnboundValue) reply = kept_of(after);
  }
  UNPROTECT(5);
  return reply;
}

/* ---- what is to be done ----------------------------------------------------------------------------------------- */

static void refuse(const char *argument, SEXP value) {
  SEXP both = PROTECT(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(both, 0, Rf_mkString(argument));
  SET_VECTOR_ELT(both, 1, value);
  drv_call_package("refuse_ws_argument", both);
  Rf_error("unreachable");
}

/* The number of a connection: a `conn` is one. */
static double id_of(SEXP id) {
  if (TYPEOF(id) == INTSXP && XLENGTH(id) == 1 && INTEGER(id)[0] > 0) return INTEGER(id)[0];
  if (TYPEOF(id) != REALSXP || XLENGTH(id) != 1 || !(REAL(id)[0] >= 1 && REAL(id)[0] < 9007199254740992.0))
    refuse("conn", id);
  return REAL(id)[0];
}

static int is_one_string(SEXP x) {
  return TYPEOF(x) == STRSXP && XLENGTH(x) == 1 && STRING_ELT(x, 0) != NA_STRING;
}

static drv_str text_argument(const char *name, SEXP x) {
  if (!is_one_string(x)) refuse(name, x);
  return drv_text(x);
}

static drv_str room_argument(SEXP room) {
  drv_str text = text_argument("room", room);
  if (!text.len) refuse("room", room);
  return text;
}

/* The bytes of a message, and whether they are sent as such, or as text. A list is sent as JSON. The result lives until
 * the call from R returns. */
static drv_str message_argument(SEXP *message, SEXP binary, int *is_binary) {
  if (TYPEOF(*message) == RAWSXP) {
    *is_binary = Rf_asLogical(binary) != FALSE;
    return (drv_str){(const char *)RAW(*message), (size_t)XLENGTH(*message)};
  }
  if (TYPEOF(*message) == VECSXP) *message = drv_call_package("ws_json", *message);
  PROTECT(*message);
  if (!is_one_string(*message)) refuse("msg", *message);
  int given = Rf_asLogical(binary);
  *is_binary = given == TRUE;
  drv_str text = drv_text(*message);
  UNPROTECT(1);
  return text;
}

/* Has something done. What the server answers, if it does, is the result: list(numbers, texts). */
static SEXP say(const drv_command *command) {
  drv_link *link = drv_here.link;
  if (link && drv_here.is_stray) Rf_error("a fork of a worker cannot reach its server: leave it to the worker");
  int said = drv_websocket_say(link, link ? NULL : drv_service_here(), command);
  if (said < 0) refuse("msg", R_NilValue);
  if (!said) drv_call_package("stop_no_server", R_NilValue);
  if (said == 1) return R_NilValue;
  int64_t until = drv_now_ms() + ANSWER_MS;
  const drv_node *answer = NULL;
  while ((link = drv_here.link, answer = drv_websocket_answer(link)) == NULL && link && drv_now_ms() < until) {
    drv_here.polls = 1;
    if (!drv_stream_doze(link)) continue;
    struct pollfd bell = {drv_link_bell(link), POLLIN, 0};
    poll(&bell, 1, 1000);
    drv_link_awake(link);
  }
  SEXP value = PROTECT(answer ? drv_build_strings(answer) : R_NilValue);
  drv_session_polled();
  if (!answer) drv_call_package("stop_no_server", R_NilValue);
  UNPROTECT(1);
  return value;
}

SEXP drv_websocket_send(SEXP connection, SEXP message, SEXP binary) {
  const void *before = vmaxget();
  drv_command command = {.kind = SEND, .connection = id_of(connection)};
  PROTECT_INDEX at;
  PROTECT_WITH_INDEX(message, &at);
  command.bytes = message_argument(&message, binary, &command.small);
  REPROTECT(message, at);
  say(&command);
  vmaxset(before);
  UNPROTECT(1);
  return R_NilValue;
}

SEXP drv_websocket_close(SEXP connection, SEXP code, SEXP reason) {
  drv_command command = {.kind = CLOSE, .small = Rf_asInteger(code), .connection = id_of(connection)};
  command.bytes = text_argument("reason", reason);
  say(&command);
  return R_NilValue;
}

SEXP drv_websocket_join(SEXP connection, SEXP room, SEXP name) {
  drv_command command = {.kind = JOIN, .connection = id_of(connection)};
  command.room = room_argument(room);
  command.bytes = text_argument("name", name);
  say(&command);
  return R_NilValue;
}

SEXP drv_websocket_leave(SEXP connection, SEXP room) {
  drv_command command = {.kind = LEAVE, .connection = id_of(connection)};
  command.room = room_argument(room);
  say(&command);
  return R_NilValue;
}

/* The number that is the answer. */
static SEXP count_of(SEXP answer) {
  SEXP numbers = VECTOR_ELT(answer, 0);
  return Rf_ScalarInteger(XLENGTH(numbers) ? (int)REAL(numbers)[0] : 0);
}

SEXP drv_websocket_broadcast(SEXP room, SEXP message, SEXP binary, SEXP except) {
  const void *before = vmaxget();
  drv_command command = {.kind = BROADCAST, .room = room_argument(room)};
  if (except != R_NilValue) command.connection = id_of(except);
  PROTECT_INDEX at;
  PROTECT_WITH_INDEX(message, &at);
  command.bytes = message_argument(&message, binary, &command.small);
  REPROTECT(message, at);
  SEXP count = count_of(PROTECT(say(&command)));
  vmaxset(before);
  UNPROTECT(2);
  return count;
}

SEXP drv_websocket_members(SEXP room) {
  drv_command command = {.kind = MEMBERS, .room = room_argument(room)};
  return say(&command);
}

/* Responses that the server keeps: R/policy-cache.R has checked what is asked. */
SEXP drv_cache_purge(SEXP by, SEXP text) {
  const void *before = vmaxget();
  drv_command command = {.kind = PURGE, .small = Rf_asInteger(by), .room = drv_text(text)};
  SEXP count = count_of(PROTECT(say(&command)));
  vmaxset(before);
  UNPROTECT(1);
  return count;
}

SEXP drv_websocket_rooms(void) {
  drv_command command = {.kind = ROOMS};
  return say(&command);
}
