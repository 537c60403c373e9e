/* Messages of the Model Context Protocol, read by Rust: rust/crates/binding/src/mcp. Neighbour: R/mcp.R. */
#include "mcp.h"
#include "build.h"
#include "drover_rust.h"
#include "r.h"
#include "request.h"
#include "state.h"
#include "strings.h"
#include "values.h"
#include <string.h>

/* What rust/crates/binding/src/mcp gives has no names: here they are made once. */
static const char *const of_message[] = {"id",   "asks",    "refusal", "method", "params",
                                         "tool", "problem", "reply",   "events"};
static const char *const of_post[] = {"code",   "said",    "id",      "origin", "version",
                                      "is_new", "listens", "message", "several"};
enum { MESSAGE = 7, SEVERAL };

static SEXP names(const char *const *all, int n) {
  SEXP made = drv_constant(Rf_allocVector(STRSXP, n));
  for (int i = 0; i < n; i++) SET_STRING_ELT(made, i, Rf_mkChar(all[i]));
  return made;
}

static void name_message(SEXP message) {
  static SEXP known = NULL;
  if (!known) known = names(of_message, sizeof of_message / sizeof *of_message);
  if (message != R_NilValue) Rf_setAttrib(message, R_NamesSymbol, known);
}

static SEXP build_message(void *root) {
  SEXP message = PROTECT(drv_build_strings(root));
  name_message(message);
  UNPROTECT(1);
  return message;
}

static SEXP build_post(void *root) {
  static SEXP known = NULL;
  if (!known) known = names(of_post, sizeof of_post / sizeof *of_post);
  SEXP post = PROTECT(drv_build_strings(root)), message = VECTOR_ELT(post, MESSAGE);
  Rf_setAttrib(post, R_NamesSymbol, known);
  if (!Rf_asLogical(VECTOR_ELT(post, SEVERAL))) name_message(message);
  else {
    for (R_xlen_t i = 0; i < XLENGTH(message); i++) name_message(VECTOR_ELT(message, i));
  }
  UNPROTECT(1);
  return post;
}

static void close_message(void *read, Rboolean jump) {
  (void)jump;
  drv_mcp_close(read);
}

static SEXP read(drv_str text, SEXP schemas, const drv_mcp_fields *fields) {
  drv_mcp_tools tools = {NULL, NULL, (size_t)XLENGTH(schemas)};
  drv_mcp_bounds bounds = {drv_here.max_json_depth, drv_here.max_collisions};
  const drv_node *root = NULL;
  drv_error error;
  if (tools.n) {
    tools.names = drv_texts(Rf_getAttrib(schemas, R_NamesSymbol));
    tools.schemas = drv_texts(schemas);
  }
  void *read = drv_mcp_open((const uint8_t *)text.ptr, text.len, &tools, fields, &bounds, &root, &error);
  if (!read) return Rf_ScalarString(drv_mkchar(error.message));
  return R_UnwindProtect(fields ? build_post : build_message, (void *)root, close_message, read, NULL);
}

SEXP drv_call_mcp_read(SEXP body, SEXP schemas) {
  return read((drv_str){(const char *)RAW(body), (size_t)XLENGTH(body)}, schemas, NULL);
}

SEXP drv_call_mcp_receive(SEXP req, SEXP schemas, SEXP versions) {
  drv_mcp_fields fields = {
      .content_type = drv_request_header(req, "content-type"),
      .origin = drv_request_header(req, "origin"),
      .version = drv_request_header(req, "mcp-protocol-version"),
      .method = drv_request_header(req, "mcp-method"),
      .name = drv_request_header(req, "mcp-name"),
      .accept = drv_request_header(req, "accept"),
      .session = drv_request_header(req, "mcp-session-id"),
      .versions = drv_texts(versions),
      .n = (size_t)XLENGTH(versions),
  };
  return read(drv_request_bytes(req), schemas, &fields);
}

SEXP drv_call_mcp_answer(SEXP id, SEXP response, SEXP is_new, SEXP end) {
  SEXP class = Rf_getAttrib(response, R_ClassSymbol);
  SEXP status = drv_first(response, "status"), body = drv_first(response, "body");
  SEXP headers = drv_first(response, "headers"), type = drv_first(headers, "Content-Type");
  drv_error answer;
  /* of no further class, and without a file or a stream */
  if (TYPEOF(class) != STRSXP || XLENGTH(class) != 1) return R_NilValue;
  if (strcmp(CHAR(STRING_ELT(class, 0)), "dr_response")) return R_NilValue;
  if (XLENGTH(response) != 3 || XLENGTH(headers) != 1) return R_NilValue;
  if (TYPEOF(status) != INTSXP || XLENGTH(status) != 1 || INTEGER(status)[0] != 200) return R_NilValue;
  if (TYPEOF(body) != STRSXP || XLENGTH(body) != 1 || Rf_getCharCE(STRING_ELT(body, 0)) == CE_BYTES) return R_NilValue;
  if (TYPEOF(type) != STRSXP || XLENGTH(type) != 1) return R_NilValue;
  const char *sent_as = CHAR(STRING_ELT(type, 0));
  int is_json = !strcmp(sent_as, "application/json");
  if (!is_json && strcmp(sent_as, "text/plain; charset=utf-8")) return R_NilValue;
  if (!drv_mcp_answer(drv_text(id), drv_text(body), is_json, !Rf_asLogical(is_new), drv_text(end), &answer)) {
    return R_NilValue;
  }
  return Rf_ScalarString(drv_mkchar(answer.message));
}
