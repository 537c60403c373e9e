/* `req` objects: environments whose fields are active bindings over a cell of the engine's.
 *
 * A cell is an external pointer; its protected slot is a list with the values of the fields that were read or assigned,
 * its address a `cell`. R/request-object.R makes the environment. An object is used again for the next request when the
 * handler kept nothing of it (worker.c asks drv_request_is_pristine), so a request whose fields are not read allocates
 * nothing.
 */
#include "request.h"
#include "json.h"
#include "r.h"
#include "state.h"
#include "strings.h"
#include "values.h"
#include <stdlib.h>
#include <string.h>

#define QUERY_FIELD 3
#define PARAMS_FIELD 4
#define HEADERS_FIELD 5
#define COOKIES_FIELD 6
#define RAW_FIELD 8
#define AUTH_FIELD 19
#define SESSION_FIELD 20
#define BASE_PATH_FIELD 22
#define JOB_FIELD 23
#define JSON_FIELD (DRV_FIELDS - 1)
_Static_assert(DRV_MESSAGE_FIELD == JSON_FIELD, "a message has no number of its own: where a request has `json`");
/* method, url, body and raw, by their bits */
#define ASKED_FIELDS (1u << 0 | 1u << 2 | 1u << 7 | 1u << 8)

typedef struct {
  drv_cell *engine;
  uint32_t known;    /* bit i: field i has a value in the list */
  uint32_t assigned; /* bit i: R has given it that */
} cell;

static cell *cell_of(SEXP pointer) {
  cell *c = R_ExternalPtrAddr(pointer);
  if (!c) Rf_error("this request belongs to another R session");
  return c;
}

static void finalize(SEXP pointer) {
  cell *c = R_ExternalPtrAddr(pointer);
  if (!c) return;
  R_ClearExternalPtr(pointer);
  drv_cell_free(c->engine);
  free(c);
}

SEXP drv_request_make_cell(void) {
  SEXP values = PROTECT(Rf_allocVector(VECSXP, DRV_FIELDS));
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, values));
  R_RegisterCFinalizer(pointer, finalize);
  cell *c = calloc(1, sizeof *c);
  if (!c) Rf_error("out of memory");
  c->engine = drv_cell_new();
  R_SetExternalPtrAddr(pointer, c);
  UNPROTECT(2);
  return pointer;
}

drv_cell *drv_request_cell(SEXP pointer) { return cell_of(pointer)->engine; }

void drv_request_reset(SEXP pointer) {
  cell *c = cell_of(pointer);
  if (!c->known) return;
  SEXP values = R_ExternalPtrProtected(pointer);
  for (int i = 0; i < DRV_FIELDS; i++) {
    if (c->known & (1u << i)) SET_VECTOR_ELT(values, i, R_NilValue);
  }
  c->known = c->assigned = 0;
}

static SEXP keep(SEXP pointer, int i, SEXP value) {
  PROTECT(value);
  SET_VECTOR_ELT(R_ExternalPtrProtected(pointer), i, value);
  UNPROTECT(1);
  cell_of(pointer)->known |= 1u << i;
  return value;
}

/* Within the limits of the server. What is malformed is a condition with status 400. */
static SEXP parse_json(const uint8_t *text, size_t len) {
  drv_json_error error;
  SEXP value = drv_json_parse(text, len, 1, drv_here.max_json_depth, drv_here.max_collisions, &error);
  if (!value) drv_stop_field(400, (drv_str){error.message, strlen(error.message)});
  return value;
}

static SEXP read_json(cell *c) {
  drv_error error;
  size_t len = 0;
  const uint8_t *body = drv_cell_body(c->engine, &len, &error);
  if (!body) drv_stop_field(error.status, error.message);
  if (!len) return R_NilValue;
  return parse_json(body, len);
}

/* What the server says of a client, as JSON. */
static SEXP read_told(cell *c, int i) {
  size_t len = 0;
  const uint8_t *json = drv_cell_json(c->engine, (uint32_t)i, &len);
  return json ? parse_json(json, len) : R_NilValue;
}

