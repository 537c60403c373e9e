# Messages of a call for its client: dr_mcp_log(). Neighbours: progress.R; mcp.R, which has a stream for them.

# From the least to the most severe one (RFC 5424).
MCP_LEVELS <- c("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

#' Send a log message to the client of a call
#'
#' In a function of [dr_mcp()]: tells the client that called what happens meanwhile, if it has asked for messages of
#' this level. Clients of the version 2026-07-28 may. For others, and outside such calls, it does nothing. The server's
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
