# The app: a mutable object that collects routes, middleware and hooks, and how it is printed.
# Not for serving it (serve.R) nor for what the engine is given (compile.R).
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
    placed = new.env(parent = emptyenv()), routes = list(), ws_routes = list(), cpp_routes = list(),
    cpp_stream_routes = list(), middleware = list(), static_mounts = list(), mounts = list(), on_error = NULL,
    not_found = NULL, on_start = list(), on_stop = list(),
    on_worker_start = list(), on_worker_stop = list(), policies = list(), further_routes = NULL, rest = NULL,
    usual = NULL,
    about = list(), list_responses = list_responses, port = NULL, serving = FALSE
  ), parent = emptyenv())
  class(app) <- "dr_app"
  app
}

count_of <- function(n, one, many = paste0(one, "s")) paste(n, if (n == 1L) one else many)

# Where the handler of a C route is: "C: tokens::score [inline]".
cpp_note <- function(route) {
  how <- if (!is.null(route$content_type)) " [stream]" else if (isTRUE(route$inline)) " [inline]" else ""
  paste0("C: ", encodeString(route$package), "::", encodeString(route$callable), how)
}

# The same of a WebSocket; "" when its handlers are in R.
socket_note <- function(route) if (is.null(route$package)) "" else cpp_note(route)

#' @export
format.dr_app <- function(x, ...) {
  routes <- c(app_routes(x), rest_routes(x))
  cpp <- c(app_cpp_routes(x, "cpp_routes"), app_cpp_routes(x, "cpp_stream_routes"))
  sockets <- app_sockets(x)
  statics <- app_statics(x)
  n <- length(routes) + length(cpp) + length(sockets)
  head <- sprintf(
    "<dr_app> %s, %s, %s", count_of(n, "route"), count_of(length(statics), "static mount"),
    if (x$serving && !is.null(server$url)) paste("serving on", server$url) else "not serving"
  )
  methods <- c(vapply(c(routes, cpp), `[[`, "", "method"), rep("WebSocket", length(sockets)))
  what <- c(methods, rep("static", length(statics)))
  where <- c(vapply(c(routes, cpp, sockets), `[[`, "", "path"), vapply(statics, `[[`, "", "mount"))
  behind <- lengths(lapply(routes, `[[`, "middleware"))
  notes <- c(
    ifelse(behind > 0L, paste0("[", behind, " middleware]"), ""),
    vapply(cpp, cpp_note, ""),
    vapply(sockets, socket_note, ""),
    vapply(statics, function(static) paste("from", encodeString(static$dir)), "")
  )
  rows <- trimws(paste0("  ", format(what), "  ", format(encodeString(where)), "  ", notes, recycle0 = TRUE), "right")
  hooks <- c(
    "error handler" = !is.null(x$on_error), "not-found handler" = !is.null(x$not_found),
    "start hooks" = length(x$on_start) > 0L, "stop hooks" = length(x$on_stop) > 0L,
    "policies" = length(app_policies(x)) > 0L,
    "worker hooks" = length(x$on_worker_start) + length(x$on_worker_stop) > 0L
  )
  c(head, rows, if (any(hooks)) paste0("  with ", paste(names(hooks)[hooks], collapse = ", ")))
}

#' @export
print.dr_app <- function(x, ...) {
  writeLines(format(x, ...))
  invisible(x)
}
