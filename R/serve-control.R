# Stopping the server of this session, renewing it, and asking about it. Neighbours: serve.R and serve-file.R, which
# start one.

#' Stop the server
#'
#' Stops the server of this session: it takes no new connections, waits for the requests in flight, closes all
#' connections, ends its worker processes, and then runs the app's [dr_on_stop()] hooks. Without a running server it
#' does nothing. [dr_serve()] may be called again afterwards. Called by a handler that runs in this session, it takes
#' effect once that handler has returned.
#'
#' Worker processes that are still busy after `graceful_timeout` get SIGTERM, and in the end SIGKILL: none is left
#' behind.
#'
#' @param graceful_timeout How long to wait for requests in flight, in seconds, or `NULL` for what [dr_serve()] was
#'   told. Ctrl-C ends the wait.
#' @returns `NULL`, invisibly.
#' @section Errors: `drover_error_argument` when `graceful_timeout` is not as described, `drover_error_not_running` in a
#'   worker process. A stop hook that fails gives a warning.
#' @examples
#' dr_serve(dr_get(dr_app(), "/", function(req) "Hello"), port = 0, block = FALSE)
#' dr_stop()
#' dr_running()
#' @export
dr_stop <- function(graceful_timeout = NULL) {
  check_not_process()
  if (is.null(graceful_timeout)) {
    graceful_timeout <- server$graceful_timeout
  } else {
    graceful_timeout <- as_seconds(graceful_timeout)
    check_seconds(graceful_timeout, "graceful_timeout", zero = TRUE)
  }
  if (service_running()) {
    # without a URL it is only about to start, and ends by itself when it fails
    if (is.null(server$url)) return(invisible())
    service_stop(graceful_timeout)
  } else if (engine_running()) {
    # a handler cannot be waited for by itself
    if (engine_in_handler()) {
      later::later(function() dr_stop(graceful_timeout))
      return(invisible())
    }
    engine_stop(graceful_timeout, server$given$limits$drain_delay)
  }
  # without a URL a server is only about to start: that one ends by itself when it fails
  if (!is.null(server$url)) end_serving()
  invisible()
}

#' Take over new code or data without a pause
#'
#' Starts a new generation of worker processes and, once they are ready, gives all further requests to them. The workers
#' of the generation before finish what they run, and end. No request fails. When the new generation cannot be started,
#' the old one goes on.
#'
#' For a server of [dr_run()] the file is read again. For one of [dr_serve()] with worker processes the new workers are
#' made of the app and the session as they are now: assign a new model to the variable that handlers use, or register a
#' route, and reload. With `workers = 1` the routes, middleware and other registrations of the app take effect as they
#' are now; variables that handlers use do so at once. Start hooks of [dr_on_start()] run again only where the file is
#' read again. Called by a handler that runs in this session, it takes effect once that handler has returned.
#'
#' Sending SIGHUP to a server that blocks has the same effect; there an error is logged.
#'
#' @returns `NULL`, invisibly, once the new generation serves.
#' @section Errors: `drover_error_reload` when the new code does not load or its workers do not start;
#' `drover_error_not_running` when no server runs in this session.
#' @seealso [dr_status()], which has the generation of each worker.
#' @examples
#' greeting <- "Hello"
#' app <- dr_get(dr_app(), "/", function(req) greeting)
#' dr_serve(app, port = 0, workers = 2, block = FALSE)
#' greeting <- "Good day"
#' dr_reload()
#' dr_stop()
#' @export
dr_reload <- function() {
  call <- sys.call()
  check_not_process(call)
  if (!engine_running() || is.null(server$url)) {
    stop_drover("not_running", "no server runs in this session: see dr_serve()", call = call)
  }
  if (service_running()) {
    reload_service(call)
  } else if (engine_in_handler()) {
    # a handler cannot be waited for by itself
    later::later(dr_reload)
  } else {
    reload_session(call)
  }
  invisible()
}

