# Messages of a call for its client: dr_mcp_log(). Neighbours: progress.R; mcp.R, which has a stream for them.

# From the least to the most severe one (RFC 5424).
MCP_LEVELS <- c("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

#' Send a log message to the client of a call
#'
#' In a function of [dr_mcp()]: tells the client that called what happens meanwhile, if it has asked for messages of
#' this level. For others, and outside such calls, it does nothing. The server's
#' own log is another one.
#'
#' @param level How severe it is: `"debug"`, `"info"`, `"notice"`, `"warning"`, `"error"`, `"critical"`, `"alert"` or
#'   `"emergency"`.
#' @param data What is said: a string, or a value that is sent as JSON. The client and its model see it: no secrets.
#' @param logger What the message is from: a single string, or `NULL`.
#' @returns Whether the client was told, invisibly: `TRUE` or `FALSE`.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_progress()], [dr_mcp()]
#' @examples
#' fetch <- dr_tool(function() {
#'   dr_mcp_log("info", "reading the cars")
#'   nrow(cars)
#' }, "count", "Counts the cars")
#' dr_mcp_log("info", "outside a call, nothing happens")
#' @export
dr_mcp_log <- function(level, data, logger = NULL) {
  level <- check_choice(level, "level", MCP_LEVELS, sys.call())
  check_string(logger, "logger", null = TRUE)
  if (is.null(calling$log)) return(invisible(FALSE))
  invisible(calling$log(level, data, logger))
}

# The level from which on the client of a message wants to be told; NULL for one that does not.
wanted_level <- function(message) message$params[["_meta"]][["io.modelcontextprotocol/logLevel"]]

# The same of any version.
level_for <- function(message, req, is_new) if (is_new) wanted_level(message) else session_level(req)

# Evaluates `expr`, whose messages of this level and above are sent by `send`, a function of a notification.
logging_to <- function(send, least, expr) {
  before <- calling$log
  on.exit(calling$log <- before)
  calling$log <- if (!is.null(least)) function(level, data, logger) {
    if (match(level, MCP_LEVELS) < match(least, MCP_LEVELS)) return(FALSE)
    params <- list(level = level)
    params$logger <- logger
    params["data"] <- list(data)
    send("notifications/message", params)
    TRUE
  }
  expr
}

# Levels of log messages: `level_of` has a value for each of these many places, the last session that has set one there.
# One session takes another one's place rarely, and then hears nothing until it sets its level again.
MCP_LEVEL_PLACES <- 4096

level_of <- function() dr_state("drover mcp levels")

# The place of a session, and what it is told from others there by.
level_place <- function(id) {
  hash <- shared_key(id, "place")
  list(at = as.character(strtoi(substr(hash, 1L, 7L), 16L) %% MCP_LEVEL_PLACES), hash = hash)
}

set_level <- function(offer, req, id, params) {
  level <- params[["level"]]
  if (!is_string(level) || !level %in% MCP_LEVELS) {
    return(rpc_error(id, "params", paste("`params.level` must be one of", paste(MCP_LEVELS, collapse = ", "))))
  }
  if (is.null(session_abilities(offer, req))) {
    said <- "without the `Mcp-Session-Id` of a handshake with this server, it is not known who sets the level"
    return(rpc_error(id, "params", said))
  }
  place <- level_place(session_id(req))
  level_of()$set(place$at, paste(place$hash, level), ttl = MCP_SESSION_LASTS)
  rpc_result(id, "{}")
}

# NULL for a session that has set none.
session_level <- function(req) {
  id <- session_id(req)
  if (is.null(id)) return(NULL)
  place <- level_place(id)
  set <- level_of()$get(place$at)
  if (!is.null(set) && startsWith(set, paste0(place$hash, " "))) sub("^.* ", "", set)
}
