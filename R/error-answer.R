# What becomes of an error of a handler or middleware: its traceback, its line in the log, and the response that
# middleware further out and the client get. Not for catching it: worker-loop.R and app-compose.R do.

# A calling handler, so the calls that led to the error are still there.
note_trace <- function(condition) {
  # a trace is logged for what is the server's fault only
  if (is_http_error(condition) && condition$status < 500) return()
  if (inherits(condition, "drover_unwound")) return()
  calls <- sys.calls()
  stack <- stack_of(calls)
  note_call(condition, calls[stack$ours])
  # below the handler: the guard; above the error: the machinery of conditions and this function
  bottom <- stack$bottom
  top <- length(calls) - 1L
  if (top > 0L && is_call_to(calls[[top]], ".handleSimpleError")) top <- top - 1L
  frames <- seq_along(calls)
  # where the app is when it fails: in a middleware, unless that has gone further in
  made <- which(stack$ours & frames <= top)
  wrapped <- vapply(calls[made], function(call) is_call_to(call, "middleware") || is_call_to(call, "inner"), NA)
  last <- max(0L, made[wrapped])
  shown <- frames >= max(bottom, last) & frames <= top & !stack$own & !stack$ours
  if (last && is_call_to(calls[[last]], "middleware")) {
    shown[[last]] <- TRUE
    calls[[last]] <- quote(middleware(req, nxt))
  }
  # the handler, with or without middleware around it
  shown[bottom[bottom <= top]] <- TRUE
  failure$trace <- trace_of(calls[shown])
  # a request is played again: its user looks at the error before anything is unwound
  if (is.function(failure$stop_at)) failure$stop_at(condition, top)
}

# A call such as fn(...), by which this package calls the app's function, tells the author of the app nothing.
note_call <- function(condition, ours) {
  call <- tryCatch(conditionCall(condition), error = function(error) NULL)
  is_one <- function(one) identical(as.list(one), as.list(call))
  failure$ours <- if (!is.null(call) && any(vapply(ours, is_one, NA))) call
}

# Of the calls on the stack, list(bottom, own, ours). `bottom`: the place of the handler's call, the outermost that is
# one; one more than there are without any, as below a callback. `own`: those of this package, for what it puts around
# handlers, middleware and mounts, with what it calls to catch errors; what the app has called of it, it shows.
# `ours`: those that these have made of functions that are not this package's: of the app's, and of R's. The app has
# not written them. Below the handler both are FALSE: most calls are there, and this is done for each error.
stack_of <- function(calls) {
  bottom <- 1L
  while (bottom <= length(calls) && !is_bottom_call(calls[[bottom]])) bottom <- bottom + 1L
  first <- if (bottom <= length(calls)) bottom else 1L
  catching <- c("tryCatch", "tryCatchList", "tryCatchOne", "doTryCatch", "withCallingHandlers")
  package <- topenv()
  parents <- sys.parents()
  known <- rep(NA, length(calls))
  is_own <- function(frame) {
    if (is.na(known[[frame]])) {
      name <- call_names(calls[frame])
      home <- environment(sys.function(frame))
      is_ours <- !startsWith(name, "dr_") && !is.null(home) && identical(topenv(home, NULL), package)
      by <- parents[[frame]]
      # a promise may be forced further up than it was made: then it is made by none of these
      known[[frame]] <<- is_ours || (name %in% catching && by > 0L && by < frame && is_own(by))
    }
    known[[frame]]
  }
  own <- ours <- logical(length(calls))
  for (frame in seq_along(calls)[seq_along(calls) >= first]) {
    own[[frame]] <- is_own(frame)
    by <- parents[[frame]]
    ours[[frame]] <- !own[[frame]] && by > 0L && is_own(by)
  }
  list(bottom = bottom, own = own, ours = ours)
}

# The names of what is called, "" where that has none.
call_names <- function(calls) {
  vapply(calls, function(call) if (is.symbol(call[[1L]])) as.character(call[[1L]]) else "", "")
}

is_call_to <- function(call, name) is.symbol(call[[1L]]) && identical(as.character(call[[1L]]), name)

# The calls from the handler to the error, the outermost first, as text with file and line where R knows them. Of an
# endless recursion, which has thousands of calls, the handler and the last ones.
trace_of <- function(calls, most = 20L) {
  n <- length(calls)
  shown <- if (n > most) c(1L, seq(n - most + 2L, n)) else seq_len(n)
  lines <- vapply(calls[shown], function(call) paste0(one_line(call), place_of(call)), "")
  if (n > most) append(lines, sprintf("... %d calls", n - most), 1L) else lines
}

