/* JSON between R and Rust: the parts that allocate R objects, or that may jump.
 *
 * rust/crates/binding/src/json reads R objects and writes text, or reads text and describes R objects, without ever
 * calling what may jump. For the rare object that needs R's help (ALTREP vectors, strings in other encodings) it calls
 * the shims here, which catch R's jumps. Not for the replies of handlers: they are written by Rust right away. */
#include "json.h"
#include "build.h"
#include "r.h"
#include "state.h"
#include "strings.h"
#include "values.h"
#include <R_ext/Memory.h>
#include <langinfo.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* the Rust side: rust/crates/binding/src/json/abi.rs */

typedef struct {
  int32_t auto_unbox, na, null, dataframe, matrix, date, posixt, factor, raw, pretty, keep_vec_names, utc, time_format,
      digits;
} drv_json_options;

typedef enum {
  DRV_JSON_OK,
  DRV_JSON_FOREIGN,
  DRV_JSON_REFUSED,
  DRV_JSON_TOO_DEEP,
  DRV_JSON_BUG,
  DRV_JSON_ASKS
} drv_json_status;

typedef struct {
  const char *bytes;
  size_t len;
  size_t capacity;
  int32_t status;
  const char *refused;
  size_t refused_len;
} drv_json_text;

/* `known`: NULL where R is not to be asked about parts of `x`; otherwise its answers so far, see json.R. */
extern void drv_json_write(SEXP x, const drv_json_options *options, SEXP known, drv_json_text *text);
extern size_t drv_json_asked(void);
extern SEXP drv_json_asked_at(size_t at, int32_t *context);
extern void drv_json_text_free(drv_json_text *text);
extern int32_t drv_json_refused(SEXP x, const char **what, size_t *len);
extern void *drv_json_open(const uint8_t *text, size_t len, int32_t simplify, uint32_t max_depth, size_t max_collisions,
                           const drv_node **root, drv_json_error *error);
extern void drv_json_close(void *tree);

/* Functions that Rust calls. R_ToplevelExec: control returns here even when R jumps. */

typedef struct {
  SEXP x;
  const void *data;
  R_xlen_t n;
} view_call;

/* What a reply is being made of, or NULL. */
static SEXP read_now;

SEXP drv_json_reads(SEXP x) {
  SEXP before = read_now;
  read_now = x;
  return before;
}

static void view_now(void *call) {
  view_call *view = call;
  /* the class may run R code: that must not change in place what is being read */
  if (read_now) MARK_NOT_MUTABLE(read_now);
  view->n = XLENGTH(view->x);
  view->data = DATAPTR_RO(view->x);
}

const void *drv_view(SEXP x, R_xlen_t *n) {
  view_call view = {x, NULL, 0};
  if (!R_ToplevelExec(view_now, &view)) {
    *n = 1;
    return NULL;
  }
  *n = view.n;
  return view.data;
}

typedef struct {
  SEXP x;
  const char *text;
} translate_call;

static void translate_now(void *call) {
  translate_call *translate = call;
  translate->text = Rf_translateCharUTF8(translate->x);
}

char *drv_translate(SEXP x, size_t *n) {
  const void *top = vmaxget();
  translate_call translate = {x, NULL};
  char *copy = NULL;
  if (R_ToplevelExec(translate_now, &translate)) {
    *n = strlen(translate.text);
    copy = malloc(*n + 1);
    if (copy) memcpy(copy, translate.text, *n + 1);
  }
  vmaxset(top);
  return copy;
}

void drv_free(char *text) { free(text); }

int drv_native_is_utf8(void) { return !strcmp(nl_langinfo(CODESET), "UTF-8"); }

int drv_is_session_zone(const char *name, size_t len) {
  const char *zone = getenv("TZ");
  return zone && strlen(zone) == len && !memcmp(zone, name, len);
}

int32_t drv_zone_offset(double second, int64_t *offset) {
  time_t at = (time_t)second;
  struct tm local;
  tzset();
  if ((double)at != second || !localtime_r(&at, &local)) return 0;
  *offset = (int64_t)local.tm_gmtoff;
  return 1;
}