static SEXP fields_class(void) {
  static SEXP class = NULL;
  if (!class) class = drv_constant(Rf_mkString("dr_fields"));
  return class;
}

/* What clients name: fields by exact name, see R/request-fields.R. Params are named by the app. */
static int is_named_by_client(int i) { return i == 3 || i == 5 || i == 6 || i == 9; }

static SEXP field(SEXP pointer, int i) {
  cell *c = cell_of(pointer);
  if (c->known & (1u << i)) return VECTOR_ELT(R_ExternalPtrProtected(pointer), i);
  drv_link *link = drv_here.link;
  if (!link) Rf_error("the server of this request has stopped: read the fields that are needed while it runs");
  if (i == JSON_FIELD) return keep(pointer, i, read_json(c));
  if (i == AUTH_FIELD || i == SESSION_FIELD || i == JOB_FIELD) return keep(pointer, i, read_told(c, i));
  drv_error error;
  const drv_node *node = drv_cell_field(link, c->engine, (uint32_t)i, &error);
  if (!node) drv_stop_field(error.status, error.message);
  SEXP value = PROTECT(drv_build_strings(node));
  drv_cell_built(c->engine);
  if (is_named_by_client(i)) Rf_setAttrib(value, R_ClassSymbol, fields_class());
  UNPROTECT(1);
  return keep(pointer, i, value);
}

static SEXP params_symbol(void) {
  static SEXP symbol = NULL;
  if (!symbol) symbol = Rf_install("params");
  return symbol;
}

SEXP drv_request_params(SEXP pointer) { return field(pointer, PARAMS_FIELD); }

void drv_request_set_params(SEXP req, SEXP pointer, int has_params) {
  static SEXP none = NULL;
  if (!none) none = Rf_eval(Rf_install("no_params"), drv_namespace()); /* kept by the namespace */
  if (has_params) {
    Rf_defineVar(params_symbol(), field(pointer, PARAMS_FIELD), req);
  } else if (Rf_findVarInFrame(req, params_symbol()) != none) {
    Rf_defineVar(params_symbol(), none, req);
  }
}

static SEXP value_symbol(void) {
  static SEXP symbol = NULL;
  if (!symbol) symbol = Rf_install("value");
  return symbol;
}

SEXP drv_request_field(SEXP call, SEXP op, SEXP args, SEXP frame) {
  (void)call, (void)op;
  SEXP pointer = CADR(args);
  int i = Rf_asInteger(CADDR(args));
  if (TYPEOF(pointer) != EXTPTRSXP || i < 0 || i >= DRV_FIELDS) Rf_error("no such field");
  SEXP value = Rf_findVarInFrame(frame, value_symbol());
  if (value == R_MissingArg) return field(pointer, i);
  keep(pointer, i, Rf_eval(value, frame));
  cell_of(pointer)->assigned |= 1u << i;
  return R_NilValue;
}

/* The cell of an object that the engine made, or NULL for one that a test made. */
static SEXP cell_behind(SEXP req) {
  static SEXP tag = NULL;
  if (!tag) tag = Rf_install("cell");
  if (TYPEOF(req) != ENVSXP) return NULL;
  SEXP pointer = Rf_getAttrib(req, tag);
  return TYPEOF(pointer) == EXTPTRSXP ? pointer : NULL;
}

static SEXP slowly(const char *name, SEXP a, SEXP b, SEXP c) {
  SEXP call = PROTECT(Rf_lang4(Rf_install(name), a, b, c));
  SEXP value = Rf_eval(call, drv_namespace());
  UNPROTECT(1);
  return value;
}

static int is_string(SEXP x) {
  return TYPEOF(x) == STRSXP && XLENGTH(x) == 1 && STRING_ELT(x, 0) != NA_STRING;
}

