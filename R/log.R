# dr_log(), and what becomes of messages: lines of the log. Not for errors and warnings of handlers (error-answer.R,
# worker-loop.R), nor for how lines are written (observe, in src/rust).

#' Write to the log
#'
#' Writes a line to the log of the server, with the id of the request whose handler calls this, and, from a worker
#' process, with its process id. Where the server runs no code of yours, as in a test of a handler, the line becomes a
#' [message()].
#'
#' The text and the fields stay text: with `log_format = "text"` line ends and control characters are written as
#' escapes, with `"json"` as JSON has it. So a client cannot forge a line.
#'
#' @param level `"debug"`, `"info"`, `"warn"` or `"error"`. Lines below the setting `log_level` of [dr_serve()] are not
#'   written.
#' @param message What happened: a single string.
#' @param ... Fields, by name: single strings, numbers, logicals, or `NULL`. Names begin with a letter and are of at
#'   most 64 letters of ASCII, digits, `.` and `_`. Factors and dates are written as strings.
#' @returns `NULL`, invisibly.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_serve()] for `log`, `log_format` and `log_level`.
#' @examples
#' app <- dr_app()
#' dr_post(app, "/orders", function(req) {
#'   dr_log("info", "an order was placed", items = 3, customer = "c-17")
#'   list(placed = TRUE)
#' })
#' dr_log("warn", "a line outside of a server is a message", n = 1)
#' @export
dr_log <- function(level, message, ...) {
  level <- check_choice(level, "level", log_levels)
  check_string(message, "message")
  fields <- list(...)
  check_log_fields(fields, sys.call())
  values <- vapply(seq_along(fields), function(i) field_text(fields[[i]], names(fields)[[i]], sys.call(-2L)), "")
  text <- paste0(c(without_marks(message), paste0(names(fields), values)), collapse = "\x1e")
  if (.Call(C_worker_state)[[1L]]) log_line(level, text, request = TRUE) else base::message(shown_line(level, text))
  invisible()
}

shown_line <- function(level, text) {
  text <- gsub("\x1e([A-Za-z0-9_.]+)[:=]", " \\1=", text, perl = TRUE)
  paste0("drover ", toupper(level), " ", encodeString(text))
}

check_log_fields <- function(fields, call) {
  named <- names(fields) %||% rep("", length(fields))
  wrong <- which(!grepl("^[A-Za-z][A-Za-z0-9_.]{0,63}$", named, perl = TRUE))
  if (length(wrong)) {
    stop_argument("...", "fields with names of at most 64 letters, digits, \".\" and \"_\"", named[[wrong[[1L]]]], call)
  }
}

# `:` and text, or `=` and a literal of JSON.
field_text <- function(value, name, call) {
  if (is.null(value)) return("=null")
  if (is.factor(value) || inherits(value, c("Date", "POSIXt"))) value <- format(value)
  if (!is.atomic(value) || length(value) != 1L || !(is.character(value) || is.numeric(value) || is.logical(value))) {
    stop_argument(name, "a single string, number or logical, or NULL", value, call)
  }
  if (is.na(value)) return("=null")
  if (is.logical(value)) return(if (value) "=true" else "=false")
  if (is.numeric(value)) return(paste0(if (is.finite(value)) "=" else ":", format(value, digits = 15L)))
  paste0(":", without_marks(value))
}

# A calling handler of worker processes: messages of handlers are lines of the log, with the request that they are of.
log_message <- function(condition) {
  if (!in_process()) return()
  text <- tryCatch(conditionMessage(condition), error = function(e) NULL)
  if (!is_string(text)) return()
  suspendInterrupts(log_line("info", paste("message:", without_marks(sub("\n$", "", text))), request = TRUE))
  tryInvokeRestart("muffleMessage")
}
