/* What apps of httpuv, Rook and plumber are given, and the usual of what they answer, made in one call each: in R this
 * took a tenth of a request of plumber. What an app answers otherwise is left to R/rook-response.R. Neighbours:
 * request.c, whose fields these are; values.c. */
#include "rook.h"
#include "r.h"
#include "request.h"
#include "values.h"
#include <ctype.h>
#include <string.h>

/* Longer names of header fields are made by R's allocator, and not on the stack. */
#define USUAL_NAME 128

/* ---- the request ---------------------------------------------------------------------------------------------- */

/* A part of a string: `len` bytes from `start`. */
typedef struct {
  const char *start;
  size_t len;
} piece;

static piece piece_of(SEXP string) {
  if (TYPEOF(string) != STRSXP || XLENGTH(string) != 1) return (piece){"", 0};
  SEXP text = STRING_ELT(string, 0);
  return (piece){CHAR(text), (size_t)LENGTH(text)};
}

static piece from(piece p, size_t at) { return (piece){p.start + at, p.len - at}; }

static piece until(piece p, size_t end) { return (piece){p.start, end}; }

static size_t find(piece p, char c) {
  const char *at = p.len ? memchr(p.start, c, p.len) : NULL;
  return at ? (size_t)(at - p.start) : p.len;
}

/* As a string in the encoding of `like`, of which it is a part. */
static SEXP as_string(piece p, SEXP like) {
  cetype_t encoding = TYPEOF(like) == STRSXP && XLENGTH(like) == 1 ? Rf_getCharCE(STRING_ELT(like, 0)) : CE_NATIVE;
  return Rf_ScalarString(Rf_mkCharLenCE(p.start, (int)p.len, encoding));
}

/* What a request was sent for. */
typedef struct {
  piece path, query; /* the query with its "?" */
  piece before, rest;
} target;

/* How long "scheme://server/" is at the beginning, 0 without it: a client of a proxy names the server, too. */
static size_t length_of_origin(piece url) {
  size_t i = 0;
  if (!url.len || !isalpha((unsigned char)url.start[0])) return 0;
  while (i < url.len && (isalnum((unsigned char)url.start[i]) || strchr("+.-", url.start[i]))) i++;
  if (url.len - i < 3 || memcmp(url.start + i, "://", 3)) return 0;
  for (i += 3; i < url.len && url.start[i] != '/' && url.start[i] != '?'; i++) {
  }
  return i;
}

/* `depth`: the number of segments of the path under which the app is mounted. The rest is never empty. */
static target target_of(piece url, int depth) {
  target t;
  size_t origin = url.len && url.start[0] == '/' ? 0 : length_of_origin(url);
  url = from(url, origin);
  size_t end = find(url, '?');
  t.path = until(url, end);
  t.query = from(url, end);
  /* after "http://host" or before "?" */
  if (origin && !t.path.len) t.path = (piece){"/", 1};
  t.before = until(t.path, 0);
  t.rest = t.path;
  if (depth <= 0) return t;
  size_t at = 0;
  for (; at < t.path.len; at++) {
    if (t.path.start[at] == '/' && depth-- == 0) break;
  }
  t.before = until(t.path, at);
  t.rest = at < t.path.len ? from(t.path, at) : (piece){"/", 1};
  return t;
}

SEXP drv_rook_target(SEXP url, SEXP depth) {
  const char *names[] = {"path", "query", "before", "rest", ""};
  target t = target_of(piece_of(url), Rf_asInteger(depth));
  SEXP out = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(out, 0, as_string(t.path, url));
  SET_VECTOR_ELT(out, 1, as_string(t.query, url));
  SET_VECTOR_ELT(out, 2, as_string(t.before, url));
  SET_VECTOR_ELT(out, 3, as_string(t.rest, url));
  UNPROTECT(1);
  return out;
}

/* Where the name ends: before the colon of a port. */
static size_t length_of_name(piece host) {
  size_t at = host.len;
  while (at && isdigit((unsigned char)host.start[at - 1])) at--;
  return at && host.start[at - 1] == ':' ? at - 1 : host.len;
}