int drv_digits_secs_set(void) { return !Rf_isNull(Rf_GetOption1(Rf_install("digits.secs"))); }

/* Writing */

/* Long texts are few: only for them the buffer is made safe from a jump for want of memory, which costs as much as
 * writing a short text does. Of a short one, that one buffer would be lost. */
enum { PROTECTED_LENGTH = 64 * 1024 };

static SEXP text_to_string(void *data) {
  const drv_json_text *text = data;
  SEXP string = PROTECT(Rf_mkCharLenCE(text->bytes, (int)text->len, CE_UTF8));
  SEXP out = Rf_ScalarString(string);
  UNPROTECT(1);
  return out;
}

static void free_text(void *data, Rboolean jump) {
  (void)jump;
  drv_json_text_free(data);
}

static SEXP message(const char *words, size_t len) {
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 1));
  SET_VECTOR_ELT(out, 0, Rf_ScalarString(Rf_mkCharLenCE(words, (int)len, CE_UTF8)));
  UNPROTECT(1);
  return out;
}

static SEXP words(const char *text) { return message(text, strlen(text)); }

/* Why something is not written: NULL when jsonlite may know, otherwise a list of one string to say after "`x`". */
static SEXP reason(int32_t status, const char *what, size_t len) {
  switch ((drv_json_status)status) {
  case DRV_JSON_REFUSED: {
    char buffer[96];
    int n = snprintf(buffer, sizeof buffer, "holds %.*s, which has no JSON", (int)len, what);
    return message(buffer, (size_t)n);
  }
  case DRV_JSON_TOO_DEEP:
    return words("is nested too deep for JSON");
  case DRV_JSON_BUG:
    return words("could not be written: the JSON writer failed");
  default:
    return R_NilValue;
  }
}

/* The parts of a value that R has to be asked about: list(parts, contexts). */
static SEXP questions(void) {
  size_t n = drv_json_asked();
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 2));
  SEXP parts = Rf_allocVector(VECSXP, (R_xlen_t)n);
  SET_VECTOR_ELT(out, 0, parts);
  SEXP contexts = Rf_allocVector(INTSXP, (R_xlen_t)n);
  SET_VECTOR_ELT(out, 1, contexts);
  for (size_t i = 0; i < n; i++) {
    int32_t context;
    SET_VECTOR_ELT(parts, (R_xlen_t)i, drv_json_asked_at(i, &context));
    INTEGER(contexts)[i] = context;
  }
  UNPROTECT(1);
  return out;
}

/* A string, or what reason() or questions() gives. */
static SEXP write_json(SEXP x, const drv_json_options *options, SEXP known) {
  drv_json_text text;
  SEXP out;
  drv_json_write(x, options, known, &text);
  if (text.status == DRV_JSON_ASKS) {
    drv_json_text_free(&text);
    return questions();
  }
  if (text.status != DRV_JSON_OK) {
    drv_json_text_free(&text);
    return reason(text.status, text.refused, text.refused_len);
  }
  if (text.len > INT_MAX) {
    drv_json_text_free(&text);
    return words("is too long for a string of R (2^31 - 1 bytes) as JSON");
  }
  if (text.len > PROTECTED_LENGTH) return R_UnwindProtect(text_to_string, &text, free_text, &text, NULL);
  out = text_to_string(&text);
  drv_json_text_free(&text);
  return out;
}

/* How an argument is read. DIGITS: a whole number from 0 to 9. PASSED: any value; it matters only to parts that R is
 * asked about. */
enum { FLAG, CHOICE, DIGITS, PRESENT, PASSED };

