# What messages of the Model Context Protocol mean: a method each. Not for how they come and go: mcp.R. Neighbours:
# mcp-tools.R, mcp-resources.R, mcp-prompts.R, mcp-completion.R; mcp-ask.R, for calls that ask their client.

# The answer to a message that asks for something, as C_mcp_read gives it. `is_new`: by a version without a handshake.
answer_message <- function(offer, req, message, is_new) {
  id <- message$id
  params <- message$params
  listed <- function(pages) list_page(pages, id, params, if (is_new) offer$kept_end else "}")
  switch(message$method,
    "tools/call" = answering(offer, req, message, is_new, call_tool(offer, req, message, is_new)),
    "tools/list" = listed(offer$tool_pages),
    "resources/read" = answering(offer, req, message, is_new, read_resource(offer, req, id, params, is_new)),
    "resources/list" = listed(offer$resource_pages),
    "resources/templates/list" = listed(offer$template_pages),
    "prompts/get" = answering(offer, req, message, is_new, get_prompt(offer, req, id, params, is_new)),
    "prompts/list" = listed(offer$prompt_pages),
    "completion/complete" = complete_argument(offer, req, id, params, is_new),
    initialize = if (is_new) NULL else rpc_result(id, greeting(offer, params[["protocolVersion"]])),
    ping = if (is_new) NULL else rpc_result(id, "{}"),
    "logging/setLevel" = if (is_new) NULL else set_level(offer, req, id, params),
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

# What there is of a kind is said by lists, also where they are empty. Lists change with a reload only, of which clients
# are not told.
MCP_CAPABILITIES <- list(
  tools = list(listChanged = FALSE), resources = list(subscribe = FALSE, listChanged = FALSE),
  prompts = list(listChanged = FALSE), completions = no_members, logging = no_members
)

discovery <- function(offer) {
  plain_json(c(
    list(
      supportedVersions = as.list(MCP_ALL_VERSIONS), capabilities = MCP_CAPABILITIES
    ),
    if (!is.null(offer$instructions)) list(instructions = offer$instructions),
    new_result(offer), MCP_KEPT
  ))
}

call_tool <- function(offer, req, message, is_new) {
  params <- message$params
  id <- message$id
  asked <- rpc_target(offer$tools, "tool", params)
  if (is.character(asked)) return(rpc_error(id, "params", asked))
  tool <- asked$one
  problem <- message$problem
  run <- function(req) {
    # its arguments are not what its schema says: told to the model, as an error of the tool
    if (!is.null(problem)) dr_abort(422L, problem)
    tool$run(asked$arguments, req)
  }
  response <- respond(run, req, tool$on_error)
  end <- if (is_new) offer$end else "}"
  # most tools give a text or JSON
  text <- .Call(C_mcp_answer, id, response, is_new, end)
  if (is.null(text)) rpc_result(id, paste0(tool_result(response, is_new), end)) else list(text = text)
}
