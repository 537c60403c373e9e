# dr_abort(), by which a handler answers with an error status. Not for making a response of it: error-answer.R.
# Neighbours: conditions.R, http-status.R.

#' Answer with an error status
#'
#' Signals a condition that carries an HTTP status. Wherever a handler or a middleware calls it, the request is
#' answered with that status, and with `message` as the explanation; other errors of a handler are answered with
#' 500 and without their message.
#'
#' The answer is `application/problem+json` when the client accepts JSON, short text otherwise. The function given to
#' [dr_on_error()], if there is one, gets the condition first.
#'
#' A handler may also *return* such a condition, or any condition that has a field `status`.
#'
#' @param status The HTTP status: a single integer in 400..599.
#' @param message What the client is told: a single string, or `NULL` for the standard phrase ("Not Found").
#' @param ... Further fields of the condition, named, for the app's own [dr_on_error()]; clients do not see them.
#' @param headers Header fields of the answer: a named list of strings, as in [dr_response()].
#' @returns Nothing: it signals a condition of class `c("drover_error_http", "drover_error", "error", "condition")` with
#'   the fields `message`, `call`, `status` (integer), `headers` (named list), and those of `...`.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_on_error()], [dr_not_found()]
#' @examples
#' users <- list(ada = list(born = 1815L))
#' handler <- function(req) {
#'   name <- dr_param(req, "name")
#'   if (!name %in% names(users)) dr_abort(404, paste("there is no user", name))
#'   users[[name]]
#' }
#' app <- dr_get(dr_app(), "/users/:name", handler)
#'
#' tryCatch(dr_abort(429, headers = list("Retry-After" = "30")), drover_error_http = function(e) e$status)
#' @export
dr_abort <- function(status, message = NULL, ..., headers = list()) {
  own <- c("status", "message", "headers")
  # fields may have any name, but one that is nearly the name of an argument is a misspelling
  for (name in setdiff(names(sys.call())[-1L], c("", own))) {
    if (min(utils::adist(name, own)) == 1L || startsWith("headers", name)) stop_name(name, own, sys.call())
  }
  check_count(status, "status", 400, 599)
  check_string(message, "message", null = TRUE)
  fields <- list(...)
  if (length(fields) && (is.null(names(fields)) || !all(nzchar(names(fields))))) {
    stop_argument("...", "named", fields, sys.call())
  }
  status <- as.integer(status)
  if (is.null(message)) message <- status_phrase(status)
  headers <- check_headers(headers)
  do.call(stop_drover, c(
    list("http", message, status = status, headers = headers, call = sys.call(-1L)), fields
  ), quote = TRUE)
}
