# Registering handlers for methods and paths. Not for matching requests: that is the engine's router.
# Neighbours: app.R (the object), app-mount.R (routes of other apps), app-compile.R (what the engine is given).

# The methods that dr_route() takes; the router knows these by name, and others only for dr_any().
# CONNECT and TRACE are refused by the engine.
known_methods <- c("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

# The lists of an app that hold routes, by the kind of handler. A method and a path are in one of them.
route_fields <- c("routes", "cpp_routes", "cpp_stream_routes")

# The one way into these lists.
put_route <- function(app, field, route, call) {
  key <- paste(route$method, route$path)
  # found by hash: an app may have thousands of routes
  before <- app$placed[[key]]
  if (!is.null(before)) {
    warning(warningCondition(paste("overwriting existing route", key), class = "drover_warning_overwrite", call = call))
    if (before != field) app[[before]][[key]] <- NULL
  }
  if (grepl("[?#]", route$path, perl = TRUE)) {
    warn_unreachable(
      call, "route ", key, " is never reached: a path ends before '?' and '#'; fields of the query are in req$query"
    )
  }
  if (identical(before, field)) app[[field]][[key]] <- route else append_route(app, field, key, route)
  assign(key, field, envir = app$placed)
  invisible(app)
}

# Puts a route behind the others. R copies all names of a list to give it one more, and an app may have thousands of
# routes: so the list is put together when it is read next.
append_route <- function(app, field, key, route) {
  growing <- app$growing[[field]]
  if (is.null(growing) || !growing$is_open()) {
    growing <- growing_list(app[[field]])
    assign(field, growing, envir = app$growing)
    delayedAssign(field, growing$all(), assign.env = app)
  }
  growing$add(key, route)
}

# A list that begins with `first`, and grows until `all()` is called.
growing_list <- function(first) {
  force(first)
  is_open <- TRUE
  keys <- character()
  values <- list()
  list(
    add = function(key, value) {
      n <- length(keys) + 1L
      keys[[n]] <<- key
      values[[n]] <<- value
    },
    all = function() {
      is_open <<- FALSE
      c(first, with_names(values, keys))
    },
    is_open = function() is_open
  )
}

warn_unreachable <- function(call, ...) {
  warning(warningCondition(paste0(...), class = "drover_warning_unreachable", call = call))
}

# The one way into app$routes. `method` is one of known_methods or "ANY"; `more`: the further arguments of dr_get() as a
# list.
add_route <- function(app, method, path, handler, more, call = sys.call(-1L), fun = sys.function(-1L)) {
  check_registrar(app, call = call, fun = fun)
  parsed <- parse_path(path, call)
  types <- route_types(more, parsed$names, call)
  if (is.null(more$batch)) {
    check_typed_handler(handler, types, parsed$names, call)
  } else {
    check_batch(handler, more, call)
  }
  check_client_gone(more$on_client_gone, call)
  max_body <- as_bytes(more$max_body)
  if (!is.null(max_body)) check_size(max_body, "max_body", 0, call = call)
  check_links(more$early_hints, "early_hints", null = TRUE, call = call)
  check_pool(more$pool, call)
  put_route(app, "routes", c(
    list(method = method, path = path, param_names = parsed$names, handler = handler),
    # of these NULL is nothing
    timeout = route_timeout(more$timeout, call), on_client_gone = more$on_client_gone, max_body = max_body,
    early_hints = route_hints(more$early_hints), batch = if (!is.null(more$batch)) list(unclass(more$batch)),
    job = if (!is.null(more$job)) list(more$job), pool = more$pool, types
  ), call)
}

# Of a route's own `timeout`: seconds, or NULL.
route_timeout <- function(timeout, call) {
  timeout <- as_seconds(timeout)
  if (!is.null(timeout)) check_seconds_or_none(timeout, "timeout", call = call)
  timeout
}

# Of a route's own links: a field of the route, which is a list even of one; or NULL.
route_hints <- function(links) if (!is.null(links)) list(as.list(links))

#' Register a handler
#'
#' Each function registers a handler for requests with a method and a path. `dr_any()` registers it for every method,
#' named ones and others, `dr_route()` for the methods that are named.
#'
#' @section Paths: A path starts with `/`. It is matched whole, and without regard to case unless
#' `dr_serve(case_sensitive = TRUE)`; `/a` and `/a/` are different paths. A segment, or a part of one, may be a
#' placeholder; the three ways to write one are equivalent: `/users/:id`, `/users/<id>`, `/users/{id}`; and
#' `/report-<year>.csv`. A placeholder takes one or more characters of one segment, percent-decoded. Names consist of
#' letters, digits and `_`, do not start with a digit, and differ within a path.
#'
#' `<id:int>` takes only whole numbers, and the handler gets an integer; likewise `<x:dbl>`, `<flag:bool>`, `<key:uuid>`
#' (a string) and `<name:str>`, the same as no type. A request whose segment is not of the type does not match.
#'
#' `*rest` as the last segment takes everything that is left, slashes included, or nothing.
#'
#' When several routes match a request, the one registered first answers it. Handlers in C ([dr_get_cpp()]) come after
#' all in R.
#'
#' @section Methods: A GET route also answers HEAD (the engine drops the body), unless there is a HEAD route. OPTIONS is
#' answered by the engine, with the methods of the path in `Allow`, unless there is an OPTIONS route. A known path with
#' another method gets 405.
#'
#' @section Types: With `params` or `body` requests are checked before R is called: a value that does not fit is
#'   answered with 422 and a list of what is wrong, a body that is not JSON with 400, and one of another content type
#'   with 415. The handler may then take values as its arguments, by name: those of `params`, `body` for the body,
#'   placeholders of the path, and `req` for the request. They have the types that are declared, and defaults
#'   are filled in. `req$params`, `req$query` and `req$json` are what they are without types. While the server runs with
#'   `debug = TRUE`, and in [dr_test()], a response that does not fit `response` is an error.
#'
#' @section What a handler returns: A string (sent as `text/plain`), a raw vector (`application/octet-stream`), a
#' response ([dr_response()], [dr_json()], [dr_file()], ...), a list, data frame or other vector (sent as JSON, single
#' values without brackets), `NULL` (204 No Content), a condition that carries a status ([dr_abort()]), or a promise of
#' one of these. Lists are data, regardless of their names: only [dr_response()] and its like make responses. Any other
#' value, and any error, is answered with 500; the log has the reason, the client gets none.
#'
#' @param app An app, see [dr_app()].
#' @param path The path: a single string.
#' @param handler A function of one argument, the request (`req`, see [dr_header()] and [request]), or of none. Or a
#'   function whose arguments are called like placeholders of the path (`function(id)`) or like other values, see below.
#'   A single argument with any other name is the request; where it is called as no request usually is, there is a
#'   warning of class `drover_warning_handler`.
#' @param timeout Longest time from the arrival of a request to its answer, in seconds: a single number >= 0, or `NULL`
#'   for the one that [dr_serve()] was given; 0 for never. When it is over the client gets 504, and the handler is
#'   interrupted if it runs in a worker process.
#' @param on_client_gone What becomes of the handler when its client goes while it runs: `"finish"`, `"interrupt"`, or
#'   `NULL` for what [dr_serve()] was given.
#' @param params Types of values in the path, the query, header fields and cookies: a named list of schemas, see
#'   [dr_int()]. Names that the path has are taken from there, others from where their type says; from the query, unless
#'   it says otherwise.
#' @param body The type of the request's body: a schema, see [dr_schema()], or `NULL` for any body.
#' @param response The type of the response's body: a schema, or a named list of schemas by status, such as
#'   `list("200" = dr_schema(id = dr_int()), "404" = dr_schema(detail = dr_chr()))`.
#' @param summary,description,operation_id For documentation: a single string, or `NULL`. `description` may be
#'   CommonMark.
#' @param tags Names of groups in the documentation: a character vector, or `NULL`.
#' @param examples Examples of bodies, for documentation: a named list of values of R, or `NULL`.
#' @param deprecated `TRUE` if the documentation is to advise against this route.
#' @param max_body Longest body of a request, in bytes, or a string such as `"200MB"`; a longer one gets 413. `NULL` for
#'   the one that [dr_limits()] was given.
#' @param early_hints Links that browsers fetch while the handler runs: a character vector of values of the field `Link`
#'   (RFC 8288), such as `"</app.css>; rel=preload; as=style"`, or `NULL`. At most 32, of 4096 bytes together. See
#'   [dr_early_hints()].
#' @param batch How many requests the handler takes at a time, see [dr_batch()], or `NULL` for one.
#' @param pool The name of the pool of workers that the handler runs in, a single string, or `NULL` for the workers of
#'   all routes without one. How many workers a pool has says `pools` of [dr_pool()]: one, where that says nothing.
#'   Where one process does all (`workers = 1` of [dr_serve()]), it does this, too.
#' @param methods Methods out of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS: a character vector. Case does not
#'   matter.
#' @returns `app`, invisibly; it is changed in place. Registering the same method and path again replaces the handler,
#'   with a warning of class `drover_warning_overwrite`. A route that can never be reached gives a warning of class
#'   `drover_warning_unreachable`, when it is registered (a path with `?`) or served (another route goes before it).
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_mount()] for the routes of another app, [dr_get_cpp()] for C handlers, [dr_static()] for files,
#'   [dr_not_found()].
#' @examples
#' app <- dr_app()
#' dr_get(app, "/", function(req) "Hello")
#' dr_get(app, "/square/<n:int>", function(req) list(n = req$params$n, square = req$params$n^2))
#' dr_post(app, "/notes", function(req) dr_json(req$json, status = 201L))
#' dr_route(app, c("PUT", "PATCH"), "/notes/:id", function(req) NULL)
#' dr_any(app, "/echo/*rest", function(req) paste(req$method, dr_param(req, "rest")))
#' app
#' @name routes
NULL

