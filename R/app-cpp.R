# Registering handlers that are functions in C or C++ of other packages. Not for calling them: that is the engine's, or
# the worker processes'. Neighbours: app-routes.R (handlers in R), app-compile.R, worker-natives.R (which gives the
# engine the functions' addresses).

cpp_interfaces <- c("drover", "drogonR")

# The one way into app$cpp_routes and app$cpp_stream_routes; `field` is one of these. What is registered is names:
# addresses are of no use to other processes.
# `interface`: one of cpp_interfaces, or NULL for that by which the function was registered; what `more(interface)`
# gives are further fields of the route.
add_cpp_route <- function(app, field, method, path, package, callable, timeout, interface, more, types, call) {
  check_app(app, call = call)
  parsed <- parse_path(path, call)
  timeout <- route_timeout(timeout, call)
  interface <- interface_of(package, callable, interface, call)
  more <- more(interface)
  route <- list(
    method = method, path = path, param_names = parsed$names, package = package, callable = callable
  )
  check_links(types$early_hints, "early_hints", null = TRUE, call = call)
  put_route(app, field, c(
    route, more, timeout = timeout, early_hints = route_hints(types$early_hints), route_types(types, parsed$names, call)
  ), call)
}

# The interface of a function that is there; see add_cpp_route(), and resolve_callable() for `tag`.
interface_of <- function(package, callable, interface, call, tag = native_tag) {
  check_name(package, "package", call)
  check_name(callable, "callable", call)
  if (resolve_callable(package, callable, interface, call, tag)$tagged) "drover" else interface %||% "drogonR"
}

check_interface <- function(interface, call) {
  if (is.null(interface) || (is_string(interface) && interface %in% cpp_interfaces)) return(invisible())
  stop_argument("interface", "NULL, \"drover\" or \"drogonR\"", interface, call)
}

# What `...` takes: the arguments of dr_get() that say what a route is like, by name.
cpp_types <- function(..., call, fun = sys.function(-1L)) {
  check_names(call, fun)
  given <- list(...)
  known <- setdiff(names(route_defaults), c("timeout", "on_client_gone", "max_body", "batch", "pool"))
  if (length(given) && (is.null(names(given)) || !all(nzchar(names(given))))) {
    problem <- "`...` takes arguments by name; it holds one without"
    stop_drover("argument", problem, call = call, argument = "...")
  }
  unknown <- setdiff(names(given), known)
  if (length(unknown)) stop_name(unknown[[1L]], c(known, setdiff(names(formals(fun)), "...")), call)
  # `NULL` is a value
  route_defaults[names(given)] <- given
  route_defaults
}

add_cpp_unary <- function(app, method, path, package, callable, interface, inline, data, timeout, types, call) {
  check_interface(interface, call)
  check_flag(inline, "inline", call)
  add_cpp_route(app, "cpp_routes", method, path, package, callable, timeout, interface, function(interface) {
    check_native_data(data, interface, call)
    # what is NULL has to stay in the list
    list(interface = interface, inline = inline, data = data)
  }, types, call)
}

add_cpp_stream <- function(app, method, path, package, callable, content_type, timeout, types, call) {
  check_string(content_type, "content_type", call = call)
  # RFC 9110, section 5.5: what a field value may hold
  if (!nzchar(content_type) || grepl("[^\\x20-\\x7e\\x80-\\xff]", content_type, perl = TRUE, useBytes = TRUE)) {
    stop_argument("content_type", "a media type such as \"text/event-stream\"", content_type, call)
  }
  add_cpp_route(app, "cpp_stream_routes", method, path, package, callable, timeout, "drogonR", function(interface) {
    list(content_type = enc2utf8(content_type))
  }, types, call)
}

check_name <- function(x, arg, call) {
  check_string(x, arg, call = call)
  if (!nzchar(x)) stop_argument(arg, "a name", x, call)
}

