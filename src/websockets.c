/* WebSockets as R has them: `conn` objects, the call of a handler for a message, and what handlers want sent. The
 * sockets are the server's, and so are rooms and the states of connections: a worker has nothing of them that it could
 * take with it. Neighbours: commands.c, by which the server is told; R/websocket*.R;
 * rust/crates/binding/src/websockets.rs. */
#include "websockets.h"
#include "build.h"
#include "commands.h"
#include "r.h"
#include "request.h"
#include "state.h"
#include "strings.h"
#include "values.h"
#include <string.h>

enum { CONNECT = 0, TEXT = 1, BINARY = 2, CLOSED = 3 };

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

/* The number of a connection: a `conn` is one. */
static double id_of(SEXP id) {
  if (TYPEOF(id) == INTSXP && XLENGTH(id) == 1 && INTEGER(id)[0] > 0) return INTEGER(id)[0];
  if (TYPEOF(id) != REALSXP || XLENGTH(id) != 1 || !(REAL(id)[0] >= 1 && REAL(id)[0] < 9007199254740992.0))
    drv_refuse("conn", id);
  return REAL(id)[0];
}

static int is_one_string(SEXP x) {
  return TYPEOF(x) == STRSXP && XLENGTH(x) == 1 && STRING_ELT(x, 0) != NA_STRING;
}

static drv_str text_argument(const char *name, SEXP x) {
  if (!is_one_string(x)) drv_refuse(name, x);
  return drv_text(x);
}

static drv_str room_argument(SEXP room) {
  drv_str text = text_argument("room", room);
  if (!text.len) drv_refuse("room", room);
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
  if (!is_one_string(*message)) drv_refuse("msg", *message);
  int given = Rf_asLogical(binary);
  *is_binary = given == TRUE;
  drv_str text = drv_text(*message);
  UNPROTECT(1);
  return text;
}

SEXP drv_websocket_send(SEXP connection, SEXP message, SEXP binary) {
  const void *before = vmaxget();
  drv_command command = {.kind = DRV_SEND, .connection = id_of(connection)};
  PROTECT_INDEX at;
  PROTECT_WITH_INDEX(message, &at);
  command.bytes = message_argument(&message, binary, &command.small);
  REPROTECT(message, at);
  drv_say(&command);
  vmaxset(before);
  UNPROTECT(1);
  return R_NilValue;
}

SEXP drv_websocket_close(SEXP connection, SEXP code, SEXP reason) {
  drv_command command = {.kind = DRV_CLOSE, .small = Rf_asInteger(code), .connection = id_of(connection)};
  command.bytes = text_argument("reason", reason);
  drv_say(&command);
  return R_NilValue;
}

SEXP drv_websocket_join(SEXP connection, SEXP room, SEXP name) {
  drv_command command = {.kind = DRV_JOIN, .connection = id_of(connection)};
  command.room = room_argument(room);
  command.bytes = text_argument("name", name);
  drv_say(&command);
  return R_NilValue;
}

SEXP drv_websocket_leave(SEXP connection, SEXP room) {
  drv_command command = {.kind = DRV_LEAVE, .connection = id_of(connection)};
  command.room = room_argument(room);
  drv_say(&command);
  return R_NilValue;
}

SEXP drv_websocket_broadcast(SEXP room, SEXP message, SEXP binary, SEXP except) {
  const void *before = vmaxget();
  drv_command command = {.kind = DRV_BROADCAST, .room = room_argument(room)};
  if (except != R_NilValue) command.connection = id_of(except);
  PROTECT_INDEX at;
  PROTECT_WITH_INDEX(message, &at);
  command.bytes = message_argument(&message, binary, &command.small);
  REPROTECT(message, at);
  SEXP count = drv_count_of(PROTECT(drv_say(&command)));
  vmaxset(before);
  UNPROTECT(2);
  return count;
}

SEXP drv_websocket_members(SEXP room) {
  drv_command command = {.kind = DRV_MEMBERS, .room = room_argument(room)};
  return drv_say(&command);
}

SEXP drv_websocket_rooms(void) {
  drv_command command = {.kind = DRV_ROOMS};
  return drv_say(&command);
}