# " at app.R:12", or "" where R keeps no source, as in a script of Rscript.
place_of <- function(call) {
  place <- attr(call, "srcref")
  if (is.null(place)) return("")
  file <- tryCatch(basename(attr(place, "srcfile")$filename), error = function(error) "")
  if (is_string(file) && nzchar(file)) sprintf(" at %s:%d", file, place[[1L]]) else ""
}

is_bottom_call <- function(call) {
  name <- call[[1L]]
  if (!is.symbol(name)) return(FALSE)
  identical(name, quote(.Call)) ||
    (length(call) == 2L && identical(call[[2L]], quote(req)) &&
      exists(as.character(name), envir = engine$scope, inherits = FALSE))
}

# The traceback of the failure under way, once.
take_trace <- function() {
  trace <- failure$trace
  failure$trace <- NULL
  if (!is.null(trace)) return(trace)
  # when C's stack is exhausted, R calls no handler before it has unwound all calls
  state <- .Call(C_worker_state)
  if (state[[2L]]) c(sprintf("`%s`(req)", engine$names[[state[[3L]]]]), "...")
}

# Whether it is an error of dr_abort(), or of a body that cannot be read: it passes through apps of others as what it
# is.
is_abort <- function(condition) inherits(condition, "drover_error_http")

# Signalled on purpose, for the client: dr_abort(), or any condition with a status.
is_http_error <- function(condition) {
  status <- if (typeof(condition) == "list") {
    # most are, and of a list it costs little to ask
    .subset2(condition, "status")
  } else {
    tryCatch(condition$status, error = function(error) NULL)
  }
  is.numeric(status) && length(status) == 1L && isTRUE(status >= 400 && status <= 599)
}

# The response to a failure: by the function of dr_on_error(), if there is one, otherwise an error status. Logged here;
# `about` is the cell of its request, or TRUE for the one under way.
failure_response <- function(condition, trace, on_error, req, about = TRUE) {
  if (!is.null(attr(on_error, "part"))) {
    # where a part of the handler has failed, the response to that is not yet the request's
    part <- attr(on_error, "part")()
    if (!is.null(part)) return(part$finish(failure_response(condition, trace, part$on_error, req, about)))
    on_error <- attr(on_error, "aborts")
  }
  # what plumber makes of its own errors is not for those of dr_abort()
  if (is_abort(condition) && isTRUE(attr(on_error, "reports"))) on_error <- attr(on_error, "aborts")
  if (!is.function(on_error)) return(problem_response(condition, trace, about))
  tryCatch({
    response <- as_response(allowInterrupts(on_error(req, condition)))
    if (!is_http_error(condition) && !isTRUE(attr(on_error, "reports"))) {
      log_failure(condition, trace, about, status_of(response))
    }
    response
  }, error = function(second) {
    log_second_failure(second, about)
    problem_response(condition, trace, about)
  })
}

# The function of dr_on_error() has failed, or what it returned cannot be sent.
log_second_failure <- function(second, about) {
  log_line("error", paste("500 dr_on_error() failed:", describe_condition(second)), about)
}

# An error status, in the words of the server: how its body reads is for the engine to say, by what the client accepts.
# Until then the body is what the client may know. The text of an error is for the client only when it was meant to be.
problem_response <- function(condition, trace, about) {
  if (is_http_error(condition)) {
    status <- as.integer(condition$status)
    detail <- valid_text(conditionMessage(condition))
    headers <- if (is.list(condition$headers)) condition$headers else list()
  } else {
    status <- 500L
    detail <- if (isTRUE(engine$debug)) paste(c(describe_condition(condition), trace), collapse = "\n  ") else ""
    headers <- list()
  }
  if (status >= 500L) log_failure(condition, trace, about, status)
  problem_of(status, detail, headers)
}

problem_of <- function(status, detail, headers) {
  problem <- response_of(status, detail, headers)
  class(problem) <- c("dr_problem", "dr_response")
  problem
}

# What a function of dr_on_error() has made of an error; it may give a promise.
status_of <- function(response) if (is.list(response) && is.numeric(response$status)) response$status else 500L

# What the app takes for the client's fault is no error of the server's. Each call of the traceback comes after the
# character that the log knows by: observe/look.rs, in the crate `engine`.
log_failure <- function(condition, trace, about, status) {
  calls <- paste0("\x1f", trace, recycle0 = TRUE, collapse = "")
  level <- if (status < 500L) "warn" else "error"
  log_line(level, paste0(status, " ", describe_condition(condition), calls), about)
}