static SEXP port_of(piece host, size_t name, SEXP like, const char *usual) {
  return name == host.len ? Rf_mkString(usual) : as_string(from(host, name + 1), like);
}

SEXP drv_rook_host(SEXP host) {
  const char *names[] = {"name", "port", ""};
  piece p = piece_of(host);
  size_t name = length_of_name(p);
  SEXP out = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(out, 0, as_string(until(p, name), host));
  SET_VECTOR_ELT(out, 1, port_of(p, name, host, "80"));
  UNPROTECT(1);
  return out;
}

/* The symbol HTTP_X_NAME of a header field. */
static SEXP variable_of(const char *field) {
  char usual[USUAL_NAME], *name = usual;
  size_t len = strlen(field) + sizeof "HTTP_";
  const void *before = vmaxget();
  if (len > USUAL_NAME) name = R_alloc(len, 1);
  memcpy(name, "HTTP_", 5);
  for (size_t i = 5; i < len; i++) {
    char c = field[i - 5];
    name[i] = c == '-' ? '_' : c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
  }
  SEXP symbol = Rf_install(name);
  vmaxset(before);
  return symbol;
}

/* Header fields that are a string each, as those of the engine are: middleware may have given others. */
static int are_single(SEXP headers) {
  if (TYPEOF(headers) != VECSXP) return 0;
  for (R_xlen_t i = 0; i < XLENGTH(headers); i++) {
    SEXP value = VECTOR_ELT(headers, i);
    if (TYPEOF(value) != STRSXP || XLENGTH(value) != 1) return 0;
  }
  return TYPEOF(Rf_getAttrib(headers, R_NamesSymbol)) == STRSXP;
}

/* The number of the field that comes at each place, by their names: there are few, and fields of one name stay in
 * their order. */
static int *order_of(SEXP names, R_xlen_t n) {
  int *order = (int *)R_alloc((size_t)n, sizeof *order);
  for (int i = 0; i < n; i++) {
    const char *name = CHAR(STRING_ELT(names, i));
    int at = i;
    for (; at > 0 && strcmp(CHAR(STRING_ELT(names, order[at - 1])), name) > 0; at--) order[at] = order[at - 1];
    order[at] = i;
  }
  return order;
}

/* A named character vector, sorted by name; NULL when there are no fields. Not protected. */
static SEXP sorted_headers(SEXP headers) {
  int n_protected = 0;
  if (TYPEOF(headers) == VECSXP && !are_single(headers)) {
    headers = PROTECT(drv_call_package("flat_headers", headers));
    n_protected++;
  }
  R_xlen_t n = Rf_xlength(headers);
  SEXP names = Rf_getAttrib(headers, R_NamesSymbol), out = R_NilValue;
  if (n && TYPEOF(names) == STRSXP && (TYPEOF(headers) == VECSXP || TYPEOF(headers) == STRSXP)) {
    const void *before = vmaxget();
    int *order = order_of(names, n);
    out = PROTECT(Rf_allocVector(STRSXP, n));
    SEXP sorted = PROTECT(Rf_allocVector(STRSXP, n));
    for (R_xlen_t i = 0; i < n; i++) {
      SEXP value = TYPEOF(headers) == STRSXP ? headers : VECTOR_ELT(headers, order[i]);
      SET_STRING_ELT(out, i, STRING_ELT(value, value == headers ? order[i] : 0));
      SET_STRING_ELT(sorted, i, STRING_ELT(names, order[i]));
    }
    Rf_setAttrib(out, R_NamesSymbol, sorted);
    n_protected += 2;
    vmaxset(before);
  }
  UNPROTECT(n_protected);
  return out;
}

static void define(SEXP env, const char *name, SEXP value) {
  PROTECT(value);
  Rf_defineVar(Rf_install(name), value, env);
  UNPROTECT(1);
}

