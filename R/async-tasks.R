# Functions that another worker runs: what a handler asks for, what the other one does, and what becomes of the promise.
# The server makes a request of a task, src/rust/crates/dispatch/src/dispatcher/tasks.rs, and another of its outcome.
# Neighbours: async-requests.R (which request a callback belongs to), worker-loop.R (handlers that return a promise).

#' Compute in another worker
#'
#' Has a worker that is free call `f(...)`, and gives a promise of its value: the worker whose handler asks serves
#' others meanwhile. For what computes for long, beside handlers that must be quick, and to compute several things at
#' once.
#'
#' The task is a request of its own in the server's queue. It belongs to the request whose handler asks: it ends with
#' the `timeout` of that, when its client has gone, and when it was answered without waiting for the task. Callbacks
#' of promises belong to the request that they are for, where the package 'promises' was loaded with the app.
#'
#' `f` and its arguments are copied to the other worker, and the value is copied back, as by [serialize()]. A function
#' that is written in the app's file sees what that file has made, as it is in the other worker; one that is made in a
#' handler takes along what it can see there. External pointers, such as `req` and database connections, do not
#' survive the way: take out of `req` what is needed before. Responses with a file, such as those of [dr_png()] and
#' [dr_file()], do, alone or in a list: what is only the other worker's file is copied.
#'
#' With a single worker the task is run by that one, after the handler has returned its promise; in a session, which
#' is interrupted only when the client leaves, also when it takes too long.
#'
#' @param f A function.
#' @param ... Its arguments. They are evaluated before `dr_async()` returns.
#' @param timeout Seconds that the task may take from now, or `NULL` for as long as its request may. Outside of
#'   requests, `NULL` is for as long as it takes.
#' @returns A promise of the package 'promises': of the value of `f(...)`, or of what it comes to when it is a promise
#'   by itself. It is rejected with the error of `f`, its class and fields included, or with a condition of class
#'   `drover_error_async` when `f` has not come to its end; its field `why` is one of
#'
#'   | `why` | what has happened | answer, if the handler lets it pass |
#'   |---|---|---|
#'   | `"late"` | it took longer than its `timeout`: it was interrupted | 504 |
#'   | `"lost"` | the worker that ran it has died | 502 |
#'   | `"refused"` | no worker was free within `queue_timeout`, or this worker has `max_async` tasks already | 503 |
#'   | `"over"` | its request has ended, or the server is stopping | 503 |
#'   | `"failed"` | it jumped to top level, or its value takes more than 64 MB | 500 |
#' @section Errors: `drover_error_argument` when an argument is not as described, or takes more than 64 MB;
#'   `drover_error_state` where no worker runs: in a session without a server, and in one whose workers are processes.
#' @seealso `vignette("async", package = "drover")`, where the package was installed from what `make tarball` builds;
#'   the same page is `docs/async.md` of its sources.
#' @examples
#' app <- dr_app()
#'
#' estimate <- function(n) {
#'   inside <- runif(n)^2 + runif(n)^2 <= 1
#'   4 * mean(inside)
#' }
#'
#' # two halves at once, in two workers
#' dr_get(app, "/pi", function(req) {
#'   halves <- list(dr_async(estimate, 1e6), dr_async(estimate, 1e6))
#'   promises::then(promises::promise_all(.list = halves), function(halves) list(pi = mean(unlist(halves))))
#' })
#' app
#' @export
dr_async <- function(f, ..., timeout = NULL) {
  if (!is.function(f)) stop_argument("f", "a function", f, sys.call())
  if (!is.null(timeout)) check_seconds(timeout, "timeout")
  if (!is_installed("promises")) {
    stop_drover("state", "dr_async() needs the package 'promises': install.packages(\"promises\")")
  }
  call <- serialize(list(f, list(...)), NULL, xdr = FALSE)
  number <- .Call(C_tasks_say, request_cell(request_of_callback()), 1000 * (timeout %||% 0), call)
  if (number == 0) {
    stop_drover("state", "no worker runs here: dr_async() is for handlers, and for what they leave behind in a worker")
  }
  if (number == -1) {
    stop_drover("argument", "`f` and its arguments take more than 64 MB: have the other worker read what is large",
      argument = "f"
    )
  }
  promises::promise(function(resolve, reject) {
    if (number == -2) return(reject(async_error("over")))
    assign(task_name(number), list(resolve = resolve, reject = reject), envir = waiting)
  })
}

# ---- in the worker that asks ---------------------------------------------------------------------------------------

# What is to be called when a task has ended, by its name.
waiting <- new.env(parent = emptyenv())

task_name <- function(number) format(number, scientific = FALSE, digits = 17L)

# As the engine numbers them; wire/src/task.rs.
task_ends <- c("ran", "late", "lost", "refused", "over", "failed")

