# What messages of the Model Context Protocol mean: a method each. Not for how they come and go: mcp.R. Neighbours:
# mcp-tools.R, mcp-resources.R, mcp-prompts.R, mcp-completion.R; mcp-ask.R, for calls that ask their client.

# The answer to a message that asks for something, as C_mcp_read gives it. `is_new`: by a version without a handshake;
# `may_fail`: see call_tool().
answer_message <- function(offer, req, message, is_new, may_fail = FALSE) {
  # of all messages most
  if (message$method == "tools/call") return(answer_call(offer, req, message, is_new, may_fail))
  id <- message$id
  params <- message$params
  listed <- function(pages) list_page(pages, id, params, if (is_new) offer$kept_end else "}")
  switch(message$method,
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
    "server/discover" = rpc_result(id, discovery(offer)),
    "resources/subscribe" = if (is_new) NULL else subscribe(offer, req, id, params, TRUE),
    "resources/unsubscribe" = if (is_new) NULL else subscribe(offer, req, id, params, FALSE),
    "subscriptions/listen" = if (is_new) listen(offer, message),
    "tasks/get" = , "tasks/update" = , "tasks/cancel" = if (is_new) answer_task(offer, req, message)
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

# What there is of a kind is said by lists, also where they are empty. Lists change with a reload only, which ends the
# streams in which clients could be told.
MCP_CAPABILITIES <- list(
  tools = list(listChanged = FALSE), resources = list(subscribe = TRUE, listChanged = FALSE),
  prompts = list(listChanged = FALSE), completions = no_members, logging = no_members
)

discovery <- function(offer) {
  plain_json(c(
    list(
      supportedVersions = as.list(MCP_ALL_VERSIONS), capabilities = c(
        MCP_CAPABILITIES, if (length(offer$tasks)) MCP_TASKS_DECLARED
      )
    ),
    if (!is.null(offer$instructions)) list(instructions = offer$instructions),
    new_result(offer), MCP_KEPT
  ))
}