static void define_headers(SEXP env, SEXP headers) {
  SEXP names = Rf_getAttrib(headers, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(headers); i++) {
    const char *name = CHAR(STRING_ELT(names, i));
    SEXP value = PROTECT(Rf_ScalarString(STRING_ELT(headers, i)));
    Rf_defineVar(variable_of(name), value, env);
    /* the specification has them under these names, too */
    if (!strcmp(name, "content-type")) define(env, "CONTENT_TYPE", value);
    if (!strcmp(name, "content-length")) define(env, "CONTENT_LENGTH", value);
    UNPROTECT(1);
  }
}

/* What is known of the user: auth, as in a request of this package's own, and REMOTE_USER (RFC 3875, section 4.1.11).
 * A client's header field of that name is in HTTP_REMOTE_USER. */
static void define_user(SEXP env, SEXP req) {
  SEXP auth = PROTECT(drv_request_auth(req));
  if (TYPEOF(auth) == VECSXP) define(env, "auth", auth);
  SEXP names = Rf_getAttrib(auth, R_NamesSymbol);
  for (R_xlen_t i = 0; TYPEOF(auth) == VECSXP && i < Rf_xlength(names); i++) {
    SEXP user = VECTOR_ELT(auth, i);
    if (!strcmp(CHAR(STRING_ELT(names, i)), "user") && TYPEOF(user) == STRSXP) define(env, "REMOTE_USER", user);
  }
  UNPROTECT(1);
}

/* Where the app is for its clients: below the base path, where it is mounted. */
static SEXP script_name(SEXP req, piece before, SEXP url) {
  piece base = piece_of(PROTECT(drv_request_base_path(req)));
  SEXP name;
  if (base.len) {
    const void *top = vmaxget();
    char *joined = R_alloc(base.len + before.len, 1);
    memcpy(joined, base.start, base.len);
    memcpy(joined + base.len, before.start, before.len);
    name = as_string((piece){joined, base.len + before.len}, url);
    vmaxset(top);
  } else {
    name = as_string(before, url);
  }
  UNPROTECT(1);
  return name;
}

/* All is read now: the app may keep it, and a promise of its answer needs it when other requests have come. */
SEXP drv_rook_request(SEXP req, SEXP depth, SEXP constants, SEXP no_input) {
  /* few names, so a hash table would only cost */
  SEXP env = PROTECT(R_NewEnv(R_EmptyEnv, FALSE, 0));
  SEXP names = Rf_getAttrib(constants, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(constants); i++) {
    Rf_defineVar(Rf_installTrChar(STRING_ELT(names, i)), VECTOR_ELT(constants, i), env);
  }
  SEXP url = PROTECT(drv_request_value(req, "url")), host = PROTECT(drv_request_value(req, "host"));
  SEXP headers = PROTECT(sorted_headers(PROTECT(drv_request_value(req, "headers"))));
  target t = target_of(piece_of(url), Rf_asInteger(depth));
  piece asked = piece_of(host);
  size_t name = length_of_name(asked);
  define(env, "SCRIPT_NAME", script_name(req, t.before, url));
  define_headers(env, headers);
  define(env, "REQUEST_METHOD", drv_request_value(req, "method"));
  define(env, "PATH_INFO", as_string(t.rest, url));
  define(env, "QUERY_STRING", as_string(t.query, url));
  define(env, "HEADERS", headers);
  define(env, "SERVER_NAME", as_string(until(asked, name), host));
  piece scheme = piece_of(drv_request_value(req, "scheme"));
  int is_secure = scheme.len == 5 && !memcmp(scheme.start, "https", 5);
  define(env, "rook.url_scheme", Rf_mkString(is_secure ? "https" : "http"));
  define(env, "SERVER_PORT", port_of(asked, name, host, is_secure ? "443" : "80"));
  define(env, "REMOTE_ADDR", drv_request_value(req, "remote_addr"));
  define(env, "REMOTE_PORT", Rf_ScalarString(Rf_asChar(drv_request_value(req, "remote_port"))));
  define_user(env, req);
  define(env, "rook.input", no_input);
  UNPROTECT(5);
  return env;
}