SEXP drv_request_value(SEXP req, const char *name) {
  static const struct {
    const char *name;
    int field;
  } known[] = {{"method", 0}, {"url", 2}, {"headers", 5}, {"remote_addr", 11}, {"remote_port", 12}, {"host", 14}};
  SEXP pointer = cell_behind(req);
  for (size_t i = 0; pointer && i < sizeof known / sizeof *known; i++) {
    if (!strcmp(known[i].name, name)) return field(pointer, known[i].field);
  }
  return Rf_eval(Rf_install(name), req);
}

SEXP drv_request_values(SEXP req, drv_place place) {
  SEXP pointer = cell_behind(req);
  if (!pointer) return R_NilValue;
  switch (place) {
  case DRV_PATH: return Rf_findVarInFrame(req, params_symbol());
  /* fields of a form would be behind it */
  case DRV_QUERY: return drv_cell_has_form(cell_of(pointer)->engine) ? R_NilValue : field(pointer, QUERY_FIELD);
  case DRV_HEADER: return field(pointer, HEADERS_FIELD);
  case DRV_COOKIE: return field(pointer, COOKIES_FIELD);
  default: return R_NilValue;
  }
}

drv_str drv_request_header(SEXP req, const char *name) {
  SEXP pointer = cell_behind(req);
  drv_str found = {NULL, 0};
  cell *c = pointer ? cell_of(pointer) : NULL;
  if (c && !(c->assigned & 1u << HEADERS_FIELD)) {
    int times = drv_cell_header(c->engine, (drv_str){name, strlen(name)}, &found);
    if (times < 2) return found;
  }
  SEXP wanted = PROTECT(Rf_mkString(name));
  SEXP text = PROTECT(drv_pick(drv_request_value(req, "headers"), wanted));
  if (is_string(text)) found = drv_text(text);
  UNPROTECT(2);
  return found;
}

drv_str drv_request_bytes(SEXP req) {
  SEXP pointer = cell_behind(req);
  cell *c = pointer ? cell_of(pointer) : NULL;
  drv_str bytes = {NULL, 0};
  if (c && !(c->assigned & 1u << RAW_FIELD)) {
    drv_error error;
    bytes.ptr = (const char *)drv_cell_body(c->engine, &bytes.len, &error);
    if (!bytes.ptr) drv_stop_field(error.status, error.message);
    return bytes;
  }
  SEXP raw = pointer ? field(pointer, RAW_FIELD) : Rf_eval(Rf_install("raw"), req);
  return TYPEOF(raw) == RAWSXP ? (drv_str){(const char *)RAW(raw), (size_t)XLENGTH(raw)} : bytes;
}

SEXP drv_request_auth(SEXP req) {
  SEXP pointer = cell_behind(req);
  if (pointer) return field(pointer, AUTH_FIELD);
  SEXP auth = TYPEOF(req) == ENVSXP ? Rf_findVarInFrame(req, Rf_install("auth")) : R_UnboundValue;
  return auth == R_UnboundValue ? R_NilValue : auth;
}

SEXP drv_request_base_path(SEXP req) {
  SEXP pointer = cell_behind(req);
  if (pointer) return field(pointer, BASE_PATH_FIELD);
  SEXP base_path = TYPEOF(req) == ENVSXP ? Rf_findVarInFrame(req, Rf_install("base_path")) : R_UnboundValue;
  return base_path == R_UnboundValue ? R_BlankScalarString : base_path;
}

/* In a list, as NULL ends a session; NULL when none was assigned. */
SEXP drv_request_assigned_session(SEXP req) {
  SEXP pointer = cell_behind(req);
  if (!pointer || !(cell_of(pointer)->assigned & 1u << SESSION_FIELD)) return R_NilValue;
  SEXP session = PROTECT(Rf_allocVector(VECSXP, 1));
  SET_VECTOR_ELT(session, 0, VECTOR_ELT(R_ExternalPtrProtected(pointer), SESSION_FIELD));
  UNPROTECT(1);
  return session;
}

