# An object that somebody wants served, as an app. Neighbours: servable.R, which tells what can be; rook-app.R,
# rook-rhttpd.R, rook-rserve.R and plumber-app.R, which make apps of others; load-app.R, which finds objects in files.

# The app of an object, or an error. What is served already is the same app again: then its hooks do not run again.
as_app <- function(x, arg = "app", call = sys.call(-1L)) {
  if (inherits(x, "dr_app")) return(x)
  for (one in server$apps) {
    if (!is.null(one$source) && identical(one$source, x)) return(one)
  }
  # its WebSockets are in it
  if (is_shiny(x)) return(app_from(shiny_app(x), x))
  app <- if (is_plumber(x)) {
    plumber_app(x)
  } else if (is_rhttpd(x)) {
    rhttpd_app(list(x))
  } else if (is_rserve_function(x)) {
    catch_all(rserve_handler(x))
  } else if (is_request_function(x)) {
    catch_all(rook_handler(list(call = x)))
  } else if (is_httpuv_app(x)) {
    catch_all(rook_handler(x))
  }
  if (is.null(app)) stop_argument(arg, servable, x, call, call_it(x))
  app_from(with_websockets(app, x), x)
}

app_from <- function(app, source) {
  app$source <- source
  app
}

#' Serve an app that was written for Shiny, httpuv, Rook or Rserve
#'
#' Makes an app of what other servers of R call, unchanged. [dr_serve()] and [dr_mount()] do so by themselves; with
#' `dr_rook()` further routes of this package can stand beside it.
#'
#' The request is what httpuv gives: an environment with `REQUEST_METHOD`, `PATH_INFO` and `QUERY_STRING` (both as they
#' were sent), `HTTP_*`, `HEADERS`, `rook.input` with `read()`, `read_lines()` and `rewind()`, and so on. `SCRIPT_NAME`
#' is the path where the app is mounted, which `PATH_INFO` leaves out. `SERVER_NAME` and `SERVER_PORT` are those of the
#' client's field `Host`. `REMOTE_USER` is the name of the authenticated user, if there is one, see [dr_auth_basic()].
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
#' `onHeaders` is called when the body has come: what is too large is refused before, see [dr_limits()]. Header fields
#' about the connection and the length of a body are the server's own.
#'
#' `onWSOpen(ws)` is called for a WebSocket at any path that has no other route for them, once `onHeaders` has let it
#' pass. `ws` has what httpuv's has: `ws$request`, the request as above; `ws$onMessage(function(binary, message))` and
#' `ws$onClose(function())`, which add a function each; `ws$send(message)`, a string or a raw vector; and
#' `ws$close(code = 1000L, reason = "")`. A message is a string, or a raw vector where `binary` is `TRUE`, or where the
#' text has a NUL in it. The connection belongs to the worker that took it: all its functions are
#' called there, and when that worker ends it is closed with code 1012, for its client to connect again. Requests of
#' the same browser go to that worker, too, by a cookie: see `affinity` of [dr_serve()]. An error closes
#' it with code 1011. A message may be as long as a body, `max_body` of [dr_limits()], up to 64 MB; other limits, and
#' origins, are those of [dr_ws()] without arguments.
#'
#' @param app One of: a function of one argument, the request; a list, environment or object with such a function as
#'   `call`, and maybe `onHeaders` (called before; what it answers, if that is not `NULL`, is the answer), `onWSOpen`
#'   (which needs no `call` beside it), `staticPaths` and `staticPathOptions` as for httpuv; a function of `url`,
#'   `query`, `body` and `headers`, as Rserve calls `.http.request`; a router of the package 'plumber'; an `Rhttpd` of
#'   the package 'Rook'; an app of the package 'shiny', as `shinyApp()` makes it; an app of this package, which is
#'   returned as it is.
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
