# Apps written for httpuv or Rook, served as they are: one route for all paths and methods. Neighbours: rook-request.R
# and rook-response.R, what such an app is given and answers; rook-static.R, its folders; rook-rhttpd.R, several apps of
# Rook; rserve-app.R; plumber-app.R; as-app.R, which tells what an object is.

#' Serve an app that was written for httpuv, Rook or Rserve
#'
#' Makes an app of what other servers of R call, unchanged. [dr_serve()] and [dr_mount()] do so by themselves; with
#' `dr_rook()` further routes of this package can stand beside it.
#'
#' The request is what httpuv gives: an environment with `REQUEST_METHOD`, `PATH_INFO` and `QUERY_STRING` (both as they
#' were sent), `HTTP_*`, `HEADERS`, `rook.input` with `read()`, `read_lines()` and `rewind()`, and so on. `SCRIPT_NAME`
#' is the path where the app is mounted, which `PATH_INFO` leaves out. `SERVER_NAME` and `SERVER_PORT` are what the
#' client has asked for, by its field `Host`. `REMOTE_USER` is who asks, where that is known, see [dr_auth_basic()].
#'
#' Apps that are put together from the parts of the package Rook (`Builder`, `URLMap`, `App`, `Brewery`, `File`,
#' `Static`, `Request`, `Response`) run as they are. An `Rhttpd` of Rook answers as its apps do, each below
#' `/custom/NAME`. While Rook is loaded, `QUERY_STRING` has no question mark, and a body of several strings is one, both
#' as in Rook's own server.
#'
#' The answer is `list(status = , headers = , body = )`, or a promise of one. Header fields may come several times, and
#' be numbers. The body is a string, a raw vector, `NULL` for none, or `c(file = path)`, which the engine reads. What
#' handlers of this package answer, see [dr_response()], may be answered as well. Answers of a function of `url`,
#' `query`, `body` and `headers` are those of Rserve: `list(payload, content_type, header_lines, status)`.
#'
#' An error is answered with 500 and without its message, which is in the log: httpuv and Rserve would send it.
#' `onHeaders` is called when the body has come: what is too large is refused before, see [dr_limits()]. `onWSOpen` is
#' not called yet. Header fields about the connection and the length of a body are the server's own.
#'
#' @param app One of: a function of one argument, the request; a list, environment or object with such a function as
#'   `call`, and maybe `onHeaders` (called before; what it answers, if that is not `NULL`, is the answer), `staticPaths`
#'   and `staticPathOptions` as for httpuv; a function of `url`, `query`, `body` and `headers`, as Rserve calls
#'   `.http.request`; a router of the package 'plumber'; an `Rhttpd` of the package 'Rook'; an app of this
#'   package, which is returned as it is.
#' @returns An app, see [dr_app()]: add routes, C handlers, static folders, middleware and hooks to it as to any other.
#'   What is added so goes before what `app` answers.
#' @section Errors: `drover_error_argument` when `app` is none of these.
#' @seealso [dr_mount()], to put it below a path of another app.
#' @examples
#' hello <- dr_rook(function(req) {
#'   list(status = 200L, headers = list("Content-Type" = "text/plain"), body = paste("You sent", req$REQUEST_METHOD))
#' })
#' hello
#'
#' app <- dr_mount(dr_app(), "/old", list(call = function(req) {
#'   list(status = 200L, headers = list("Content-Type" = "text/plain"), body = req$PATH_INFO)
#' }))
#' @export
dr_rook <- function(app) as_app(app)

# One handler for whatever comes, unless the app is given other routes and static mounts.
catch_all <- function(handler) {
  app <- dr_app()
  app$rest <- handler
  # none of the servers that such apps are for ends a handler because its client has gone
  app$usual <- function() list(on_client_gone = "finish")
  app
}

# `app` has `call`, and maybe `onHeaders` and `staticPaths`. Its functions are looked up for each request, as by httpuv:
# an object may change them. `adapt`: what else is done to the environment of a request, with that and the depth.
rook_handler <- function(app, adapt = NULL) {
  force(app)
  force(adapt)
  constants <- rook_constants()
  static <- rook_static(app)
  for_rook <- is_for_rook(app)
  has_head <- !is.null(member(app, "onHeaders"))
  of_plumber <- is_plumber(app)
  function(req, depth = mount_depth(req$route)) {
    env <- rook_request(req, depth, constants)
    if (for_rook) env$QUERY_STRING <- sub("^[?]", "", env$QUERY_STRING)
    if (!is.null(adapt)) adapt(env, req, depth)
    if (length(static)) {
      answer <- static_answer(static, env)
      if (!is.null(answer)) return(answer)
    }
    # onHeaders() of a router only looks at `maxRequestSize`
    if (has_head && !(of_plumber && isTRUE(engine$max_body_given))) {
      answer <- app$onHeaders(env)
      if (length(answer)) return(rook_response(answer))
    }
    body <- req$raw
    if (length(body)) {
      guard_body(req, body, strict = of_plumber && is_json_to_plumber(req$headers[["content-type"]], body))
      env$rook.input <- rook_input(body)
    }
    value <- app$call(env)
    if (for_rook) value <- one_string(value)
    answered <- if (of_plumber) function(value) plumber_response(value, env) else rook_response
    if (is_promise(value)) value$then(answered) else answered(value)
  }
}

# See pass_aborts().
plumber_response <- function(value, env) {
  if (is.null(env$drover_abort)) rook_response(value) else stop(env$drover_abort)
}

# Whether an app is put together from the parts of the package Rook: these read requests, and write answers, as Rook's
# own server has them, where that is not as httpuv has them.
is_for_rook <- function(app) {
  if (is_plumber(app)) return(FALSE)
  call <- member(app, "call")
  isNamespaceLoaded("Rook") || (is.function(call) && "Rook" %in% all.names(body(call)))
}

# An answer whose body is several strings, as one.
one_string <- function(value) {
  body <- if (is.list(value)) value[["body"]]
  if (is.character(body) && length(body) > 1L && is.null(names(body))) value$body <- paste(body, collapse = "")
  value
}

# How many segments stand before the app's own, by the pattern of the route: "/api/*path" has one, "/" none.
mount_depth <- function(route) {
  depth <- depths[[route]]
  if (is.null(depth)) {
    own <- sub("/(\\*path)?$", "", route)
    depth <- lengths(gregexpr("/", own, fixed = TRUE))
    if (!grepl("/", own, fixed = TRUE)) depth <- 0L
    depths[[route]] <- depth
  }
  depth
}

# By pattern. There are as many as there are routes.
depths <- new.env(parent = emptyenv())
