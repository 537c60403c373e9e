/* Messages of the Model Context Protocol: for R/mcp.R. */
#ifndef DROVER_MCP_H
#define DROVER_MCP_H

#define R_NO_REMAP
#include <Rinternals.h>

/* .Call: a body (raw) as a message, a list, see mcp/message.rs; a string, why it is no JSON. `schemas`: texts of those
 * of the tools' arguments, by the tools' names. */
SEXP drv_call_mcp_read(SEXP body, SEXP schemas);
/* .Call: a request as a POST of a message, a list, see mcp/envelope.rs; a string where it breaks a limit. `versions`:
 * of the protocol, first the one that has no handshake. */
SEXP drv_call_mcp_receive(SEXP req, SEXP schemas, SEXP versions);
/* .Call: the answer to a call, of a response with status 200 and a text or JSON and nothing else; NULL of any other.
 * `id` is JSON, `end` the end of the result with its brace. */
SEXP drv_call_mcp_answer(SEXP id, SEXP response, SEXP is_new, SEXP end);

#endif