/* The arguments of toJSON() with which the text is still native; at first those of drv_json_options, in its order. */
static const struct {
  const char *name;
  int kind;
  const char *choices[5];
} known_arguments[] = {
    {"auto_unbox", FLAG, {NULL}},
    {"na", CHOICE, {"null", "string"}},
    {"null", CHOICE, {"list", "null"}},
    {"dataframe", CHOICE, {"rows", "columns", "values"}},
    {"matrix", CHOICE, {"rowmajor", "columnmajor"}},
    {"Date", CHOICE, {"ISO8601", "epoch"}},
    {"POSIXt", CHOICE, {"string", "ISO8601", "epoch", "mongo"}},
    {"factor", CHOICE, {"string", "integer"}},
    {"raw", CHOICE, {"base64", "hex", "mongo", "int", "js"}},
    {"pretty", FLAG, {NULL}},
    {"keep_vec_names", FLAG, {NULL}},
    {"UTC", PRESENT, {NULL}},
    {"time_format", PRESENT, {NULL}},
    {"digits", DIGITS, {NULL}},
    {"complex", PASSED, {NULL}},
    {"force", PASSED, {NULL}},
    {"json_verbatim", PASSED, {NULL}},
    {"hms", PASSED, {NULL}},
};
enum {
  KNOWN = sizeof known_arguments / sizeof known_arguments[0],
  CHOICES = sizeof known_arguments[0].choices / sizeof known_arguments[0].choices[0]
};

/* One more than a number of digits; -1 when it is not one that the native writer knows. */
static int32_t digits_of(SEXP value) {
  if ((TYPEOF(value) != INTSXP && TYPEOF(value) != REALSXP) || XLENGTH(value) != 1 || OBJECT(value)) return -1;
  double digits = Rf_asReal(value);
  if (!(digits >= 0 && digits <= 9) || digits != (int)digits) return -1;
  return (int32_t)digits + 1;
}

/* The place of `value` among the choices of argument `which`, from 1; 0 or 1 for a flag; -1 for anything else. */
static int32_t choice(SEXP value, int which) {
  if (known_arguments[which].kind >= PRESENT) return 1;
  if (known_arguments[which].kind == DIGITS) return digits_of(value);
  if (known_arguments[which].kind == FLAG) {
    if (TYPEOF(value) != LGLSXP || XLENGTH(value) != 1 || LOGICAL(value)[0] == NA_LOGICAL) return -1;
    return LOGICAL(value)[0];
  }
  if (TYPEOF(value) != STRSXP || XLENGTH(value) != 1) return -1;
  const char *text = CHAR(STRING_ELT(value, 0));
  for (int i = 0; i < CHOICES && known_arguments[which].choices[i]; i++) {
    if (!strcmp(text, known_arguments[which].choices[i])) return i + 1;
  }
  return -1;
}

/* Reads a list of arguments; 0 when one of them is jsonlite's to understand, or to refuse. */
static int read_options(SEXP arguments, int32_t *options) {
  SEXP names = Rf_getAttrib(arguments, R_NamesSymbol);
  int seen[KNOWN] = {0};
  R_xlen_t n = XLENGTH(arguments);
  if (n && TYPEOF(names) != STRSXP) return 0;
  for (R_xlen_t i = 0; i < n; i++) {
    const char *name = CHAR(STRING_ELT(names, i));
    int which = 0;
    while (which < KNOWN && strcmp(name, known_arguments[which].name)) which++;
    if (which == KNOWN || seen[which]++) return 0;
    if ((options[which] = choice(VECTOR_ELT(arguments, i), which)) < 0) return 0;
  }
  return 1;
}

/* `arguments`: a list of those of toJSON(). `known`: see json.R. A string; NULL when jsonlite must be asked about all
 * of it; a list of one when `x` is refused, of two when R must be asked about parts of it. */
SEXP drv_call_json_write(SEXP x, SEXP arguments, SEXP known) {
  int32_t options[KNOWN] = {0};
  drv_json_options given;
  _Static_assert(sizeof given <= sizeof options, "an argument for each option");
  if (!read_options(arguments, options)) return R_NilValue;
  memcpy(&given, options, sizeof given);
  return write_json(x, &given, known);
}

/* The reply of dr_json() when there are no headers, which is nearly always; `digits` as for toJSON(), or NULL for as
 * many as it takes. NULL when R must look at the arguments, ask jsonlite, or say why `x` is refused. */
