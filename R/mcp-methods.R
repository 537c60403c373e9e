# What messages of the Model Context Protocol mean: a method each. Not for how they come and go: mcp.R. Neighbours:
# mcp-tools.R, mcp-routes.R.

# The answer to a message that asks for something, as C_mcp_read gives it. `is_new`: by a version without a handshake.
answer_message <- function(offer, req, message, is_new) {
  id <- message$id
  params <- message$params
  switch(message$method,
    "tools/call" = call_tool(offer, req, message, is_new),
    "tools/list" = list_tools(offer, id, params, is_new),
    initialize = if (is_new) NULL else rpc_result(id, greeting(offer, params[["protocolVersion"]])),
    ping = if (is_new) NULL else rpc_result(id, "{}"),
    "server/discover" = rpc_result(id, discovery(offer))
  ) %||% rpc_error(id, "method", paste0("there is no method ", encodeString(substr(message$method, 1L, 60L))))
}

# Of a handshake: the version asked for, or else the newest that has one.
greeting <- function(offer, asked) {
  version <- if (is_string(asked) && asked %in% MCP_OLDER_VERSIONS) asked else MCP_OLDER_VERSIONS[[1L]]
  plain_json(c(
    list(protocolVersion = version, capabilities = MCP_CAPABILITIES, serverInfo = offer$server),
    if (!is.null(offer$instructions)) list(instructions = offer$instructions)
  ))
}

MCP_CAPABILITIES <- list(tools = list(listChanged = FALSE))

discovery <- function(offer) {
  plain_json(c(
    list(
      supportedVersions = as.list(MCP_ALL_VERSIONS), capabilities = MCP_CAPABILITIES
    ),
    if (!is.null(offer$instructions)) list(instructions = offer$instructions),
    new_result(offer), MCP_KEPT
  ))
}

# What results have since 2026.
new_result <- function(offer) {
  list(resultType = "complete", "_meta" = list("io.modelcontextprotocol/serverInfo" = offer$server))
}

# Tools change with a reload only; how soon one comes is not known.
MCP_KEPT <- list(ttlMs = 60000L, cacheScope = "private")

# What ends a result, after its own members: nothing for older versions. `kept`: of one that may be kept by the client.
result_end <- function(offer, is_new, kept = FALSE) {
  if (is_new) paste0(",", substring(plain_json(c(new_result(offer), if (kept) MCP_KEPT)), 2L)) else "}"
}

list_tools <- function(offer, id, params, is_new) {
  if (!is.null(params[["cursor"]])) return(rpc_error(id, "params", "there is one page only: send no `cursor`"))
  rpc_result(id, paste0(offer$listed, if (is_new) offer$list_end else "}"))
}

call_tool <- function(offer, req, message, is_new) {
  params <- message$params
  id <- message$id
  if (!is_string(params[["name"]])) return(rpc_error(id, "params", "`params.name` must be the name of a tool"))
  tool <- offer$tools[[params[["name"]]]]
  if (is.null(tool)) {
    return(rpc_error(id, "params", paste0("there is no tool ", encodeString(substr(params[["name"]], 1L, 60L)))))
  }
  arguments <- params[["arguments"]]
  if (is.null(arguments)) arguments <- no_params
  if (!is_object(arguments)) return(rpc_error(id, "params", "`params.arguments` must be an object"))
  problem <- message$problem
  run <- function(req) {
    # its arguments are not what its schema says: told to the model, as an error of the tool
    if (!is.null(problem)) dr_abort(422L, problem)
    tool$run(arguments, req)
  }
  response <- respond(run, req, tool$on_error)
  end <- if (is_new) offer$call_end else "}"
  # most tools give a text or JSON
  text <- .Call(C_mcp_answer, id, response, is_new, end)
  if (is.null(text)) rpc_result(id, paste0(tool_result(response, is_new), end)) else list(text = text)
}

# Versions without a handshake, where each request says all about itself, and those with one, the newest first.
MCP_VERSIONS <- "2026-07-28"

MCP_OLDER_VERSIONS <- c("2025-11-25", "2025-06-18", "2025-03-26")

MCP_ALL_VERSIONS <- c(MCP_VERSIONS, MCP_OLDER_VERSIONS)

# Codes of errors: of JSON-RPC, and of MCP.
MCP_CODES <- c(
  parse = -32700L, request = -32600L, method = -32601L, params = -32602L, internal = -32603L, header = -32020L,
  version = -32022L
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
