# Answers of the Model Context Protocol as texts: results, errors, lists in pages. Not for what is in them:
# mcp-methods.R, mcp-tools.R, mcp-resources.R, mcp-prompts.R.

# Versions without a handshake, where each request says all about itself, and those with one, the newest first.
MCP_VERSIONS <- "2026-07-28"

MCP_OLDER_VERSIONS <- c("2025-11-25", "2025-06-18", "2025-03-26")

MCP_ALL_VERSIONS <- c(MCP_VERSIONS, MCP_OLDER_VERSIONS)

# Where `params._meta` says what the client can, in each message of a version without a handshake.
MCP_CLIENT_CAN <- "io.modelcontextprotocol/clientCapabilities"

# Codes of errors: of JSON-RPC, and of MCP.
MCP_CODES <- c(
  parse = -32700L, request = -32600L, method = -32601L, params = -32602L, internal = -32603L, resource = -32002L,
  header = -32020L, capability = -32021L, version = -32022L
)

# Of values that were read without simplification.
is_object <- function(value) is.list(value) && !is.null(names(value))

# Messages that go out: list(text, code). `id` and `result` are texts of JSON.
rpc_result <- function(id, result) {
  list(text = paste0("{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"result\":", result, "}"))
}

rpc_error <- function(id, code, message, data = NULL) {
  error <- list(code = MCP_CODES[[code]], message = message)
  error$data <- data
  if (is.null(id)) id <- "null"
  list(text = paste0("{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"error\":", plain_json(error), "}"), code = code)
}

# As a response of HTTP.
rpc_response <- function(answer, status = 200L) {
  .Call(C_plain_response, answer$text, status, list(), "application/json")
}

# What is in an answer to a message with the id 0: its result, or its error, as text.
rpc_content <- function(answer) {
  member <- if (is.null(answer$code)) "result" else "error"
  start <- nchar(sprintf("{\"jsonrpc\":\"2.0\",\"id\":0,\"%s\":", member))
  substr(answer$text, start + 1L, nchar(answer$text) - 1L)
}

# What results have since 2026.
new_result <- function(offer, type = "complete") {
  list(resultType = type, "_meta" = list("io.modelcontextprotocol/serverInfo" = offer$server))
}

# Tools change with a reload only; how soon one comes is not known.
MCP_KEPT <- list(ttlMs = 60000L, cacheScope = "private")

# What ends a result, after its own members: nothing for older versions. `kept`: of one that may be kept by the client.
result_end <- function(offer, is_new, kept = FALSE, type = "complete") {
  if (is_new) paste0(",", substring(plain_json(c(new_result(offer, type), if (kept) MCP_KEPT)), 2L)) else "}"
}

# Items in a page of a list.
MCP_PAGE <- 100L

# A list in pages, each a result without its end: of texts of JSON, as the member `key`. The cursor of a page is its
# number: lists change with a reload only, and what a client has read by then is old anyway.
pages_of <- function(key, items) {
  groups <- split(unname(items), (seq_along(items) - 1L) %/% MCP_PAGE)
  if (!length(groups)) groups <- list(character())
  last <- length(groups)
  vapply(seq_len(last), function(i) {
    further <- if (i < last) sprintf(",\"nextCursor\":\"%d\"", i + 1L)
    paste0("{\"", key, "\":[", paste(groups[[i]], collapse = ","), "]", further)
  }, "")
}

list_page <- function(pages, id, params, end) {
  cursor <- params[["cursor"]]
  page <- if (is.null(cursor)) 1L else if (is_string(cursor)) match(cursor, seq_along(pages)) else NA
  if (is.na(page)) return(rpc_error(id, "params", "`cursor` must be the `nextCursor` of the page before"))
  rpc_result(id, paste0(pages[[page]], end))
}

# The error of a prompt or a resource whose function gave that response. Where an error is the client's, it is told why.
rpc_failure <- function(id, response, data = NULL) {
  if (!is_response(response) || inherits(response, "dr_stream")) {
    return(rpc_error(id, "internal", "it gave a promise or a stream, which cannot be had here"))
  }
  is_told <- inherits(response, "dr_problem") && nzchar(response$body)
  said <- if (is_told) response$body else status_phrase(response$status)
  rpc_error(id, if (response$status >= 500L) "internal" else "params", said, data)
}

has_failed <- function(response) {
  !is_response(response) || inherits(response, "dr_stream") || response$status >= 400L
}
