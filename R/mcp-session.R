# What clients of versions with a handshake have said of themselves in it. The server keeps nothing of a handshake:
# `Mcp-Session-Id`, which clients send with each request, has it sealed. Neighbours: mcp-rounds.R; mcp-log.R, for the
# level of log messages that such a client sets later.

# How long a session is known, in seconds. What belongs to no session that is known is answered all the same.
MCP_SESSION_LASTS <- 30 * 86400

# The id for the answer to a handshake with these `params`.
new_session <- function(offer, req, params) {
  declared <- params[["capabilities"]]
  there <- Filter(function(ability) is_object(declared) && ability$is_there(declared), MCP_ABILITIES)
  can <- Reduce(utils::modifyList, lapply(there, `[[`, "needed"), no_members)
  .Call(C_text_seal, seal_key(), session_purpose(offer, req), plain_json(can), MCP_SESSION_LASTS)
}

# What the client of a request has declared; NULL without a session.
session_abilities <- function(offer, req) {
  id <- session_id(req)
  text <- if (!is.null(id)) .Call(C_text_open, seal_key(), session_purpose(offer, req), id)
  if (!is.null(text)) dr_from_json(text, simplify = FALSE)
}

session_id <- function(req) .Call(C_fields_pick, req$headers, "mcp-session-id")

session_purpose <- function(offer, req) plain_json(list("mcp session", offer$path, identity_of(req)))