/* ---- the answer ----------------------------------------------------------------------------------------------- */

/* The status as an integer, NULL for what is none. */
static SEXP status_of(SEXP x) {
  if ((TYPEOF(x) != INTSXP && TYPEOF(x) != REALSXP) || XLENGTH(x) != 1 || ATTRIB(x) != R_NilValue) return R_NilValue;
  double status = Rf_asReal(x);
  if (!(status >= 200 && status <= 599) || status != (int)status) return R_NilValue;
  return TYPEOF(x) == INTSXP ? x : Rf_ScalarInteger((int)status);
}

/* Whether nothing is attached to `x` but a single attribute called `name`. */
static int has_only(SEXP x, SEXP name) { return TAG(ATTRIB(x)) == name && CDR(ATTRIB(x)) == R_NilValue; }

/* Fields that are strings already, each under a name. */
static int are_headers(SEXP x) {
  if (TYPEOF(x) != VECSXP || !XLENGTH(x) || !has_only(x, R_NamesSymbol)) return 0;
  SEXP names = Rf_getAttrib(x, R_NamesSymbol);
  for (R_xlen_t i = 0; i < XLENGTH(x); i++) {
    SEXP value = VECTOR_ELT(x, i);
    if (TYPEOF(value) != STRSXP || OBJECT(value) || !LENGTH(STRING_ELT(names, i))) return 0;
    for (R_xlen_t j = 0; j < XLENGTH(value); j++) {
      if (STRING_ELT(value, j) == NA_STRING) return 0;
    }
  }
  return 1;
}

/* A string, or what toJSON() gives. */
static int is_text(SEXP x) {
  if (TYPEOF(x) != STRSXP || XLENGTH(x) != 1 || STRING_ELT(x, 0) == NA_STRING) return 0;
  return ATTRIB(x) == R_NilValue || (has_only(x, R_ClassSymbol) && Rf_inherits(x, "json"));
}

SEXP drv_rook_response(SEXP value) {
  SEXP names = Rf_getAttrib(value, R_NamesSymbol), status = NULL, headers = NULL, body = NULL;
  if (TYPEOF(value) != VECSXP || OBJECT(value) || XLENGTH(value) != 3 || TYPEOF(names) != STRSXP) return R_NilValue;
  for (R_xlen_t i = 0; i < 3; i++) {
    const char *name = CHAR(STRING_ELT(names, i));
    if (!strcmp(name, "status")) status = VECTOR_ELT(value, i);
    else if (!strcmp(name, "headers")) headers = VECTOR_ELT(value, i);
    else if (!strcmp(name, "body")) body = VECTOR_ELT(value, i);
  }
  if (!status || !headers || !body || !are_headers(headers)) return R_NilValue;
  int is_bytes = TYPEOF(body) == RAWSXP && ATTRIB(body) == R_NilValue;
  if (!is_bytes && !is_text(body) && body != R_NilValue) return R_NilValue;
  PROTECT(status = status_of(status));
  if (status == R_NilValue) {
    UNPROTECT(1);
    return R_NilValue;
  }
  if (TYPEOF(body) == STRSXP) {
    /* the bytes as they are, in any encoding */
    SEXP text = STRING_ELT(body, 0);
    body = Rf_allocVector(RAWSXP, LENGTH(text));
    memcpy(RAW(body), CHAR(text), (size_t)LENGTH(text));
  }
  PROTECT(body);
  SEXP out = drv_response(status, body, headers);
  UNPROTECT(2);
  return out;
}

/* ---- programs of Rook ------------------------------------------------------------------------------------------- */

/* In the place of the routine that starts R's own web server: nothing is started, and nothing is wrong. */
SEXP drv_no_httpd(SEXP host, SEXP port) {
  (void)host;
  (void)port;
  return Rf_ScalarInteger(0);
}
