# A failed request played again, in this session and behind the engine, as dr_test() asks an app. Not for listing them:
# failed.R. Neighbours: test-client.R, which has the server and the connection; command-replay.R, for the program.

#' Play a failed request again
#'
#' Runs a request that a server has kept (`keep_failed` of [dr_serve()]) in this session, by the same app or a changed
#' one. The handler gets what it got then: method, path, fields and body, the authenticated client and the session, and
#' R's generator of random numbers where it was. Middleware runs, too. What guards an app does not: authentication,
#' limits of rates, caches and the like are decided already, and what they need was not kept.
#'
#' The server of [dr_test()] answers, so that neither a port nor the server that kept the request is touched. Like
#' there, what the handler does outside of this session, as in a database, it does once more.
#'
#' @param request What [dr_failed()] gives for an id, or the path of a file that `drover failed ID --json` has written.
#' @param app What [dr_test()] takes: an app, or the path of a file with one.
#' @param ... Settings of [dr_serve()], as for [dr_test()].
#' @param headers Header fields in place of those of the request, such as those that were redacted: a named list of
#'   strings, or `NULL`.
#' @param browser `TRUE` to stop in [browser()] where the error is, in the function that has made it: `c` goes on, and
#'   [utils::recover()] looks at the others.
#' @param timeout Longest time that the handler may take, in seconds, or a time such as `"5s"`; then an error stops it
#'   where it is. 0 for as long as it likes. `NULL`: as long as it had the first time when that ended in a timeout, and
#'   otherwise as long as it likes.
#' @returns The response, of class `dr_test_response` as of [dr_test()], with the lines of the log.
#' @section Errors: `drover_error_argument` when an argument is not as described, or the body of the request was not
#'   kept. `drover_error_running` when a server runs in this session.
#' @seealso [dr_failed()]
#' @examples
#' request <- tempfile(fileext = ".json")
#' writeLines('{"id": "00000000000000ff", "at": 0, "method": "GET", "target": "/users/7?full=yes",
#'   "fields": [["Accept", "application/json"]], "status": 500, "error": "it broke"}', request)
#' app <- dr_get(dr_app(), "/users/<id:int>", function(req) list(id = req$params$id))
#' dr_replay(request, app, browser = FALSE)
#' @export
dr_replay <- function(request, app, ..., headers = NULL, browser = interactive(), timeout = NULL) {
  call <- sys.call()
  request <- as_failed_request(request, call)
  check_flag(browser, "browser", call)
  timeout <- replay_timeout(timeout, request)
  check_seconds(timeout, "timeout", zero = TRUE, call = call)
  play(request, app, list(...), test_fields(headers, call), browser, timeout, NULL, call)
}

# The same, of arguments that are checked. `report`: a file for samples of R's stack, or NULL for none.
play <- function(request, app, settings, own, browser, timeout, report, call) {
  # R's clock is the only one: by it, the handler ends with an error that has a traceback
  client <- do.call(dr_test, c(list(app, timeouts = dr_timeouts(timeout = 0)), settings))
  client$timeout <- Inf
  testing$replays <- Filter(Negate(is.null), request[c("auth", "session", "base_path")])
  if (browser) failure$stop_at <- browse_error
  on.exit({
    setTimeLimit()
    client$stop()
    suppressWarnings(rm("replays", envir = testing))
    failure$stop_at <- NULL
  })
  response <- ask_for_test(client, replayed_bytes(request, own), call, function() {
    if (!is.null(report)) begin_samples(sample_interval)
    if (timeout > 0) setTimeLimit(elapsed = timeout)
    set_seed(request$seed)
  })
  if (!is.null(report)) writeLines(to_report(end_samples()), report)
  response
}

# Without one, that which it had when it ended in a timeout.
replay_timeout <- function(timeout, request) {
  as_seconds(timeout %||% if (identical(as.integer(request$status), 504L)) request$seconds else 0)
}

as_failed_request <- function(request, call) {
  right <- "what dr_failed() gives for an id, or the path of a file of `drover failed ID --json`"
  if (is_string(request) && file.exists(request) && !dir.exists(request)) {
    read <- read_failed_request(paste(readLines(request, warn = FALSE, encoding = "UTF-8"), collapse = "\n"))
    if (is.null(read)) stop_argument("request", right, request, call)
    request <- read
  }
  if (!inherits(request, "dr_failed_request")) stop_argument("request", right, request, call)
  if (!is.null(request$body_missing)) {
    problem <- sprintf("`request` has no body, of %.0f bytes: %s", request$body_size, request$body_missing)
    stop_drover("argument", problem, call = call, argument = "request")
  }
  request
}

# The request in HTTP/1.1. Fields that belong to a connection are this one's; `own` go in place of those of their names.
replayed_bytes <- function(request, own) {
  # by whole names: without a body, `$body` would be its size
  body <- if (!is.null(request[["body_base64"]])) {
    jsonlite::base64_dec(request[["body_base64"]])
  } else {
    charToRaw(enc2utf8(request[["body"]] %||% ""))
  }
  of_connection <- c(
    "connection", "content-length", "transfer-encoding", "keep-alive", "upgrade", "te", "trailer", "expect",
    "proxy-connection", "http2-settings"
  )
  names <- vapply(request$fields, `[[`, "", 1L)
  values <- vapply(request$fields, `[[`, "", 2L)
  stays <- !tolower(names) %in% c(of_connection, tolower(names(own)))
  fields <- c(paste0(names, ": ", values)[stays], paste0(names(own), ": ", own, recycle0 = TRUE))
  if (!"host" %in% tolower(c(names[stays], names(own)))) fields <- c("Host: localhost", fields)
  length <- if (says_length(request$method, body)) paste0("Content-Length: ", length(body))
  request_bytes(request$method, request$target, c(fields, length, "Connection: close"), body)
}

# Seconds of CPU time between two samples: few requests take longer than a second.
sample_interval <- 0.001

# R's generator of random numbers is where it was when the handler began.
set_seed <- function(seed) if (length(seed)) assign(".Random.seed", seed, envir = globalenv())

# Called by note_trace() below the error: stops where the app has made it. `top` is the number of the last call that is
# not of this package's machinery.
browse_error <- function(condition, top) {
  setTimeLimit()
  machinery <- c("stop", ".handleSimpleError", "h", "signalCondition", "stopifnot", "withRestarts", "withOneRestart",
    "doWithOneRestart", "dr_abort", "stop_drover", "abort")
  calls <- sys.calls()
  while (top > 1L && call_names(calls[top]) %in% machinery) top <- top - 1L
  message(
    "\nerror: ", valid_text(conditionMessage(condition)), "\nin ", one_line(calls[[top]]), place_of(calls[[top]]),
    "\nThis is browser() in that call: ls() lists its variables, c goes on, recover() looks at other calls."
  )
  eval(quote(browser()), sys.frame(top))
}