check_native_data <- function(data, interface, call) {
  if (is.null(data)) return(invisible())
  if (interface != "drover") {
    stop_drover("argument", paste(
      "`data` must be NULL: a handler of drogonR's interface has no argument for it. One of drover's is registered by",
      "DROVER_REGISTER() in C, or `interface` must be \"drover\""
    ), call = call, argument = "data")
  }
  if (!is.function(data) && !is_native_data(data)) stop_argument("data", native_data_kinds, data, call)
  if (is.function(data) && length(Filter(needs_value, formals(args(data))))) {
    stop_argument("data", "a function that can be called without arguments", data, call)
  }
  if (is_pointer(data) && !.Call(C_pointer_is_live, data)) {
    stop_drover("argument", paste(
      "`data` points to nothing: external pointers do not survive being saved. Give a function that makes it"
    ), call = call, argument = "data")
  }
}

native_data_kinds <- "NULL, an external pointer, a raw vector, a single string, or a function that returns one of these"

# Of a formal argument: whether it has no default.
needs_value <- function(default) is.symbol(default) && !nzchar(default)

#' Register a handler written in C or C++
#'
#' Registers a function of another package's compiled code for requests with a method and a path. Requests go to it
#' without touching R: they are neither delayed by what R does, nor do they delay it.
#'
#' The function is found by the name under which its package registers it in C, in its `R_init_package()`. It is looked
#' up when the route is registered, and again in each process that runs it. `LinkingTo: drover` in the package's
#' `DESCRIPTION` gives it the header `drover.h`, which declares both interfaces:
#'
#' * `"drover"`: `int handler(drover_request *, const drover_api *, void *data)`, registered with
#'   `DROVER_REGISTER("package", "callable", handler)`. What a request has is read without copies; answers are whole or
#'   piece by piece, at once or later, from any thread.
#' * `"drogonR"`: `drogonr_unary_handler_t`, and `drogonr_stream_handler_t` for `dr_get_cpp_stream()` and
#'   `dr_post_cpp_stream()`, registered with `R_RegisterCCallable("package", "callable", ...)`. Handlers written for the
#'   package drogonR need no change: there is a header `drogonR.h`, too.
#'
#' @section Where handlers run: In the process that runs the R handlers of the app: in this session, or in worker
#' processes. There on one of `cpp_workers` threads (see [dr_serve()]), where they may block; or, with `inline = TRUE`,
#' on the thread that has received the request. An inline handler must return at once, within microseconds: while it
#' runs, all that this thread has to do waits. Several threads may be in a handler at the same time, and none of them
#' may call R.
#'
#' @section What applies: Limits, deadlines and logs apply as to other routes. Middleware and [dr_on_error()] do not:
#' they are R. Errors of a handler are answered with 500. A handler that crashes takes its process with it: in a worker
#' process it costs the requests that this process had begun, and another takes its place; in this session, the session.
#'
#' @section Which route answers: Routes in R go before these, however late they are registered, and `dr_get_cpp()` and
#' its like before `dr_get_cpp_stream()` and `dr_post_cpp_stream()`; among each kind the one registered first answers.
#' Static mounts come last. This holds for an app with all that is mounted in it.
#'
#' @param app An app, see [dr_app()].
#' @param path The path: a single string, with placeholders as in [dr_get()].
#' @param package The name of an installed package: a single string.
#' @param callable The name that the function is registered by: a single string.
#' @param ... Types, and what is told of the route, by name: `params`, `body`, `response`, `summary`, `early_hints` and
#'   others, as in [dr_get()]. Params and bodies are checked before the handler is called.
#' @param interface Which of the two interfaces the function has: `NULL` for that by which it was registered, otherwise
#'   `"drover"` or `"drogonR"`. A function of drover's interface that was registered with `R_RegisterCCallable()` needs
#'   `"drover"`: called by the other one, it crashes.
#' @param inline `TRUE` for a handler that never blocks, to be run by the thread that has received the request.
#' @param data For `interface = "drover"`: what the handler gets as its last argument. `NULL` for nothing; an external
#'   pointer, for its address; a raw vector or a single string, for the address of a `drover_bytes` that holds their
#'   bytes; or a function without arguments that returns one of these. The function is called in each process that runs
#'   the handler, after [dr_on_worker_start()] hooks, and once when several routes have the same: it is the place to
#'   load a model, and the one way to have an external pointer in worker processes that are not forks of this session.
#' @param content_type The media type of a stream: a single string. The handler may set another.
#' @param timeout Longest time from the arrival of a request to its answer, in seconds: a single number >= 0, or `NULL`
#'   for the one that [dr_serve()] was given. When it is over the client gets 504, and the handler is told that its
#'   request is cancelled. Of an answer in pieces, it is the time until it begins.
#' @returns `app`, invisibly; it is changed in place. Registering the same method and path again, also by [dr_get()] and
#'   its like, replaces the handler, with a warning of class `drover_warning_overwrite`.
#' @section Errors: `drover_error_argument` when an argument is not as described, the package is not installed or cannot
#'   be loaded, or it has registered no function of that name, or one of the other interface.
#' @seealso [dr_get()] for handlers in R; `system.file("examples", "c-handlers", package = "drover")` has a package with
#'   handlers, and an app that uses it.
#' @examples
#' app <- dr_app()
#'
#' # inst/examples/c-handlers has this package, and is run by `Rscript app.R`
#' if (nzchar(system.file(package = "tokens"))) {
#'   dr_get_cpp(app, "/health", "tokens", "tokens_health", inline = TRUE)
#'   dr_get_cpp_stream(app, "/count/:to", "tokens", "tokens_count")
#' }
#'
#' # what is wrong is known when a route is registered
#' tryCatch(
#'   dr_get_cpp(app, "/fast", "stats", "no_such_function"),
#'   drover_error_argument = function(e) cat(conditionMessage(e), "\n")
#' )
#' @name cpp_routes
NULL

