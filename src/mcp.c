/* Messages of the Model Context Protocol, read by Rust: rust/crates/binding/src/mcp.rs. Neighbour: R/mcp.R. */
#include "mcp.h"
#include "build.h"
#include "drover_rust.h"
#include "r.h"
#include "state.h"
#include "strings.h"
#include "values.h"
#include <string.h>

static SEXP build_message(void *root) { return drv_build_strings(root); }

static void close_message(void *read, Rboolean jump) {
  (void)jump;
  drv_mcp_close(read);
}

SEXP drv_call_mcp_read(SEXP body, SEXP schemas) {
  size_t n = (size_t)XLENGTH(schemas);
  drv_mcp_tools tools = {NULL, NULL, n};
  const drv_node *root = NULL;
  drv_error error;
  if (n) {
    tools.names = drv_texts(Rf_getAttrib(schemas, R_NamesSymbol));
    tools.schemas = drv_texts(schemas);
  }
  void *read = drv_mcp_open(RAW(body), (size_t)XLENGTH(body), &tools, drv_here.max_json_depth, drv_here.max_collisions,
                            &root, &error);
  if (!read) return Rf_ScalarString(drv_mkchar(error.message));
  return R_UnwindProtect(build_message, (void *)root, close_message, read, NULL);
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
