# Endpoints of plumber that are answered without its steps: the same arguments, the same handler, the same bytes. What
# is not as usual (another method, a path that only plumber's regular expressions match, its limits and secrets) goes
# the whole way. Neighbours: plumber-routes.R, which endpoints these are; plumber-run.R, how a handler is called.

# The routes of a router below `prefix`, as app-compile.R has them. `full`, a function of a request and the number of
# segments in the prefix, answers as plumber does; `folder`: see in_folder().
fast_routes <- function(pr, prefix, full, folder) {
  endpoint_routes(plan_router(pr), prefix, full, folder, private_of(pr))
}

# The same of a plan, whoever made it. `private`: an environment with what plumber knows of the router that is served.
endpoint_routes <- function(plan, prefix, full, folder, private) {
  is_hindered <- function() .Call(C_plumber_is_hindered, private, engine)
  place <- list(
    constants = rook_constants(), prefix = prefix,
    depth = lengths(regmatches(prefix, gregexpr("/", prefix, fixed = TRUE)))
  )
  seen <- character()
  routes <- list()
  for (entry in plan) {
    if (is.null(entry$endpoint)) next
    endpoint <- c(entry$endpoint, place)
    for (verb in entry$verbs) {
      key <- paste(verb, entry$pattern)
      # the first of several answers
      if (!verb %in% known_methods || key %in% seen) next
      seen <- c(seen, key)
      fail <- endpoint_failure(endpoint)
      handler <- fast_handler(endpoint, verb, full, is_hindered)
      handler <- in_folder(switchable(handler, fail, full, place$depth, paste(verb, entry$path)), folder)
      routes[[length(routes) + 1L]] <- list(
        method = verb, path = entry$pattern, on_error = fail,
        handler = plain_handler(endpoint, verb, handler, private, folder)
      )
    }
  }
  routes
}

fast_handler <- function(endpoint, verb, full, is_hindered) {
  force(verb)
  force(full)
  force(is_hindered)
  depth <- endpoint$depth
  function(req) {
    if (is_hindered() || req$method != verb) return(full(req, depth))
    asked <- asked_for(req, endpoint)
    path <- path_arguments(endpoint, asked$info)
    if (is.null(path)) full(req, depth) else run_endpoint(endpoint, req, asked, path, req$raw)
  }
}

# Before `handler`: what src/plain_endpoint.c can answer. That is for handlers without arguments, where nothing but the
# address has to be looked at.
plain_handler <- function(endpoint, verb, handler, private, folder) {
  force(handler)
  is_plain <- !length(endpoint$formals) && !grepl("[<:*]", endpoint$prefix) && is.null(endpoint$regex$types)
  if (!is_plain) return(handler)
  writer <- endpoint$writer
  answer <- function(req, value) answer_of(value, endpoint, req, NULL, NULL)
  plain <- .Call(
    C_plain_endpoint_new, verb, paste0(endpoint$prefix, endpoint$path), as.call(list(endpoint$fn)), endpoint$envir,
    private, engine, working, !is.null(folder), attr(writer, "native") %||% 0L, attr(writer, "type") %||% "", answer
  )
  # as the worker has it without calling R, where nothing is around the handler
  structure(function(req) {
    response <- .Call(C_plain_endpoint, req, plain)
    if (is.object(response)) return(response)
    if (is.null(response)) handler(req) else answer(req, response[[1L]])
  }, plain = plain)
}

# By what the server was told: fast, as plumber does, or both, with a line in the log where they differ.
switchable <- function(fast, fail, full, depth, name) {
  force(fast)
  force(fail)
  force(full)
  force(depth)
  force(name)
  function(req) {
    switch(engine$plumber,
      full = full(req, depth),
      verify = {
        ours <- tryCatch(fast(req), error = function(error) fail(req, error))
        theirs <- full(req, depth)
        if (is_promise(ours) || is_promise(theirs)) {
          promises::then(promises::promise_all(ours, theirs), function(both) verify(both[[1L]], both[[2L]], name))
        } else {
          verify(ours, theirs, name)
        }
      },
      fast(req)
    )
  }
}

# The second, with a line in the log when the first is another answer.
verify <- function(ours, theirs, name) {
  shown <- function(response) {
    response <- as_response(response)
    body <- response$body
    list(
      status = response$status, headers = response$headers[order(as.character(names(response$headers)))],
      body = if (is.character(body)) charToRaw(enc2utf8(body)) else body
    )
  }
  a <- shown(ours)
  b <- shown(theirs)
  differs <- names(a)[!mapply(identical, a, b[names(a)])]
  if (length(differs)) {
    text <- sprintf("%s on the fast path differs in %s", name, paste(differs, collapse = ", "))
    log_line("error", text, request = TRUE)
  }
  theirs
}
