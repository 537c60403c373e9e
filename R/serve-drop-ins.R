# What programs written for plumber, drogonR and valve call to serve, with their arguments. Neighbours: serve.R and
# serve-file.R, which do it; plumber-app.R.

#' Serve as plumber and valve do
#'
#' Drop-ins for programs that were written for the packages 'plumber', 'drogonR' and 'valve': the same names, arguments
#' and defaults, and this server. Both block until the server is stopped.
#'
#' `pr_run()` is [dr_serve()] for a router, and `valve_run()` is [dr_run()] for its file. Both say where the page of
#' documentation is once the server listens.
#'
#' @param pr A router of the package 'plumber'.
#' @param host The address to listen on: a single string, as in [dr_serve()].
#' @param port The TCP port: a single integer, 0 for a free one. For `pr_run()` also `NULL`, for the option
#'   `plumber.port`, the variable `PLUMBER_PORT`, or else 8080, as drogonR's `pr_run()` and [dr_serve()] have it, where
#'   plumber takes a port at random.
#' @param ... Further arguments of [dr_serve()] or [dr_run()], by name, such as `workers`.
#' @param debug `TRUE` or `FALSE`: whether plumber's own answers to errors have their messages. `NULL` for what the
#'   router says, and otherwise `TRUE` in an interactive session.
#' @param docs What plumber's `pr_set_docs()` takes, `TRUE`, `FALSE` or a name; `NULL` for what the router says.
#' @param swaggerCallback `NULL`, or a function that is called with the address of the docs page once the server
#'   listens.
#' @param quiet `TRUE` to say nothing when the server listens.
#' @param filepath The path of the router's file, or of another that [dr_run()] takes: a single string.
#' @param n_min,n_max How many worker processes there are at least and at most: single integers.
#' @param workers Engine threads for connections, which valve calls workers: a single integer.
#' @param check_unused,max_age As in [dr_pool()].
#' @returns `NULL`, invisibly.
#' @section Errors: `drover_error_argument` when an argument is not as described. Further ones as of [dr_serve()] and
#'   [dr_run()].
#' @seealso [dr_rook()] for routers beside other routes.
#' @examples
#' \dontrun{
#' plumber::pr() |> plumber::pr_get("/ping", function() "pong") |> drover::pr_run(port = 8000, workers = 4)
#'
#' valve_run("plumber.R", n_max = 5)
#' }
#' @name drop_ins
NULL

#' @rdname drop_ins
#' @export
pr_run <- function(pr, host = "127.0.0.1", port = getOption("plumber.port", NULL), ..., debug = NULL, docs = NULL,
                   swaggerCallback = NULL, quiet = FALSE) {
  call <- sys.call()
  if (!is_plumber(pr)) stop_argument("pr", "a router of the package 'plumber'", pr, call)
  check_flag(quiet, "quiet", call)
  check_function(swaggerCallback, "swaggerCallback", null = TRUE, call = call)
  app <- as_app(pr)
  app$run <- list(debug = debug, docs = docs)
  if (is_loading()) {
    given <- setdiff(names(match.call()), c("pr", "debug", "docs", "swaggerCallback", "quiet"))
    return(register_app(app, list(...)$on_worker_start, list(...)$on_worker_stop, given, "pr_run()"))
  }
  settings <- utils::modifyList(list(block = TRUE), list(...))
  arguments <- c(list(app, port = plumber_port(port), host = host), settings)
  has_docs <- isTRUE(docs_of(pr, docs)$enabled)
  telling_docs(do.call(dr_serve, arguments, quote = TRUE), has_docs, quiet, swaggerCallback)
}

plumber_port <- function(port) port %||% as.integer(Sys.getenv("PLUMBER_PORT", "8080"))

# Serves by `code`, and says where the page of documentation is, if there is one, when it is said where the server
# listens; `tell` is called with its address.
telling_docs <- function(code, has_docs, quiet = FALSE, tell = NULL) {
  announced <- function(message) {
    if (!startsWith(conditionMessage(message), "drover listening on ")) return()
    docs <- if (has_docs && startsWith(server$url, "http")) paste0(server$url, "/__docs__/")
    if (!is.null(docs) && !is.null(tell)) tell(docs)
    if (!quiet) {
      message(conditionMessage(message), appendLF = FALSE)
      if (!is.null(docs)) message("drover: documentation at ", docs)
    }
    tryInvokeRestart("muffleMessage")
  }
  withCallingHandlers(code, message = announced)
  invisible()
}

#' @rdname drop_ins
#' @export
valve_run <- function(filepath = "plumber.R", host = "127.0.0.1", port = 3000, n_min = 1, n_max = 3, workers = n_max,
                      check_unused = 10, max_age = 300, ...) {
  check_count(n_min, "n_min")
  check_count(n_max, "n_max", n_min)
  telling_docs(dr_run(
    filepath, host = host, port = port, threads = workers, workers = c(n_min, n_max),
    pool = dr_pool(check_unused = check_unused, max_age = max_age), ...
  ), has_docs = !isFALSE(list(...)$docs))
}
