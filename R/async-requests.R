# Which request a callback of a promise is for: while handlers and callbacks run, promises are told to remember it. Only
# where 'promises' is loaded. Neighbours: async-tasks.R, which asks, and worker-loop.R and serve-session.R, which call
# handlers and callbacks.

callback <- new.env(parent = emptyenv())

# The request whose handler or callback runs, or NULL.
request_of_callback <- function() {
  if (!is.null(callback$req)) return(callback$req)
  state <- .Call(C_worker_state)
  if (state[[2L]]) state[[4L]]
}

request_cell <- function(req) attr(req, "cell")

# Evaluates `expr`, in which callbacks that are given to promises remember the request.
remembering_requests <- function(expr) {
  if (!isNamespaceLoaded("promises")) return(expr)
  promises::with_promise_domain(request_domain(), expr)
}

request_domain <- function() {
  if (is.null(callback$domain)) {
    callback$domain <- promises::new_promise_domain(
      wrapOnFulfilled = for_request, wrapOnRejected = for_request
    )
  }
  callback$domain
}

# `fn`, a callback of one argument, for the request of now.
for_request <- function(fn) {
  force(fn)
  req <- request_of_callback()
  if (is.null(req)) return(fn)
  function(...) {
    before <- callback$req
    callback$req <- req
    on.exit(callback$req <- before)
    fn(...)
  }
}
