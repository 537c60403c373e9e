# Serving an app that is in a file: this session has the server, other processes have the app. Neighbours: load-app.R
# (how the file becomes an app), serve-processes.R, and the program `drover`, which does the same without R.

#' Serve an app that is in a file
#'
#' Starts a server in this session for an app that only worker processes load: nothing that the app does, or that
#' happens to it, can take the server down, and [dr_reload()] reads the file again.
#'
#' The file is evaluated in the global environment of a fresh R process, whose working directory is the file's folder,
#' as that of the workers: `dr_static(app, "/assets", "www")`, `dr_file("logo.png")` and `readRDS("model.rds")` find
#' what is beside the file, wherever the server was started. Paths in arguments of `dr_run()` are those of this session.
#' The file needs no `library(drover)`. Its last value is the app; otherwise the app is in the variable `app`. When the
#' file calls [dr_serve()], that call does not serve but says which app it is, with its hooks for workers; all other
#' settings are those of `dr_run()`. [dr_on_start()] hooks run in that process, once, before workers are forked from it,
#' and [dr_on_stop()] hooks at its end.
#'
#' The arguments are those of [dr_serve()], except as said here.
#'
#' @param file The path of the file: a single string.
#' @inheritParams dr_serve
#' @param workers How many worker processes: an integer, or two, `c(min, max)`: more of them while requests wait, fewer
#'   when they are unused; or `"auto"`: see [dr_serve()]. At most 1024. With 0 as the fewest the app is loaded when a
#'   request comes, and kept no longer than `max_age` of [dr_pool()] without one.
#' @param on_worker_start,on_worker_stop Functions without arguments, or `NULL`, that each worker calls before its first
#'   request and at its end, after those of the app: see [dr_on_worker_start()]. They are copied to the workers.
#' @param kind What `file` is, when that is not to be found out: `"script"`, an R file that makes an app; `"plumber"`,
#'   one with annotations such as `#* @get /path`; `"annotations"`, the same, read without the package plumber, as far
#'   as that goes; `"rds"`, a saved object; `"expression"`, a call that gives an app.
#' @param args Arguments of the app: a character vector. The file has them as `commandArgs(TRUE)`, and its path as
#'   `--file=` in `commandArgs()`, as after `Rscript FILE ARGUMENTS`.
#' @param block `TRUE` to serve until [dr_stop()] is called by a callback, Ctrl-C is pressed or SIGTERM comes, and only
#'   then return. `FALSE` to return at once; the server needs nothing of the session then.
#' @returns `NULL`, invisibly.
#' @section Errors:
#' * `drover_error_argument` when an argument is not as described.
#' * `drover_error_load` when the file does not parse, fails, or makes no app: the message has the line.
#' * Further ones as of [dr_serve()].
#' @seealso [dr_cli_path()] for the program that does the same from a shell.
#' @examples
#' file <- tempfile(fileext = ".R")
#' writeLines(c(
#'   "app <- drover::dr_app()",
#'   "drover::dr_get(app, '/', function(req) 'Hello')"
#' ), file)
#'
#' dr_run(file, port = 0, block = FALSE)
#' dr_url()
#' dr_stop()
#' @export
dr_run <- function(file, port = 8080L, threads = 1L, workers = c(1L, 3L), on_worker_start = NULL, max_queue = 1024L,
                   cpp_workers = 4L, upload_path = NULL, ..., host = "127.0.0.1", block = TRUE, debug = FALSE,
                   log = "stderr", log_format = c("text", "json"), log_level = c("info", "debug", "warn", "error"),
                   access_log = "none", access_log_format = c("combined", "json"), otlp_endpoint = NULL,
                   keep_failed = 0L, keep_failed_size = 8388608, keep_failed_age = 86400, keep_failed_redact = NULL,
                   jobs_store = NULL, jobs_at_once = 0L, max_jobs = 100000L, max_jobs_size = 1073741824,
                   case_sensitive = FALSE, errors = c("auto", "json", "text"),
                   health = FALSE, metrics = FALSE, docs = "auto", admin = NULL, admin_token = NULL, agent_check = NULL,
                   allowed_hosts = NULL, trusted_proxies = NULL,
                   forwarded_fields = c("x-forwarded", "forwarded"), base_path = NULL, base_path_field = NULL,
                   underscores_in_headers = NULL,
                   proxy_protocol = NULL, compress = TRUE, decompress = FALSE, response_headers = NULL,
                   plumber = c("fast", "full", "verify"), affinity = c("auto", "none", "cookie"),
                   on_client_gone = NULL,
                   on_worker_stop = NULL, limits = dr_limits(), timeouts = dr_timeouts(), pool = dr_pool(),
                   tls = NULL,
                   kind = c("auto", "script", "plumber", "annotations", "rds", "expression"), args = character()) {
  call <- sys.call()
  check_string(file, "file", call = call)
  kind <- check_choice(kind, "kind", app_kinds, call = call)
  if (!file.exists(file) && !is_expression(file)) {
    stop_argument("file", "the path of a file or folder that exists, or a call such as \"pkg::make_app()\"", file, call)
  }
  check_arguments(args, "args", call)
  old <- old_settings(..., call = call, fun = sys.function())
  given <- serving_arguments(environment(), old, call)
  end_testing()
  check_nothing_runs(call)
  config <- c(prepare_settings(given$settings), list(limits = given$limits))

  server$graceful_timeout <- given$limits$graceful_timeout
  started <- FALSE
  on.exit(if (!started) end_serving())
  arguments <- c(if (file.exists(file)) normalizePath(file) else file, if (kind != "auto") c("--kind", kind))
  if (!is.null(on_worker_start) || !is.null(on_worker_stop)) {
    hooks <- list(on_worker_start = on_worker_start, on_worker_stop = on_worker_stop)
    server$files <- private_file(hooks, "drover-hooks-")
    arguments <- c(arguments, "--hooks", server$files)
  }
  if (length(args)) arguments <- c(arguments, "--", args)
  server$renew <- function() program_source(arguments, heap_for(file, kind))
  listening <- service_start(config, given$pool, server$renew(), call)
  started <- TRUE
  server$places <- listening
  server$url <- listening$url
  go_on(block, function() announce(given$settings, threads, given$workers, listening$counts, block))
  invisible()
}
