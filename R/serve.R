# Starting and stopping the server of this session, and asking about it. Not for what the engine does (engine.R calls
# it), nor for what an app becomes (compile.R). Neighbour: serve-settings.R.

# What is being served: app, apps (it and all mounted ones), graceful_timeout and url; empty when nothing is.
server <- new.env(parent = emptyenv())

#' Serve an app over HTTP
#'
#' Starts a server in this R session and returns; the server runs until [dr_stop()] or the end of the session, and may
#' be started again after that. Connections, HTTP, routing and files are handled by threads of the engine. Handlers run
#' in the main thread of the session, one after the other, whenever it is idle, or inside `dr_serve(block = TRUE)`;
#' callbacks of the packages 'later' and 'promises' run in between. In a script, use `block = TRUE`.
#'
#' When the server listens, a message says where: `drover listening on http://127.0.0.1:8080 (...)`.
#'
#' The order of a start: checks of all arguments, [dr_on_start()] hooks, `on_worker_start`, listening. When any of them
#' fails, the server does not start, and after a start hook has run the [dr_on_stop()] hooks run as well.
#'
#' @param app An app, see [dr_app()]. It cannot be changed while it is served.
#' @param port The TCP port: a single integer in 0..65535; 0 takes a free one, which [dr_url()] tells.
#' @param threads Number of engine threads for connections: a single integer >= 1. One serves tens of thousands of
#'   requests per second.
#' @param workers Number of R processes that run handlers. In this release it must be 1: this session.
#' @param on_worker_start A function without arguments that is called before the server listens, or `NULL`.
#' @param max_queue How many requests may wait for R or run in it; further ones get 503.
#' @param cpp_workers Number of threads for handlers written in C: a single integer >= 1. They are started when an app
#'   has such handlers; R handlers do not use them.
#' @param upload_path The folder for bodies above `spool_above`: a single string, or `NULL` for a folder in [tempdir()].
#'   It is created when missing.
#' @param ... Must be empty: what follows is given by name.
#' @param host The address to listen on: a single string. The default is reached from this machine only; `"0.0.0.0"` and
#'   `"::"` listen on all interfaces.
#' @param block `TRUE` to serve until [dr_stop()] is called by a handler or hook or Ctrl-C is pressed, and only then
#'   return.
#' @param debug `TRUE` to send messages and tracebacks of errors to clients. Not for production.
#' @param log Where log lines go: `"stderr"`, `"none"`, or the path of a file, to which they are appended.
#' @param case_sensitive `TRUE` to tell upper and lower case in paths apart.
#' @param max_request_line Longest request line, in bytes; a longer one gets 414.
#' @param max_header_field,max_header_size Longest header field and longest header section, in bytes; longer ones get
#'   431.
#' @param max_headers Most header fields of a request; more get 431.
#' @param max_body Longest body, in bytes; a longer one gets 413.
#' @param spool_above Bodies and files longer than this, in bytes, wait in a temporary file instead of in memory.
#' @param max_parts,max_fields Most parts of a multipart body, and most fields of a form or a query; more get 400.
#' @param max_json_depth Deepest nesting of a JSON body; a deeper one gets 400.
#' @param max_collisions Most strings of one request that fall into one bucket of R's string cache; more, which only an
#'   attack brings about, get 400.
#' @param header_timeout From the first byte of a request to the end of its header section, in seconds.
#' @param body_timeout Longest pause within a body, in seconds.
#' @param min_body_rate Slowest body on average, in bytes per second, once `body_timeout` seconds have passed; 0 allows
#'   any.
#' @param write_timeout Longest time without progress while a response is sent, in seconds.
#' @param keep_alive Longest idle time between two requests of a connection, in seconds.
#' @param timeout Longest time from the arrival of a request to its answer, in seconds; then it gets 504.
#' @param queue_timeout Longest time that a request waits for R, in seconds; then it gets 503.
#' @param graceful_timeout How long [dr_stop()] waits for requests in flight, in seconds; 0 does not wait.
#' @param max_connections Most connections at a time; further ones wait.
#' @param max_streams Most HTTP/2 streams of a connection at a time.
#' @returns `NULL`, invisibly.
#' @section Errors:
#' * `drover_error_argument` when an argument is not as described, or a folder of [dr_static()] does not exist.
#' * `drover_error_running` when a server is running in this session.
#' * `drover_error_hook` when a start hook or `on_worker_start` fails; the field `parent` is their error.
#' * `drover_error_listen` when the address cannot be listened on, most often because the port is in use.
#'
#' An app without routes, static mounts and not-found handler gives a warning: it answers everything with 404.
#' @seealso [dr_stop()], [dr_url()], [dr_running()]
#' @examples
#' app <- dr_app()
#' dr_get(app, "/", function(req) "Hello")
#'
#' dr_serve(app, port = 0)
#' dr_url()
#' dr_stop()
#' @export
dr_serve <- function(app, port = 8080L, threads = 1L, workers = 1L, on_worker_start = NULL, max_queue = 1024L,
                     cpp_workers = 4L, upload_path = NULL, ..., host = "127.0.0.1", block = FALSE, debug = FALSE,
                     log = "stderr", case_sensitive = FALSE,
                     max_request_line = 8192L, max_header_field = 8192L, max_header_size = 32768L, max_headers = 100L,
                     max_body = 1048576, spool_above = 131072, max_parts = 100L, max_fields = 1000L,
                     max_json_depth = 64L, max_collisions = 1000L,
                     header_timeout = 10, body_timeout = 15, min_body_rate = 500, write_timeout = 30, keep_alive = 60,
                     timeout = 30, queue_timeout = 5, graceful_timeout = 30,
                     max_connections = 10000L, max_streams = 100L) {
  call <- sys.call()
  check_app(app)
  check_dots_empty(...)
  limits <- mget(names(limit_checks))
  settings <- list(
    host = host, port = port, threads = threads, debug = debug, case_sensitive = case_sensitive, log = log,
    upload_path = upload_path
  )
  check_settings(settings, limits, call)
  check_count(cpp_workers, "cpp_workers")
  check_count(workers, "workers")
  if (workers > 1) stop_argument("workers", "1 in this release", workers, call)
  check_function(on_worker_start, "on_worker_start", null = TRUE)
  check_flag(block, "block")
  # server$app is also there while the start hooks of another dr_serve() run
  if (dr_running() || !is.null(server$app)) {
    stop_drover("running", "a server is already running in this session: call dr_stop() first", call = call)
  }

  compiled <- compile_app(app, call)
  if (!length(compiled$handlers) && !length(compiled$static)) {
    warning("`app` has no routes: every request will get 404")
  }
  config <- c(prepare_settings(settings), list(limits = limits), compiled[c("routes", "static", "not_found")])

  server$app <- app
  server$apps <- app_tree(app)
  server$graceful_timeout <- graceful_timeout
  started <- FALSE
  on.exit(if (!started) end_serving())
  for (one in server$apps) {
    for (hook in one$on_start) run_start_hook(hook, "start hook", call)
  }
  if (!is.null(on_worker_start)) run_start_hook(on_worker_start, "on_worker_start", call)
  listening <- engine_start(config, compiled$handlers, compiled$on_error)
  started <- TRUE
  server$url <- listening$url
  app$port <- listening$port
  for (one in server$apps) one$serving <- TRUE
  message(sprintf(
    "drover listening on %s (threads=%d, workers=1, routes=%d, static=%d)",
    listening$url, as.integer(threads), length(compiled$routes), length(compiled$static)
  ))
  if (block) {
    on.exit(dr_stop(), add = TRUE)
    tryCatch(engine_block(), interrupt = function(condition) NULL)
  }
  invisible()
}