#' Change how many workers there are
#'
#' Starts worker processes of the server of this session, or ends some: those first that are not busy, each once it has
#' answered what it has. No request fails. A [dr_reload()] keeps the number. Returns at once: [dr_status()] shows who
#' has come and gone.
#'
#' For a server of the program there is `drover scale 2-8`, or `drover scale gpu=2` for a pool, and for one without a
#' terminal SIGTTIN and SIGTTOU, which make it one worker more, and one fewer.
#'
#' @param workers How many: an integer of 1 to 1024 for always as many, two integers, `c(min, max)`, for as many as are
#'   needed within these, or `"auto"` for one for each processor, and more while handlers wait.
#' @param pool The name of the pool of workers, see [dr_get()], or `NULL` for that of routes without one.
#' @returns `NULL`, invisibly.
#' @section Errors: `drover_error_argument` when `workers` is not as described; `drover_error_not_running` when no
#'   server runs in this session, or one whose handlers run in the session itself (`workers = 1` of [dr_serve()]).
#' @seealso [dr_pool()] for how long workers live.
#' @examples
#' dr_serve(dr_get(dr_app(), "/", function(req) "Hello"), port = 0, workers = 2, block = FALSE)
#' dr_scale(c(1, 3))
#' nrow(dr_status())
#' dr_stop()
#' @export
dr_scale <- function(workers, pool = NULL) {
  call <- sys.call()
  check_not_process(call)
  workers <- as_workers(workers, call)
  check_pool(pool, call)
  if (!service_running()) {
    why <- if (!engine_running()) {
      "no server runs in this session: see dr_serve()"
    } else {
      "handlers run in this session, which has no workers: serve with `workers = c(1, 1)` or more"
    }
    stop_drover("not_running", why, call = call)
  }
  problem <- .Call(C_service_scale, workers[[1L]], workers[[length(workers)]], enc2utf8(pool %||% ""))
  if (!is.null(problem)) stop_drover("not_running", problem, call = call)
  invisible()
}

# With workers = 1: the app as it is now.
reload_session <- function(call = NULL) {
  tryCatch(
    replace_app(server$app, server$given, compile_app(server$app, call), NULL, NULL, call),
    error = function(error) stop_drover("reload", conditionMessage(error), call = call)
  )
  log_line("info", "reloaded: the app is as it is now")
}

#' Ask about the server
#'
#' @returns
#' * `dr_running()`: `TRUE` while a server runs in this session, otherwise `FALSE`.
#' * `dr_url()`: where the server is reached from this machine, such as `"http://127.0.0.1:8080"`: a string without a
#'   slash at its end.
#' * `dr_status()`: the workers: a data frame with a row for each, the oldest first, which is printed with units and
#'   totals. With `workers = 1` of [dr_serve()] the one row is this session. It has no rows when no server runs. Its
#'   columns:
#'
#'   | column | type | is |
#'   |---|---|---|
#'   | `pid` | integer | process id |
#'   | `alive` | logical | whether the process is there |
#'   | `state` | character | `"starting"`, `"idle"`, `"busy"` or `"retiring"`: it finishes what it runs, and ends |
#'   | `generation` | integer | of the app: 1, and one more with each [dr_reload()] |
#'   | `requests` | numeric | requests that it has answered |
#'   | `errors` | numeric | those among them that it answered with 500 or more |
#'   | `promises` | numeric | promises under way: requests whose handlers have returned one that has not ended |
#'   | `busy` | numeric | the part of its age that it was busy, 0 to 1 |
#'   | `memory` | numeric | its memory in bytes; what it shares with others counts by its share |
#'   | `age` | numeric | seconds since it was ready |
#'   | `runs` | character | the request whose handler runs there, such as `"GET /orders/7"`; `NA` for none |
#'   | `pool` | character | its pool of workers, `""` for that of routes without one; only if there are others |
#' @section Errors: `dr_url()` signals `drover_error_not_running` when no server runs in this session, as in a worker
#'   process.
#' @examples
#' dr_serve(dr_get(dr_app(), "/", function(req) "Hello"), port = 0, workers = 2, block = FALSE)
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
  check_not_process()
  if (is.null(server$url)) stop_drover("not_running", "no server runs in this session: see dr_serve()")
  server$url
}

#' @rdname status
#' @export
dr_status <- function() {
  status <- .Call(C_service_workers)
  # most apps have none
  if (all(status$pool == "")) status$pool <- NULL
  class(status) <- c("dr_status", "data.frame")
  status
}

# Stops the server of a client, if one runs: the session is for another one.
end_testing <- function() {
  if (is.null(testing$client)) return(invisible())
  rm("client", envir = testing)
  dr_stop(graceful_timeout = 0)
  unlink(testing$folder, recursive = TRUE)
  invisible()
}
