# Progress of a computation, for the client that waits for it. Neighbours: job.R; mcp.R, whose clients may ask for it.

# `say`: a function(done, total, message), while a client listens.
progress <- new.env(parent = emptyenv())

#' Report how far a computation is
#'
#' Tells clients how far this computation is: those that ask for a job ([dr_job()]), or the client of a tool
#' ([dr_mcp()]) that has asked for it. Without them, it does nothing and costs next to nothing, so functions may report
#' in any case.
#'
#' @param done How much is done: a single number, which grows from call to call.
#' @param total How much there is to do: a single number, or `NULL` when that is not known.
#' @param message What is being done, for people: a single string, or `NULL`.
#' @returns Whether a client was told, invisibly: `TRUE` or `FALSE`.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_job()], [dr_mcp()], [dr_tool()]
#' @examples
#' fit <- function(n) {
#'   for (i in seq_len(n)) dr_progress(i, n, "fitting")
#'   n
#' }
#' fit(3)
#' @export
dr_progress <- function(done, total = NULL, message = NULL) {
  check_number(done, "done")
  if (!is.null(total)) check_number(total, "total")
  check_string(message, "message", null = TRUE)
  if (is.null(progress$say)) return(invisible(FALSE))
  progress$say(done, total, message)
  invisible(TRUE)
}

check_number <- function(x, arg, call = sys.call(-1L)) {
  if (!(is.numeric(x) && length(x) == 1L && is.finite(x))) stop_argument(arg, "a single number", x, call)
}

# Evaluates `expr`, whose progress is told by `say`.
reporting_progress <- function(say, expr) {
  before <- progress$say
  progress$say <- say
  on.exit(progress$say <- before)
  expr
}