# The functions that register a handler for one method have the same arguments, said here once.
registrar_of <- function(method) {
  force(method)
  function(app, path, handler, timeout = NULL, on_client_gone = NULL, params = NULL, body = NULL, response = NULL,
           summary = NULL, description = NULL, tags = NULL, examples = NULL, deprecated = FALSE, operation_id = NULL,
           max_body = NULL, early_hints = NULL, batch = NULL, pool = NULL) {
    add_route(app, method, path, handler, route_arguments(environment()), sys.call(), sys.function())
  }
}

# The arguments of such a function that have defaults, of its frame.
route_arguments <- function(frame) mget(names(route_defaults), envir = frame)

route_defaults <- lapply(as.list(formals(registrar_of(""))[-(1:3)]), eval, envir = baseenv())

#' @rdname routes
#' @export
dr_get <- registrar_of("GET")

#' @rdname routes
#' @export
dr_post <- registrar_of("POST")

#' @rdname routes
#' @export
dr_put <- registrar_of("PUT")

#' @rdname routes
#' @export
dr_delete <- registrar_of("DELETE")

#' @rdname routes
#' @export
dr_patch <- registrar_of("PATCH")

#' @rdname routes
#' @export
dr_head <- registrar_of("HEAD")

#' @rdname routes
#' @export
dr_options <- registrar_of("OPTIONS")

#' @rdname routes
#' @export
dr_any <- registrar_of("ANY")

#' @rdname routes
#' @export
dr_route <- function(app, methods, path, handler, timeout = NULL, on_client_gone = NULL, params = NULL, body = NULL,
                     response = NULL, summary = NULL, description = NULL, tags = NULL, examples = NULL,
                     deprecated = FALSE, operation_id = NULL, max_body = NULL, early_hints = NULL, batch = NULL,
                     pool = NULL) {
  if (!is.character(methods) || !length(methods) || !all(toupper(methods) %in% known_methods)) {
    right <- paste("a character vector of methods out of", paste(known_methods, collapse = ", "))
    stop_argument("methods", paste(right, "(dr_any() takes all)"), methods, sys.call())
  }
  more <- route_arguments(environment())
  for (method in unique(toupper(methods))) add_route(app, method, path, handler, more, sys.call(), sys.function())
  invisible(app)
}