run_start_hook <- function(hook, what, call) {
  withCallingHandlers(hook(), error = function(error) {
    stop_drover("hook", paste0(what, " failed: ", conditionMessage(error)), call = call, parent = error)
  })
}

# The stop hooks, last first, and everything about the last server forgotten.
end_serving <- function() {
  apps <- server$apps
  rm(list = ls(server), envir = server)
  for (one in apps) one$serving <- FALSE
  for (one in rev(apps)) {
    for (hook in rev(one$on_stop)) {
      tryCatch(hook(), error = function(error) {
        warning("stop hook failed: ", conditionMessage(error), call. = FALSE)
      })
    }
  }
}

#' Stop the server
#'
#' Stops the server of this session: it takes no new connections, waits for the requests in flight, closes all
#' connections, and then runs the app's [dr_on_stop()] hooks. Without a running server it does nothing. [dr_serve()] may
#' be called again afterwards. Called by a handler, it takes effect once that handler has returned.
#'
#' @param graceful_timeout How long to wait for requests in flight, in seconds, or `NULL` for what [dr_serve()] was
#'   told.
#' @returns `NULL`, invisibly.
#' @section Errors: `drover_error_argument` when `graceful_timeout` is not as described. A stop hook that fails gives a
#'   warning.
#' @examples
#' dr_serve(dr_get(dr_app(), "/", function(req) "Hello"), port = 0)
#' dr_stop()
#' dr_running()
#' @export
dr_stop <- function(graceful_timeout = NULL) {
  if (is.null(graceful_timeout)) {
    graceful_timeout <- server$graceful_timeout
  } else {
    check_seconds(graceful_timeout, "graceful_timeout", zero = TRUE)
  }
  if (engine_running()) {
    # a handler cannot be waited for by itself
    if (engine_in_handler()) {
      later::later(function() dr_stop(graceful_timeout))
      return(invisible())
    }
    engine_stop(graceful_timeout)
  }
  # without a URL a server is only about to start: that one ends by itself when it fails
  if (!is.null(server$url)) end_serving()
  invisible()
}

#' Ask about the server
#'
#' @returns
#' * `dr_running()`: `TRUE` while a server runs in this session, otherwise `FALSE`.
#' * `dr_url()`: where the server is reached from this machine, such as `"http://127.0.0.1:8080"`: a string without a
#'   slash at its end.
#' * `dr_status()`: the worker processes: a data frame with a row for each and the columns `pid` (integer) and `alive`
#'   (logical). It has no rows while handlers run in this session, and when no server runs.
#' @section Errors: `dr_url()` signals `drover_error_not_running` when no server runs in this session.
#' @examples
#' dr_serve(dr_get(dr_app(), "/", function(req) "Hello"), port = 0)
#' dr_running()
#' dr_url()
#' dr_status()
#' dr_stop()
#' @name status
NULL

#' @rdname status
#' @export
dr_running <- function() engine_running()

#' @rdname status
#' @export
dr_url <- function() {
  if (!engine_running()) stop_drover("not_running", "no server runs in this session: see dr_serve()")
  server$url
}

#' @rdname status
#' @export
dr_status <- function() data.frame(pid = integer(), alive = logical())