SEXP drv_call_json_reply(SEXP x, SEXP status, SEXP headers, SEXP auto_unbox, SEXP digits) {
  static SEXP type = NULL;
  drv_json_options options = {.digits = digits == R_NilValue ? 0 : digits_of(digits)};
  if (options.digits < 0) return R_NilValue;
  if (TYPEOF(headers) != VECSXP || XLENGTH(headers) != 0) return R_NilValue;
  if (TYPEOF(auto_unbox) != LGLSXP || XLENGTH(auto_unbox) != 1) return R_NilValue;
  if (LOGICAL(auto_unbox)[0] == NA_LOGICAL) return R_NilValue;
  options.auto_unbox = LOGICAL(auto_unbox)[0];

  SEXP body = PROTECT(write_json(x, &options, NULL));
  if (TYPEOF(body) != STRSXP) {
    UNPROTECT(1);
    return R_NilValue;
  }
  if (!type) type = drv_constant(Rf_mkString("application/json"));
  SEXP out = drv_plain_response(body, status, headers, type);
  UNPROTECT(1);
  return out;
}

/* NULL when jsonlite may be asked about `x`, a list when it must not. */
SEXP drv_call_json_refused(SEXP x) {
  const char *what;
  size_t len;
  int32_t status = drv_json_refused(x, &what, &len);
  return reason(status, what, len);
}

/* Parsing */

static SEXP build_tree(void *root) { return drv_build_strings(root); }

static void close_tree(void *tree, Rboolean jump) {
  (void)jump;
  drv_json_close(tree);
}

typedef struct {
  const drv_str *texts;
  size_t n;
  int utc;
  double *seconds;
} dates_call;

/* read_dates() of the package, even if a user has masked it. */
static void read_dates_now(void *data) {
  dates_call *dates = data;
  SEXP texts = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)dates->n));
  for (size_t i = 0; i < dates->n; i++) SET_STRING_ELT(texts, (R_xlen_t)i, drv_mkchar(dates->texts[i]));
  SEXP utc = PROTECT(Rf_ScalarLogical(dates->utc));
  SEXP call = PROTECT(Rf_lang3(Rf_install("read_dates"), texts, utc));
  SEXP seconds = PROTECT(Rf_eval(call, drv_namespace()));
  if (TYPEOF(seconds) != REALSXP || XLENGTH(seconds) != (R_xlen_t)dates->n) Rf_error("dates were not read");
  memcpy(dates->seconds, REAL(seconds), dates->n * sizeof(double));
  if (!dates->utc) drv_set_local_zone(Rf_getAttrib(seconds, Rf_install("tzone")));
  UNPROTECT(4);
}

int32_t drv_read_dates(const drv_str *texts, size_t n, int32_t utc, double *seconds) {
  dates_call dates = {texts, n, utc, seconds};
  return R_ToplevelExec(read_dates_now, &dates);
}

SEXP drv_json_parse(const uint8_t *text, size_t len, int simplify, uint32_t max_depth, size_t max_collisions,
                    drv_json_error *error) {
  const drv_node *root = NULL;
  void *tree = drv_json_open(text, len, simplify, max_depth, max_collisions, &root, error);
  if (!tree) return NULL;
  return R_UnwindProtect(build_tree, (void *)root, close_tree, tree, NULL);
}

/* text: a string in UTF-8, or a raw vector. The value in a list, or a message as a string: a value may be a string. */
SEXP drv_call_json_parse(SEXP text, SEXP simplify, SEXP max_depth, SEXP max_collisions) {
  drv_json_error error;
  const uint8_t *bytes;
  size_t len;
  if (TYPEOF(text) == RAWSXP) {
    bytes = RAW(text);
    len = (size_t)XLENGTH(text);
  } else {
    SEXP string = STRING_ELT(text, 0);
    bytes = (const uint8_t *)CHAR(string);
    len = (size_t)LENGTH(string);
  }
  /* in a server, all texts that a handler reads count as its request's */
  if (!drv_here.link) drv_strings_begin();
  SEXP value = drv_json_parse(bytes, len, Rf_asLogical(simplify), (uint32_t)Rf_asInteger(max_depth),
                              (size_t)Rf_asInteger(max_collisions), &error);
  if (!value) return Rf_ScalarString(Rf_mkCharCE(error.message, CE_UTF8));
  PROTECT(value);
  SEXP out = PROTECT(Rf_allocVector(VECSXP, 1));
  SET_VECTOR_ELT(out, 0, value);
  UNPROTECT(2);
  return out;
}
