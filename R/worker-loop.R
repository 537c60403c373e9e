# The main thread as worker, in R: the guard around the loop of src/worker.c, and what becomes of a handler that fails.
# Not for starting and stopping: serve-session.R. Neighbours: error-answer.R, worker-hygiene.R, response-of.R.

# Serves requests until there is another thing to do, however handlers end.
serve <- function(mode) {
  outcome <- .Call(C_worker_guarded, guard, mode)
  if (identical(outcome, outcomes$aborted)) {
    # a jump to top level that went past every handler of R, out of a handler or out of dr_on_error()
    jump <- simpleError("the handler jumped to top level", NULL)
    if (!fail_stream(jump, NULL)) reply_failure(jump)
  }
  outcome
}

# Called from C, inside R_ToplevelExec. The handlers are set up once for all the requests that this call serves.
guard <- function(mode) {
  tryCatch(
    withCallingHandlers(
      remembering_requests(.Call(C_worker_run, mode)),
      error = note_trace, error = give_up, warning = log_warning, message = log_message
    ),
    error = function(condition) {
      fail_request(condition)
      failed
    },
    interrupt = function(condition) {
      by_server <- in_process() || .Call(C_session_interrupted)
      if (engine_in_handler()) interrupt_request(by_server)
      if (by_server) failed else interrupted
    }
  )
}

# Warnings of handlers go to the log, and no further, unless options(warn = 2) is to make them errors.
log_warning <- function(condition) {
  if (getOption("warn") >= 2) return()
  # R may warn that it fetches a function again, which an interrupt kept it from: with another one here it never could
  suspendInterrupts({
    calls <- sys.calls()
    note_call(condition, calls[stack_of(calls)$ours])
    log_line("warn", paste0("warning: ", describe_condition(condition)), request = TRUE)
  })
  tryInvokeRestart("muffleWarning")
}

# Answers the request whose handler, or outermost middleware, signalled `condition`.
fail_request <- function(condition) {
  # a handler may have set one, and it would end every handler after it
  setTimeLimit()
  trace <- take_trace()
  if (fail_stream(condition, trace)) return(invisible())
  note_damage(condition)
  state <- .Call(C_worker_state)
  on_error <- if (state[[2L]]) engine$on_error[[state[[3L]]]]
  # code of the app again: in a worker process it can be interrupted, like the handler
  response <- tryCatch(failure_response(condition, trace, on_error, state[[4L]]), interrupt = function(interrupt) NULL)
  if (is.null(response)) return(if (in_process()) interrupt_request(TRUE) else reply_failure(condition, trace))
  tryCatch(.Call(C_worker_answer, response), error = function(second) {
    log_second_failure(second, TRUE)
    reply_failure(condition, trace)
  })
  invisible()
}

# Breaks off the stream whose generator signalled `condition`. FALSE when none ran: then it was a handler.
fail_stream <- function(condition, trace) {
  if (!.Call(C_streams_state)) return(FALSE)
  calls <- paste0("\x1f", trace, recycle0 = TRUE, collapse = "")
  text <- paste0("the stream is broken off: ", describe_condition(condition), calls)
  if (service_running()) message("drover: ", gsub("\x1f", "\n  ", text, fixed = TRUE))
  .Call(C_streams_failed, enc2utf8(text))
}

# Answers the request whose handler was interrupted: by Ctrl-C in a session, or by the server, for which it is answered
# already, and which waits to hear that the handler has ended.
interrupt_request <- function(by_server) {
  if (!by_server) {
    return(fail_request(structure(class = c("interrupt", "condition"), list(message = "interrupted", call = NULL))))
  }
  take_trace()
  damage$possible <- TRUE
  if (fail_stream(simpleError("interrupted", NULL), NULL)) return(invisible())
  log_line("warn", "interrupted: the request was over its time, or its client had gone", request = TRUE)
  .Call(C_worker_answer, problem_of(504L, "", list()))
}

note_damage <- function(condition) {
  if (!damage$possible || !in_process()) return()
  text <- "promise already under evaluation: recursive default argument reference or earlier problems?"
  damage$found <- identical(tryCatch(conditionMessage(condition), error = function(e) ""), gettext(text, domain = "R"))
}

# Answers with an error status, without running any code of the app.
reply_failure <- function(condition, trace = NULL) {
  .Call(C_worker_answer, problem_response(condition, trace, TRUE))
  invisible()
}

# Called from C when a handler returned a promise: the reply is sent when it comes to its end.
await <- function(promise, cell) {
  state <- .Call(C_worker_state)
  on_error <- if (state[[2L]]) engine$on_error[[state[[3L]]]]
  req <- state[[4L]]
  fail <- function(reason) {
    # no client waits for this response any more
    is_over <- inherits(reason, "drover_error_async") && reason$why == "over"
    response <- if (is_over) {
      problem_of(503L, "", list())
    } else {
      failure_response(as_condition(reason), attr(reason, "trace"), on_error, req, cell)
    }
    .Call(C_worker_settle, cell, response)
    NULL
  }
  promises::then(promise, function(value) {
    tryCatch(.Call(C_worker_settle, cell, value), error = fail)
    NULL
  }, fail)
  NULL
}

# Called from C after a handler has asked at the console: R's reader begins again with each browser(), and this one
# finds nothing to read.
begin_reading_again <- function(unused) {
  tryCatch(utils::capture.output(browser()), error = function(error) NULL)
  NULL
}

# Called from C, as a callback of the package 'later', when requests wait and the session is idle. 1 to be called again
# soon.
serve_idle <- function(unused) {
  repeat {
    outcome <- serve(modes$idle)
    if (outcome %in% c(failed, outcomes$aborted)) next
    # a session that blocks is to end; at a console Ctrl-C has ended the handler, and that is all
    engine$interrupted <- identical(outcome, interrupted)
    return(as.integer(identical(outcome, outcomes$events)))
  }
}

# A calling handler of guard(): an error that comes to it is the response of the innermost nxt(), if there is one.
give_up <- function(condition) {
  for (frame in rev(seq_len(sys.nframe()))) {
    fun <- sys.function(frame)
    if (identical(fun, guard)) return()
    if (identical(fun, attempt)) {
      scope <- sys.frame(frame)
      scope$error <- condition
      # returns from there
      scope$leave
    }
  }
}