SEXP drv_request_pick(SEXP req, SEXP number, SEXP name) {
  SEXP pointer = cell_behind(req);
  if (!pointer || !is_string(name)) return slowly("pick_slowly", req, number, name);
  int i = Rf_asInteger(number);
  return drv_pick(i == PARAMS_FIELD ? Rf_findVarInFrame(req, params_symbol()) : field(pointer, i), name);
}

SEXP drv_request_body(SEXP req, SEXP as) {
  static const struct {
    const char *name;
    int field;
  } forms[] = {{"text", 7}, {"raw", 8}, {"json", JSON_FIELD}};
  SEXP pointer = cell_behind(req);
  for (int i = 0; pointer && is_string(as) && i < 3; i++) {
    if (strcmp(CHAR(STRING_ELT(as, 0)), forms[i].name)) continue;
    SEXP value = field(pointer, forms[i].field);
    if (i == 0 && TYPEOF(value) != STRSXP) break;
    return value;
  }
  return slowly("body_slowly", req, as, R_NilValue);
}

/* What may be said of a request while its handler goes on: its cell and the link, where both are there. */
static drv_cell *cell_to_speak_of(SEXP req, drv_link **link) {
  SEXP pointer = cell_behind(req);
  cell *c = pointer ? R_ExternalPtrAddr(pointer) : NULL;
  /* what a fork has of the link is the worker's, too */
  *link = drv_here.is_stray ? NULL : drv_here.link;
  return c && *link ? c->engine : NULL;
}

SEXP drv_request_hint(SEXP req, SEXP links) {
  drv_link *link;
  drv_cell *engine = cell_to_speak_of(req, &link);
  return Rf_ScalarLogical(engine && drv_cell_hint(link, engine, drv_text(links)));
}

SEXP drv_request_progress(SEXP req, SEXP numbers, SEXP message) {
  drv_link *link;
  drv_cell *engine = cell_to_speak_of(req, &link);
  const double *n = REAL(numbers);
  return Rf_ScalarLogical(engine && drv_cell_progress(link, engine, n[0], n[1], drv_text(message)));
}

int drv_request_asks_for(SEXP req, SEXP method, SEXP target) {
  SEXP pointer = cell_behind(req);
  if (!pointer) return 0;
  cell *c = cell_of(pointer);
  /* a field that was read may have been assigned: only R knows */
  if (c->known & ASKED_FIELDS) return 0;
  return drv_cell_asks_for(c->engine, drv_text(method), drv_text(target));
}

/* makeActiveBinding() for each name. */
SEXP drv_request_bind(SEXP req, SEXP names, SEXP functions) {
  for (R_xlen_t i = 0; i < XLENGTH(names); i++) {
    R_MakeActiveBinding(Rf_installChar(STRING_ELT(names, i)), VECTOR_ELT(functions, i), req);
  }
  return R_NilValue;
}

/* With the class attribute but without the object bit, `req$field` does not look for S3 methods, which would take
 * longer than the field itself, while inherits() and UseMethod() go by the attribute. */
SEXP drv_request_undispatched(SEXP req) {
  SET_OBJECT(req, 0);
  return req;
}

SEXP drv_request_new(void) {
  SEXP call = PROTECT(Rf_lang1(Rf_install("new_request")));
  SEXP req = Rf_eval(call, drv_namespace());
  UNPROTECT(1);
  return req;
}

SEXP drv_request_pointer(SEXP req) {
  SEXP pointer = cell_behind(req);
  if (!pointer) Rf_error("not a request");
  return pointer;
}

int drv_request_is_pristine(SEXP req) {
  /* the one reference is that of the variable by which handlers are called */
  return !MAYBE_SHARED(req) && Rf_length(req) == DRV_FIELDS && !OBJECT(req) && !R_EnvironmentIsLocked(req) &&
         !R_BindingIsLocked(params_symbol(), req);
}
