# A middleware and what is further in: `nxt()`, and what becomes of errors there. Neighbours: compile.R, which puts them
# together; worker.R, whose guard() is around them all; failure.R, which makes a response of an error.

# Puts one middleware around what is further in. Lean: it runs for each request.
wrap <- function(middleware, inner, on_error) {
  force(middleware)
  force(inner)
  force(on_error)
  function(req) middleware(req, function() respond(inner, req, on_error))
}

# The response of what is further in, also to an error that no middleware takes: what middleware adds to responses is on
# those as well.
respond <- function(inner, req, on_error) {
  response <- attempt(inner, req)
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

# The response of what is further in, or the error that nobody took, as failed_with() has it. An error is for the
# middleware around it first, as for tryCatch(nxt(), error = ): R asks their handlers, from the inside out, and guard()
# last, which sends it back here by give_up().
attempt <- function(inner, req) {
  error <- NULL
  delayedAssign("leave", return(failed_with(error)))
  if (!engine_in_handler()) {
    # a step of a promise takes all errors, and guard() is not around it
    return(tryCatch(withCallingHandlers(as_response(inner(req)), error = note_trace), error = failed_with))
  }
  tryCatch(as_response(inner(req)), CStackOverflowError = signal_again)
}

failed_with <- function(condition) structure(list(condition = condition), class = "drover_failed")

# Where C's stack was used up R has asked nobody who would have been called there, as guard() is. The calls that led to
# it are gone: that class says so to note_trace().
signal_again <- function(condition) {
  class(condition) <- c("drover_unwound", setdiff(class(condition), "CStackOverflowError"))
  stop(condition)
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

# For middleware that wants to know which error it was.
with_condition <- function(response, condition) {
  if (!is_promise(response)) attr(response, "condition") <- condition
  response
}
