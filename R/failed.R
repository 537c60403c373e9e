# Failed requests that the server of this session keeps. Not for playing one again: replay.R. Neighbours: the engine's
# src/rust/crates/engine/src/failed, which keeps them; the program's `drover failed`, which asks servers of its own.

#' Failed requests
#'
#' Lists the requests that ended in a 500, a 502 or a timeout and that the server of this session keeps, or gives one of
#' them. The server keeps them when `keep_failed` of [dr_serve()] is above 0. Servers of the program `drover` are asked
#' by `drover failed`.
#'
#' Values of credentials and of what `keep_failed_redact` names are not kept: `"REDACTED"` stands in their place.
#'
#' @param id The id of a request, as the log and the response have it: a string of 16 digits, or `NULL` for a list of
#'   all.
#' @returns Without `id`, a data frame with a row for each, the latest first, and the columns `id`, `at` (a `POSIXct`),
#'   `method`, `target` (path and query), `status` (an integer), `route`, `error` and `replayable` (`FALSE` where the
#'   body was too long to be kept, or could not be redacted). Without rows when none is kept.
#'
#'   With `id`, a list of class `dr_failed_request` for [dr_replay()]: `id`, `at` (milliseconds since 1970), `seconds`
#'   (to its answer), `method`, `target` (below `base_path`), `base_path`, `fields` (names and values), `body_size`,
#'   `body` (text) or `body_base64`, `route`, `status`, `error`, `calls` (the traceback), `worker`, `generation`,
#'   `auth`, `session` and `seed` (`.Random.seed` when the handler began), as far as they are known.
#' @section Errors: `drover_error_argument` when `id` is none, or no request with it is kept. `drover_error_not_running`
#'   in a worker process.
#' @seealso [dr_replay()]
#' @examples
#' app <- dr_get(dr_app(), "/", function(req) stop("it broke"))
#' dr_serve(app, port = 0, workers = 2, block = FALSE, keep_failed = 100, log = "none")
#' dr_failed()
#' dr_stop()
#' @export
dr_failed <- function(id = NULL) {
  call <- sys.call()
  check_not_process(call)
  if (is.null(id)) return(failed_rows(.Call(C_service_failed, "")))
  if (!is_string(id) || !grepl("^[0-9a-fA-F]{16}$", id)) {
    stop_argument("id", "an id of 16 digits, as dr_failed() lists them", id, call)
  }
  text <- .Call(C_service_failed, id)
  if (is.null(text)) stop_argument("id", "the id of a request that is kept, as dr_failed() lists them", id, call)
  read_failed_request(text)
}

# What stands in place of a secret: failed/redact.rs, in the crate `engine`.
redaction_mark <- "REDACTED"

failed_rows <- function(text) {
  rows <- if (is.null(text)) list() else from_own_json(text)
  column <- function(name, as) vapply(rows, function(row) as(row[[name]]), as(NA))
  data.frame(
    id = column("id", as.character), at = time_of(column("at", as.numeric)),
    method = column("method", as.character), target = column("target", as.character),
    status = column("status", as.integer), route = column("route", as.character),
    error = column("error", as.character), replayable = column("replayable", as.logical)
  )
}

# Of milliseconds since 1970.
time_of <- function(at) as.POSIXct(at / 1000, origin = "1970-01-01")

# Texts of clients are among these, whose number and length the server has bounded.
from_own_json <- function(text) dr_from_json(text, simplify = FALSE, max_collisions = .Machine$integer.max)

# Of the JSON of one request; NULL when it is none.
read_failed_request <- function(text) {
  request <- tryCatch(from_own_json(text), error = function(error) NULL)
  needed <- c("id", "at", "method", "target", "fields", "status", "error")
  if (!is.list(request) || !all(needed %in% names(request))) return(NULL)
  request$calls <- as.character(unlist(request$calls))
  if (!is.null(request$seed)) request$seed <- as.integer(unlist(request$seed))
  structure(request, class = "dr_failed_request")
}

#' @export
format.dr_failed_request <- function(x, ...) {
  fields <- vapply(x$fields, function(field) paste0("  ", field[[1L]], ": ", field[[2L]]), "")
  lines <- c(
    paste0("<dr_failed_request> ", x$id), paste0("  ", x$method, " ", x$target, ", at ", format(time_of(x$at))),
    paste0("  ", x$status, " ", x$error), paste0("    ", x$calls, recycle0 = TRUE), fields,
    if (isTRUE(x$body_size > 0)) paste0("  a body of ", x$body_size, " bytes")
  )
  encodeString(lines)
}

#' @export
print.dr_failed_request <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}
