# The app: a mutable object that collects routes, middleware and hooks.
# Not for serving it (serve.R) nor for what the engine is given (app-compile.R), nor how it is printed (app-print.R).
# Neighbours: app-routes.R, app-cpp.R, app-mount.R, app-middleware.R, app-hooks.R, app-static.R, which register into it.

#' Make an app
#'
#' An app collects routes, middleware, static mounts and hooks; [dr_serve()] puts it on the network. It is an
#' environment: the functions that register something change it in place and return it invisibly, so that calls can
#' be chained with the pipe, or written one below the other.
#'
#' Printing an app shows its route table.
#'
#' @param list_responses `TRUE` to take a plain list whose names are all among `status`, `body` and `headers`, with at
#'   least one of the first two, as a response when a handler, a middleware or an error handler of this app returns it.
#'   For programs written for drogonR. Do not return what clients send then: a client could set the status and the
#'   headers of the answer. `FALSE`: lists are data, and are sent as JSON.
#' @returns An app: an environment of class `dr_app`. Its fields are for reading: `routes` (a named list; names like
#'   `"GET /x"`; each element a list with `method`, `path`, `param_names`, `handler`, and of what [dr_get()] was given
#'   `params`, `body`, `response` and `about`), `cpp_routes` and
#'   `cpp_stream_routes` (likewise, with `package` and `callable` instead of `handler`, see [dr_get_cpp()]), `ws_routes`
#'   (a named list; the names are paths, see [dr_ws()]), `middleware` (a list of functions), `static_mounts` (a list of
#'   lists with `mount` and `dir`), `mounts` (a list of lists with `prefix` and `app`), `on_error` and `not_found` (a
#'   function or `NULL`), `on_start`, `on_stop`, `on_worker_start` and `on_worker_stop` (lists of functions), `policies`
#'   (a list of lists with `routes` and `rule`), `about` (a list, see [dr_about()]), `list_responses`, `port` (the port
#'   of the last [dr_serve()], or `NULL`) and `serving` (`TRUE` while it is served).
#' @seealso [dr_get()], [dr_use()], [dr_static()], [dr_mount()], [dr_serve()]
#' @examples
#' app <- dr_app()
#' dr_get(app, "/hello/:name", function(req) paste0("Hello, ", dr_param(req, "name"), "!"))
#' app
#' @section Errors: `drover_error_argument` when `list_responses` is not `TRUE` or `FALSE`.
#' @export
dr_app <- function(list_responses = FALSE) {
  check_flag(list_responses, "list_responses")
  app <- list2env(list(
    # for reading, see above; `placed` has the list that each is in, `growing` those that are being put together
    placed = new.env(parent = emptyenv()), growing = new.env(parent = emptyenv()),
    routes = list(), cpp_routes = list(), cpp_stream_routes = list(), ws_routes = list(), middleware = list(),
    static_mounts = list(), mounts = list(), on_error = NULL, not_found = NULL,
    on_start = list(), on_stop = list(), on_worker_start = list(), on_worker_stop = list(), policies = list(),
    about = list(), list_responses = list_responses, port = NULL, serving = FALSE,
    # of apps that were not written for this package: what they are made of, and what else answers, see app-compile.R
    source = NULL, further_routes = NULL, further_statics = NULL, rest = NULL, rest_websocket = NULL,
    leave_websockets = NULL, usual = NULL,
    # of routers of plumber: what run() was given, and whether their own page of documentation is there
    run = NULL, has_docs = FALSE,
    # of a plumber.R that is read without that package, see annotation-app.R
    annotated = NULL, annotated_endpoints = NULL, annotated_globals = NULL
  ), parent = emptyenv())
  class(app) <- "dr_app"
  app
}

check_app <- function(app, arg = "app", call = sys.call(-1L)) {
  if (inherits(app, "dr_app")) return(invisible())
  # of what is no function, which might be anything
  is_other <- !is.function(app) && is_servable(app)
  right <- if (is_other) "a dr_app object: dr_rook() makes one of it" else "a dr_app object (see dr_app())"
  stop_argument(arg, right, app, call, call_it(app))
}

# Registrars call this, which take names of arguments as they are written.
check_registrar <- function(app, call = sys.call(-1L), fun = if (missing(call)) sys.function(-1L)) {
  if (!is.null(fun)) check_names(call, fun)
  check_app(app, call = call)
}
