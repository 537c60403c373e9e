# C handlers as the engine takes them: addresses, and what is behind `data`, in the process that runs them. Neighbours:
# app-cpp.R (registering), app-compile.R (the list of handlers), and serve-session.R and worker-process.R, which call
# this.

# What DROVER_REGISTER() and DROVER_REGISTER_SOCKET() of drover.h put before the names of handlers of drover's
# interface.
native_tag <- "drover_handler_t:"
websocket_tag <- "drover_socket_handler_t:"

# The function that `package` registers as `callable`: list(pointer (external), tagged (whether it is known to be of
# drover's interface)); otherwise an error that says what to do. With `interface = "drogonR"` only what has no tag.
# `tag`: of handlers of requests, or of WebSockets.
resolve_callable <- function(package, callable, interface, call, tag = native_tag) {
  refuse <- function(argument, ...) stop_drover("argument", paste0(...), call = call, argument = argument)
  if (!isNamespaceLoaded(package)) {
    if (!nzchar(system.file(package = package))) refuse("package", "package '", package, "' is not installed")
    tryCatch(loadNamespace(package), error = function(error) {
      refuse("package", "package '", package, "' cannot be loaded: ", conditionMessage(error))
    })
  }
  tagged <- .Call(C_natives_resolve, package, paste0(tag, callable))
  plain <- .Call(C_natives_resolve, package, callable)
  macro <- if (tag == websocket_tag) "DROVER_REGISTER_SOCKET" else "DROVER_REGISTER"
  if (!is.character(tagged) && !identical(interface, "drogonR")) return(list(pointer = tagged, tagged = TRUE))
  if (!is.character(tagged) && is.character(plain)) {
    refuse(
      "callable", package, " registers ", callable, " by ", macro, "(), as a handler of drover's interface: ",
      if (tag == websocket_tag) {
        "it is not one of drogonR's"
      } else {
        "it is for dr_get_cpp() and its like, not as drogonR's and not as a stream of drogonR's"
      }
    )
  }
  other <- setdiff(c(native_tag, websocket_tag), tag)
  if (is.character(plain) && !is.character(.Call(C_natives_resolve, package, paste0(other, callable)))) {
    refuse(
      "callable", package, " registers ", callable, " as a handler of ",
      if (tag == websocket_tag) "requests, for dr_get_cpp() and its like" else "WebSockets, for dr_ws_cpp()"
    )
  }
  if (is.character(plain)) {
    name <- encodeString(c(package, callable), quote = "\"")
    refuse(
      "callable", "R_GetCCallable(", name[[1L]], ", ", name[[2L]], ") failed: ", plain, "; the package must call ",
      macro, "(", name[[1L]], ", ", name[[2L]], ", ...) in its R_init_", gsub(".", "_", package, fixed = TRUE),
      "(), or R_RegisterCCallable() for a handler of drogonR's interface"
    )
  }
  list(pointer = plain, tagged = FALSE)
}

# The C handlers of a compiled app, see compile_app(), for the engine of this process, in their order: lists of pointer
# (external), interface, data (NULL, an external pointer or a raw vector), content_type ("" for none), params and route.
# Whoever calls this keeps the list for as long as a handler may run: it is what keeps `data` alive. Errors name the
# route.
natives_for_engine <- function(compiled) {
  made <- list()
  value_of <- function(make, route) {
    for (one in made) if (identical(one$make, make)) return(one$value)
    value <- made_data(make, route)
    made[[length(made) + 1L]] <<- list(make = make, value = value)
    value
  }
  lapply(compiled$natives, function(native) {
    interface <- if (native$interface %in% c("drover", "socket")) "drover" else "drogonR"
    tag <- if (native$interface %in% c("ws", "socket")) websocket_tag else native_tag
    found <- tryCatch(resolve_callable(native$package, native$callable, interface, NULL, tag), error = function(error) {
      stop_native("argument", native$route, conditionMessage(error))
    })
    data <- native$data
    if (is.function(data)) data <- value_of(data, native$route)
    if (is_pointer(data) && !.Call(C_pointer_is_live, data)) {
      stop_native("argument", native$route, "`data` points to nothing")
    }
    list(
      pointer = found$pointer, interface = native$interface,
      data = if (is_string(data)) charToRaw(enc2utf8(data)) else data,
      content_type = native$content_type %||% "", params = native$params,
      route = native$route
    )
  })
}

made_data <- function(make, route) {
  value <- tryCatch(make(), error = function(error) {
    stop_native("hook", route, paste("`data` failed:", conditionMessage(error)), parent = error)
  })
  if (!is_native_data(value)) {
    stop_native("argument", route, paste0(
      "`data` must return NULL, an external pointer, a raw vector or a single string, not ", describe(value)
    ))
  }
  value
}

stop_native <- function(what, route, problem, ...) {
  stop_drover(what, paste0("C handler of ", route, ": ", problem), ..., call = NULL)
}

# What `data` may be: what a function of that name returns is checked again where it is called.
is_native_data <- function(x) is.null(x) || is_pointer(x) || is.raw(x) || is_string(x)

is_pointer <- function(x) typeof(x) == "externalptr"