async_error <- function(why) {
  known <- list(
    late = list(504L, "the computation took too long"),
    lost = list(502L, "the process that computed has died"),
    refused = list(503L, "too many computations are under way"),
    over = list(503L, "the computation is not wanted any more")
  )[[why]]
  fields <- list(message = known[[2L]] %||% "the computation came to no value", call = quote(dr_async()), why = why)
  if (!is.null(known)) fields <- c(fields, list(status = known[[1L]], headers = list()))
  structure(class = c("drover_error_async", "drover_error", "error", "condition"), fields)
}

# Rejects the promises of waiting tasks: the server has ended, and no outcome will arrive.
give_up_tasks <- function() {
  for (name in ls(waiting)) {
    promise <- waiting[[name]]
    rm(list = name, envir = waiting)
    promise$reject(async_error("over"))
  }
}

# The handler of what has come of a task: the value or error as it was serialized, then three words, two of which are
# the number.
receive_task_result <- function(req) {
  message <- req$raw
  words <- readBin(last_of(message, 12L), "integer", 3L)
  name <- task_name(sum(words[1:2] %% 2^32 * c(1, 2^32)))
  promise <- waiting[[name]]
  if (is.null(promise)) return("")
  rm(list = name, envir = waiting)
  why <- task_ends[[words[[3L]] + 1L]]
  if (why != "ran") {
    promise$reject(async_error(why))
    return("")
  }
  outcome <- tryCatch(unserialize(message), error = function(error) list(error = error))
  if (is.null(outcome$error)) {
    promise$resolve(with_files(outcome$value, file_of_bytes))
  } else {
    promise$reject(outcome$error)
  }
  ""
}

# ---- in the worker that runs it ------------------------------------------------------------------------------------

# The handler of a task.
run_task <- function(req) {
  task <- unserialize(req$raw)
  value <- tryCatch(
    withCallingHandlers(call_task(task[[1L]], task[[2L]]), error = note_trace),
    error = function(condition) task_failure(condition, take_trace())
  )
  if (!is_promise(value)) return(task_response(value))
  promises::then(value, task_response, function(reason) task_response(task_failure(as_condition(reason), NULL)))
}

# The call reads f(x = x, arg2), however long the values are: functions that keep their call keep no data with it.
call_task <- function(f, args) {
  named <- names(args) %||% character(length(args))
  symbols <- named
  unnamed <- !nzchar(named) | named == "f"
  symbols[unnamed] <- paste0("arg", seq_along(args))[unnamed]
  symbols <- make.unique(as.character(symbols))
  scope <- list2env(c(with_names(args, symbols), list(f = f)), parent = globalenv())
  eval(as.call(c(list(quote(f)), with_names(lapply(symbols, as.name), named))), scope)
}

# What a task has come to when it failed. The call of a condition may hold data, and so may its other fields.
task_failure <- function(condition, trace) {
  if (length(serialize(condition, NULL, xdr = FALSE)) > 1e6) {
    condition <- structure(
      class = class(condition), list(message = conditionMessage(condition), call = quote(f(...)))
    )
  }
  attr(condition, "trace") <- trace
  structure(list(error = condition), class = "dr_task_failure")
}

task_response <- function(value) {
  failed <- inherits(value, "dr_task_failure")
  outcome <- if (failed) unclass(value) else list(value = with_files(value, bytes_of_file))
  response_of(200L, serialize(outcome, NULL, xdr = FALSE), list(`Content-Type` = "application/octet-stream"))
}

# ---- files of responses, such as those of dr_png() -----------------------------------------------------------------

# `value` with the files changed of the responses that it is, or is a list of.
with_files <- function(value, change) {
  if (is_response(value)) {
    file <- .subset2(value, "file")
    if (is.null(file)) return(value)
    parts <- unclass(value)
    parts$file <- change(file)
    return(structure(parts, class = oldClass(value)))
  }
  if (is.list(value) && !is.object(value)) value[] <- lapply(value, with_files, change)
  value
}

# In the worker that runs it: what has no name any more, or goes with this process, goes along. Another file is opened
# by its path where it is sent.
bytes_of_file <- function(file) {
  ours <- startsWith(file, paste0(normalizePath(tempdir()), "/"))
  if (file.exists(file) && !ours) return(file)
  structure(as.character(file), bytes = read_opened(file))
}

# In the worker that has asked: a file of the same kind, without a name.
file_of_bytes <- function(file) {
  bytes <- attr(file, "bytes")
  if (is.null(bytes)) return(file)
  extension <- tools::file_ext(file)
  copy <- tempfile(fileext = if (nzchar(extension)) paste0(".", extension) else "")
  writeBin(bytes, copy)
  copy <- normalizePath(copy)
  opened <- .Call(C_opened_open, copy, TRUE)
  if (is.character(opened)) stop_drover("file", paste("a file of dr_async():", opened), call = NULL)
  structure(copy, opened = opened)
}

# In their order, as the engine has them after the handlers of the app; named as they appear in tracebacks.
task_handlers <- list(`dr_async()` = run_task, `a value of dr_async()` = receive_task_result)