#' @rdname cpp_routes
#' @export
dr_get_cpp <- function(app, path, package, callable, ..., interface = NULL, inline = FALSE,
                       data = NULL, timeout = NULL) {
  types <- cpp_types(..., call = sys.call())
  add_cpp_unary(app, "GET", path, package, callable, interface, inline, data, timeout, types, sys.call())
}

#' @rdname cpp_routes
#' @export
dr_post_cpp <- function(app, path, package, callable, ..., interface = NULL, inline = FALSE,
                        data = NULL, timeout = NULL) {
  types <- cpp_types(..., call = sys.call())
  add_cpp_unary(app, "POST", path, package, callable, interface, inline, data, timeout, types, sys.call())
}

#' @rdname cpp_routes
#' @export
dr_put_cpp <- function(app, path, package, callable, ..., interface = NULL, inline = FALSE,
                       data = NULL, timeout = NULL) {
  types <- cpp_types(..., call = sys.call())
  add_cpp_unary(app, "PUT", path, package, callable, interface, inline, data, timeout, types, sys.call())
}

#' @rdname cpp_routes
#' @export
dr_delete_cpp <- function(app, path, package, callable, ..., interface = NULL, inline = FALSE,
                          data = NULL, timeout = NULL) {
  types <- cpp_types(..., call = sys.call())
  add_cpp_unary(app, "DELETE", path, package, callable, interface, inline, data, timeout, types, sys.call())
}

#' @rdname cpp_routes
#' @export
dr_patch_cpp <- function(app, path, package, callable, ..., interface = NULL, inline = FALSE,
                         data = NULL, timeout = NULL) {
  types <- cpp_types(..., call = sys.call())
  add_cpp_unary(app, "PATCH", path, package, callable, interface, inline, data, timeout, types, sys.call())
}

#' @rdname cpp_routes
#' @export
dr_get_cpp_stream <- function(app, path, package, callable, content_type = "text/event-stream", ..., timeout = NULL) {
  types <- cpp_types(..., call = sys.call())
  add_cpp_stream(app, "GET", path, package, callable, content_type, timeout, types, sys.call())
}

#' @rdname cpp_routes
#' @export
dr_post_cpp_stream <- function(app, path, package, callable, content_type = "text/event-stream", ..., timeout = NULL) {
  types <- cpp_types(..., call = sys.call())
  add_cpp_stream(app, "POST", path, package, callable, content_type, timeout, types, sys.call())
}
