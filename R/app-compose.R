# Middleware around handlers: `nxt()`, and what becomes of errors there. Neighbours: app-compile.R, which says what goes
# around which handler; worker-loop.R, whose guard() is around them all; error-answer.R, which makes a response of an
# error.

compose <- function(middleware, handler, on_error = NULL, has_sessions = FALSE) {
  if (length(middleware)) for (one in rev(middleware)) handler <- wrap(one, handler, on_error)
  if (isTRUE(has_sessions)) keeping_session(handler) else handler
}

# A handler may have no argument: it is called with one all the same.
with_request <- function(handler) {
  force(handler)
  declared <- args(handler)
  if (is.null(declared) || length(formals(declared))) handler else function(req) handler()
}

# Functions of an app whose plain lists may be responses, or as they are. NULL stays NULL.
reading_lists <- function(app, fn) {
  if (is.null(fn) || !app$list_responses) return(fn)
  function(...) read_list_response(fn(...))
}

# What goes around the handlers of an app: lists of middleware and on_error, of which `outer` goes around the app; and
# whether there are sessions.
around_handlers <- function(app, outer) {
  list(
    middleware = c(outer$middleware, app_middleware(app)),
    on_error = if (is.null(app$on_error)) outer$on_error else reading_lists(app, app$on_error),
    has_sessions = isTRUE(outer$has_sessions) || has_sessions(app)
  )
}

app_middleware <- function(app) lapply(app$middleware, function(one) reading_lists(app, one))

# Puts one middleware around what is further in. Lean: it runs for each request.
wrap <- function(middleware, inner, on_error) {
  force(middleware)
  force(inner)
  force(on_error)
  function(req) middleware(req, function() respond(inner, req, on_error))
}

# The response of what is further in, also to an error that no middleware takes: what middleware adds to responses is on
# those as well. `catches`: whether none of them is to come to middleware further out.
respond <- function(inner, req, on_error, catches = FALSE) {
  response <- attempt(inner, req, catches || !engine_in_handler())
  if (inherits(response, "drover_failed")) {
    condition <- response$condition
    setTimeLimit()
    return(with_condition(failure_response(condition, take_trace(), on_error, req), condition))
  }
  if (!is_promise(response)) return(response)
  # the request under way is another one by then
  about <- attr(req, "cell")
  response$catch(function(reason) {
    condition <- as_condition(reason)
    with_condition(failure_response(condition, NULL, on_error, req, about), condition)
  })
}

# The response of the inner handler, or the error that no middleware caught, as failed_with() wraps it. R offers an
# error first to the middleware around it, as for tryCatch(nxt(), error = ), from the inside out, and last to guard(),
# which has it returned from here by give_up(), with `error` and `leave`. `catches`: as in a step of a promise, which
# takes all errors, and guard() is not around it.
attempt <- function(inner, req, catches, error = NULL, leave = return(failed_with(error))) {
  if (catches) {
    return(tryCatch(withCallingHandlers(as_response(inner(req)), error = note_trace), error = failed_with))
  }
  tryCatch(as_response(inner(req)), CStackOverflowError = signal_again)
}

failed_with <- function(condition) structure(list(condition = condition), class = "drover_failed")

# When C's stack is exhausted, R does not run calling handlers, such as guard(). The calls that led to the error are
# gone: the class tells note_trace() so.
signal_again <- function(condition) {
  class(condition) <- c("drover_unwound", setdiff(class(condition), "CStackOverflowError"))
  stop(condition)
}

# For middleware that wants to know which error it was.
with_condition <- function(response, condition) {
  if (!is_promise(response)) attr(response, "condition") <- condition
  response
}
