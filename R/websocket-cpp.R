# Registering a handler of WebSockets that is a function in C or C++ of another package. Neighbours: websocket-routes.R
# (those in R, and what both have in common), app-cpp.R, worker-natives.R.

#' Serve WebSockets by a handler in C or C++
#'
#' Registers a function of another package's compiled code for what happens on the WebSockets of a path. R is not asked:
#' neither for a client that connects, nor for a message.
#'
#' The function has one of two interfaces, which the header `drover.h` declares:
#'
#' * `"drover"`: `int handler(drover_socket *, const drover_socket_event *, const drover_api *, void *data)`, registered
#'   with `DROVER_REGISTER_SOCKET("package", "callable", handler)`. It sees the request that a connection begins with,
#'   may refuse it, and has rooms.
#' * `"drogonR"`: `drogonr_ws_handler_t`, registered with `R_RegisterCCallable("package", "callable", ...)`. Handlers
#'   written for the package drogonR need no change.
#'
#' @section Where handlers run: With `dr_serve(workers = 1)` in this session, on the thread that has the connection; in
#'   worker processes on the thread of their C handlers. A handler must return at once, within microseconds, and must
#'   not call R: leave what takes time to a thread of its own, which may send at any time, also after the handler has
#'   returned and after the connection was closed. All that happens on one connection comes in order, one at a time.
#'
#' @section Connections and workers: What a handler knows of a connection is in the memory of its process: so a
#'   connection belongs to the worker process that took it, and all that happens on it goes there. When that process
#'   ends, because it died, was replaced or the app was reloaded, its connections are closed with code 1012 ("service
#'   restart"), for clients to connect again; its handler does not hear of that. In this session, a reload keeps them.
#'   Rooms are the server's, as those of [dr_ws_join()] are: handlers in R and in C send to the same ones.
#'
#' @section What applies: Limits, pings and origins as for [dr_ws()]. Middleware does not: it is R. Between the process
#'   that has the sockets and workers go copies of messages: with one worker there are none, and it is the fastest way.
#'
#' @inheritParams dr_ws
#' @inheritParams cpp_routes
#' @param max_conns Most connections that may be open: a single integer, 0 for no limit of this route. One too many is
#'   closed at once, with code 1013, and its handler does not hear of it.
#' @param ... Must be empty: what follows is given by name.
#' @param data For `interface = "drover"`: what the handler gets as its last argument, see [dr_get_cpp()].
#' @param timeout Longest time that a handler in a worker process may take, in seconds: a single number, or `NULL` for
#'   that of [dr_serve()]. When it is over, the connection is closed with code 1011.
#' @inheritSection cpp_routes Errors
#' @returns `app`, invisibly; it is changed in place. Registering the same path again, also by [dr_ws()], replaces the
#'   handler, with a warning of class `drover_warning_overwrite`.
#' @seealso [dr_ws()] for handlers in R; `system.file("examples", "c-handlers", package = "drover")`.
#' @examples
#' app <- dr_app()
#'
#' # inst/examples/c-handlers has this package, and is run by `Rscript app.R`
#' if (nzchar(system.file(package = "tokens"))) {
#'   dr_ws_cpp(app, "/feed", "tokens", "tokens_feed", max_conns = 1000)
#' }
#'
#' # what is wrong is known when a route is registered
#' tryCatch(
#'   dr_ws_cpp(app, "/feed", "stats", "no_such_function"),
#'   drover_error_argument = function(e) cat(conditionMessage(e), "\n")
#' )
#' @export
dr_ws_cpp <- function(app, path, package, callable, max_conns = 0, idle_timeout = 0, max_lifetime = 0, ...,
                      interface = NULL, data = NULL, protocols = character(), origins = NULL, deflate = FALSE,
                      max_message = "1MB", ping_interval = 20, timeout = NULL) {
  check_registrar(app)
  check_dots_empty(..., call = sys.call())
  check_interface(interface, sys.call())
  settings <- websocket_settings(
    path, protocols, origins, deflate, max_message, max_conns, idle_timeout, max_lifetime, ping_interval, sys.call()
  )
  interface <- interface_of(package, callable, interface, sys.call(), websocket_tag)
  check_native_data(data, interface, sys.call())
  # what is NULL has to stay in the list
  handler <- list(package = package, callable = callable, interface = interface, data = data)
  put_socket(app, c(settings, handler, timeout = route_timeout(timeout, sys.call())), sys.call())
}
