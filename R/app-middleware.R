# Middleware, the handler of errors and the one of unmatched requests. Not for putting them around handlers:
# app-compile.R, app-compose.R.

#' Run code around handlers
#'
#' A middleware is called with the request and a function `nxt`. Calling `nxt()` runs the next middleware, and in the
#' end the handler, and gives their response; what the middleware returns is the response from there on. A middleware
#' that returns without calling `nxt()` answers by itself.
#'
#' Middleware runs in the order of registration, the first outermost, around all routes of the app, including those
#' registered before it and those of mounted apps, and around the [dr_not_found()] handler. It does not run for handlers
#' in C ([dr_get_cpp()]), for static files, and for requests that the engine answers by itself (no such route, wrong
#' method, malformed, too large, too many).
#'
#' `nxt()` returns the response in one form, regardless of what the inner handler returned: a list of class
#' `dr_response` with `status` (integer), `body` (a string, a raw vector or `NULL`; that of [dr_file()] is read on
#' access) and `headers` (named list). [dr_set_header()] and [dr_set_cookie()] change it. When a handler returns a
#' promise, `nxt()` returns a promise, which is never rejected: return it, or the result of `promises::then()` on it.
#' Code that must also run when a handler is interrupted, because its time is over or its client has gone, belongs in
#' [on.exit()].
#'
#' Errors of inner handlers, including those of [dr_abort()], are signalled to the middleware around:
#' `tryCatch(nxt(), error = )`, `try()` and `withCallingHandlers()` work as around any other call; an error that
#' `tryCatch()` catches goes no further. An error that no middleware catches reaches all of them as a response, that of
#' [dr_on_error()] or the standard one, so that header fields that a middleware adds are on error responses as well; the
#' attribute `condition` of such a response is the error. The reason of a rejected promise, and an error while a step of
#' a promise calls `nxt()`, are always such responses.
#'
#' Fields may be assigned to the request (`req$user <- "ada"`); everything further in sees them.
#'
#' An app without middleware pays nothing for it: its handlers are called by the engine directly.
#'
#' @param app An app, see [dr_app()].
#' @param middleware A function of two arguments, the request and `nxt`.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @examples
#' app <- dr_app()
#' dr_use(app, function(req, nxt) {
#'   if (is.null(dr_header(req, "authorization"))) dr_abort(401)
#'   dr_set_header(nxt(), "X-Served-By", "R")
#' })
#' dr_get(app, "/", function(req) "Hello")
#' @export
dr_use <- function(app, middleware) {
  check_registrar(app)
  check_takes(middleware, "middleware", 2L, "two arguments, the request and `nxt`")
  check_order(middleware, "middleware", c("req", "nxt"))
  app$middleware[[length(app$middleware) + 1L]] <- middleware
  invisible(app)
}

#' Answer errors of handlers
#'
#' The function is called when a handler or a middleware signals an error, [dr_abort()] included, and what it returns is
#' the response, just as if the handler had returned it: middleware further out sees it. It replaces an earlier one.
#' When it fails itself, both errors are logged and the standard answer is sent.
#'
#' A bare string is sent with status 200, as from a handler: give the status, as in the example. An error that
#' [dr_abort()] signalled carries its own in `err$status`.
#'
#' A body that cannot be read, such as malformed JSON, is an error of class `drover_error_body` and, with its status in
#' `err$status`, of `drover_error_http`. Errors of C handlers do not come here.
#'
#' @section Errors of the engine: The engine answers 401, 403, 404, 405, 413, 429, 502, 503 and 504 without waiting for
#'   R: it calls the function of the app that is served (not of one mounted in it) once for each of them, when the app
#'   is loaded or reloaded and its start hooks have run, and keeps the bodies and header fields that the function
#'   returns. The function cannot change the status. Errors of this kind are of class `drover_error_engine` as well as
#'   `drover_error_http`; a function that reports errors elsewhere should leave these out. As there is no client yet,
#'   `req$headers$accept` is all that can be read of the request: `"application/json"`, and if the function reads it, it
#'   is called again for all other clients, with `"text/html"`. If the function fails, reads another field or returns a
#'   promise, the engine sends the standard answer and logs this.
#'
#' @section Routers of plumber: Errors in their endpoints are plumber's to answer, by `pr_set_error()`. Given a router,
#'   in a function with `#* @plumber` for example, `dr_on_error()` gives those of the engine the form of the others.
#'
#' @param app An app, see [dr_app()], or a router of the package 'plumber'.
#' @param fn A function of two arguments, the request and the error (a condition), or `NULL` to go back to the standard
#'   answers.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @examples
#' app <- dr_app()
#' dr_on_error(app, function(req, err) {
#'   status <- if (inherits(err, "drover_error_http")) err$status else 500L
#'   dr_json(list(error = if (status < 500L) conditionMessage(err) else "something broke"), status = status)
#' })
#' @export
dr_on_error <- function(app, fn) {
  is_router <- is_plumber(app)
  if (!is_router) check_registrar(app)
  if (!is.null(fn) && !is.function(fn)) stop_argument("fn", "NULL or a function(req, err)", fn, sys.call())
  check_takes(fn, "fn", 2L, "two arguments, the request and the error", null = TRUE)
  check_order(fn, "fn", c("req", "err"))
  # plumber_app() finds it there
  if (is_router) attr(app, "drover_on_error") <- fn else app$on_error <- fn
  invisible(app)
}

#' Answer requests that match no route
#'
#' The handler is called, inside the app's middleware, for requests whose path is that of no route and not below a
#' static mount. It replaces an earlier one. Without one the engine answers 404 by itself, and R is not involved.
#'
#' What it returns is sent as from any handler, but a bare value (a string, a list, ...) has status 404; a response
#' ([dr_text()], [dr_file()], ...) is sent with the status that it has.
#'
#' A path that is known with other methods only is not unmatched: it is answered with 405. A file that is missing below
#' a static mount is answered with 404 by the engine.
#'
#' @param app An app, see [dr_app()]. The one given to [dr_serve()] counts; handlers of mounted apps are not used.
#' @param handler A function of one argument, the request, or of none, or `NULL` to go back to the standard answer.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @examples
#' app <- dr_app()
#' dr_not_found(app, function(req) paste("There is nothing at", req$path))
#' @export
dr_not_found <- function(app, handler) {
  check_registrar(app)
  check_handler(handler, null = TRUE)
  app$not_found <- handler
  invisible(app)
}
