# Calling a handler of plumber as plumber does: its arguments, what becomes of its value, and of its errors. An endpoint
# is a list: fn, formals, dots, takes_args, wants (see handler_shape()), envir, path, mount, regex (where it answers),
# hidden, parsers and parse (its bodies), serializer and writer (what becomes of its value), fail and fail_last (of its
# errors, and of those in making the response), new_res, root; and where it is served: constants, depth and prefix.
# Neighbours: plumber-values.R, what handlers are given; plumber-serializers.R.

# What a handler can be given.
handler_shape <- function(fn) {
  formals <- names(formals(fn)) %||% character()
  dots <- "..." %in% formals
  list(
    fn = fn, formals = formals, dots = dots, takes_args = !all(formals %in% c("req", "res")),
    wants = intersect(c("req", "res"), if (dots) c("req", "res") else formals)
  )
}

# list(info, query): the path below where the app is mounted, and the query with its "?", as they were sent.
asked_for <- function(req, endpoint) {
  target <- split_target(req$url, endpoint$depth)
  list(info = target$rest, query = target$query)
}

# The values of the placeholders; NULL when the path is not this endpoint's, or one before it has it.
path_arguments <- function(endpoint, info) {
  for (one in endpoint$hidden) if (matches_before(one, info)) return(NULL)
  if (is.null(endpoint$regex$types)) {
    # a literal path is a regular expression, too
    same <- info == endpoint$path || matches_below(endpoint$mount, endpoint$regex$regex, info)
    return(if (same) no_placeholders)
  }
  if (!startsWith(info, endpoint$mount)) return(NULL)
  info <- substring(info, nchar(endpoint$mount) + 1L)
  found <- regexpr(endpoint$regex$regex, info, perl = TRUE)
  if (found < 0L) return(NULL)
  starts <- attr(found, "capture.start")
  texts <- substring(info, starts, starts + attr(found, "capture.length") - 1L)
  values <- lapply(seq_along(texts), function(i) endpoint$regex$converters[[i]](texts[[i]]))
  structure(values, names = endpoint$regex$names)
}

no_placeholders <- structure(list(), names = character())

# `req` and `res` of the request under way, for endpoint_failure().
running <- new.env(parent = emptyenv())

# The response, or a promise of it. `asked`: see asked_for(); `path`: the values of the placeholders.
run_endpoint <- function(endpoint, req, asked, path, bytes) {
  wants <- length(endpoint$wants) > 0L
  if (wants) running$req <- NULL
  query <- query_arguments(asked$query)
  body <- plumber_body(req, bytes, endpoint)
  given <- list(query = query, path = path, body = body_arguments(body))
  env <- NULL
  res <- NULL
  if (wants) {
    running$req <- env <- plumber_request(req, endpoint, asked$info, bytes, body, given)
    running$res <- res <- endpoint$new_res()
  }
  value <- do.call(endpoint$fn, relevant_arguments(endpoint, given, env, res), envir = endpoint$envir)
  if (is.null(res) && !is.object(value) && !is.null(answer <- endpoint$writer(value))) return(answer)
  answer_of(value, endpoint, req, env, res)
}

query_arguments <- function(query) if (nchar(query) > 1L) plumber_query(query) else list()

# The arguments for the handler: of several of a name the first.
relevant_arguments <- function(endpoint, given, env, res) {
  both <- list(req = env, res = res)[endpoint$wants]
  if (!endpoint$takes_args) return(both)
  args <- c(both, given$query, given$path, given$body)
  if (identical(endpoint$formals, "...")) return(args)
  known <- names(args) %in% endpoint$formals
  # names that are formals come once, what `...` takes as often as it was sent
  args[if (endpoint$dots) !known | !duplicated(names(args)) else known & !duplicated(names(args))]
}

# The response for what a handler returned; `env` and `res` are NULL when it was not given them.
answer_of <- function(value, endpoint, req, env, res) {
  if (inherits(value, "Future")) value <- promises::as.promise(value)
  if (is_promise(value)) {
    return(value$then(
      function(value) answer_of(value, endpoint, req, env, res),
      function(reason) fail_as_plumber(as_condition(reason), endpoint, req, env, res)
    ))
  }
  env <- env %||% bare_request(req, endpoint)
  res <- res %||% endpoint$new_res()
  rook_response(tryCatch(serialized(value, endpoint, env, res), error = function(error) {
    res$body <- endpoint$fail_last(env, res, error)
    res$toResponse()
  }))
}

serialized <- function(value, endpoint, env, res) {
  if (inherits(value, "PlumberResponse")) return(res$toResponse())
  if (typeof(res$serializer) != "closure") stop("Serializers must be closures: '", res$serializer, "'", call. = FALSE)
  # a status and header fields do not change how the value is written
  if (identical(res$serializer, endpoint$serializer) && !is.object(value)) {
    written <- endpoint$writer(value)
    if (!is.null(written)) {
      res$setHeader("Content-Type", written$headers[[1L]])
      res$body <- written$body
      return(res$toResponse())
    }
  }
  res$serializer(value, env, res, endpoint$fail_last)
}

# A function of a request and the error of its handler that gives the response, see error-answer.R.
endpoint_failure <- function(endpoint) {
  force(endpoint)
  fail <- function(req, condition) {
    env <- if (length(endpoint$wants)) running$req
    fail_as_plumber(condition, endpoint, req, env, if (!is.null(env)) running$res)
  }
  # the error is written where plumber writes it
  structure(fail, reports = TRUE)
}

fail_as_plumber <- function(condition, endpoint, req, env, res) {
  if (is_abort(condition)) stop(condition)
  env <- env %||% bare_request(req, endpoint)
  res <- res %||% endpoint$new_res()
  value <- tryCatch(endpoint$fail(env, res, condition), error = function(error) {
    res$body <- endpoint$fail_last(env, res, error)
    res
  })
  answer_of(value, endpoint, req, env, res)
}

# `req` for what runs beside a handler that has not asked for it.
bare_request <- function(req, endpoint) {
  asked <- asked_for(req, endpoint)
  quietly <- function(read) tryCatch(suppressWarnings(read), error = function(error) list())
  given <- list(
    query = quietly(query_arguments(asked$query)), path = quietly(path_arguments(endpoint, asked$info)), body = list()
  )
  plumber_request(req, endpoint, asked$info, req$raw, list(), given)
}

# Whether it matches this one.
matches_before <- function(one, path) {
  if (is.null(one$regex)) startsWith(path, one$head) else matches_below(one$mount, one$regex, path)
}

# Whether what follows a mount in a path matches a regular expression.
matches_below <- function(mount, regex, path) {
  startsWith(path, mount) && grepl(regex, substring(path, nchar(mount) + 1L), perl = TRUE)
}
