# Registering handlers of WebSockets, and what becomes of them when the app is compiled. The sockets are the engine's:
# R is called for what happens on them. Neighbours: websocket.R, what a handler can do; websocket-conn.R; app-compile.R.

#' Serve WebSockets
#'
#' Registers functions for WebSockets at a path: for clients that connect, for messages, and for connections that are
#' closed. The server holds the connections, and R is called when something happens on one, by whichever worker is free:
#' so thousands of connections need no more workers than the work for their messages does, and they stay open when a
#' worker dies, is replaced, or the app is reloaded.
#'
#' @section Handlers: All get `conn`, the connection: an object with `conn$id`, a number that no other connection of the
#'   server ever has; `conn$params`, the params of the path; and `conn$state`, which is the app's to set. It is that
#'   number itself, with a class: `as.character(unclass(conn))` is the same string in all handlers of a connection.
#'
#'   `on_connect(conn)` is called before the client is connected, after middleware. `conn$request` is the request then,
#'   with its header fields, cookies and address, and `conn$protocol` the sub-protocol, if one was chosen. A response
#'   that it returns, such as `dr_text("no", 401)`, refuses the client; any other value is ignored. An error refuses it
#'   with 500.
#'
#'   `on_message(conn, msg, binary)` is called for each message. `msg` is a string, or a raw vector if `binary` is
#'   `TRUE`, or if the text has a character in it that R's strings cannot have (NUL). What it returns is not used: send
#'   an answer by [dr_ws_send()].
#'
#'   `on_close(conn, code, reason)` is called when the connection is closed, by either side. It is in no room any more.
#'   `code` is 1005 when the client gave none, and 1006 when it left without a word.
#'
#'   Functions may take fewer arguments: those that they name, such as `function(msg)`, or, with names of their own, as
#'   many as they have, from the left. The messages of a connection are handled one after the other, in
#'   order; those of different connections at the same time, when there are several workers. A handler that returns a
#'   promise frees its worker, and the next message waits until it is settled.
#'
#' @section State: `conn$state` is any small R value: what one handler sets, the next one of the same connection finds,
#'   in whichever worker it runs. It is kept by the server, serialized, and may have 64 kB. What handlers have in
#'   variables of their own stays in their worker, and is not there in the next.
#'
#' @section What ends a connection: The client, [dr_ws_close()], and, with a code that the client gets: the end of the
#'   server (1001), a client that breaks the rules (1002, 1007), a message that is too long (1009), a handler that took
#'   longer than `timeout`, or whose worker died (1011), a client that does not read what it is sent (1013, when 1 MB
#'   waits, or two of the longest messages), and the limits below (1001). An error in `on_message()` is logged, and the
#'   connection goes on.
#'
#' @section Pages of other sites: A browser lets every page connect to every server, and sends the cookies and passwords
#'   for that server along. Therefore a page of another site may not connect if it sends any, unless it is among
#'   `origins`. Nor may a page that came in cleartext, where the server itself has TLS.
#'
#' @param app An app, see [dr_app()].
#' @param path The path: a single string, with placeholders as in [dr_get()]. There may be a route for `GET` with the
#'   same path, as for the page that connects.
#' @param on_message,on_connect,on_close Functions, see Details; the last two may be `NULL`.
#' @param ... Must be empty: what follows is given by name.
#' @param protocols Names of sub-protocols, the preferred one first: a character vector. Of those that a client offers
#'   the first is chosen.
#' @param origins Pages that may connect, and no others, such as `"https://app.example.com"`: a character vector, or
#'   `"*"` for all. `NULL`: those of the server itself, and all that send neither cookies nor a password.
#' @param deflate `TRUE` to compress messages (RFC 7692) if the client can.
#' @param max_message Longest message that is received, in bytes: a single number, or a size such as `"4MB"`, up to 64
#'   MB.
#' @param max_conns Most connections that may be open: a single integer, 0 for no limit of this route. One too many is
#'   closed at once, with code 1013.
#' @param idle_timeout,max_lifetime A connection is closed after this many seconds without a message in either
#'   direction, and after this many seconds in any case; 0 for never.
#' @param ping_interval A client that has sent nothing for this many seconds is pinged, and the connection ends after as
#'   long again; 0 for never.
#' @param timeout Longest time that a handler may take, in seconds: a single number, or `NULL` for that of [dr_serve()].
#' @returns `app`, invisibly; it is changed in place. Registering the same path again replaces the handlers, with a
#'   warning of class `drover_warning_overwrite`.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_ws_send()], [dr_ws_join()] and their neighbours, for what handlers do.
#' @examples
#' app <- dr_app()
#' dr_ws(app, "/chat/:room",
#'   on_connect = function(conn) {
#'     conn$state <- list(name = dr_query(conn$request, "name"), n = 0)
#'     dr_ws_join(conn, conn$params$room, conn$state$name)
#'   },
#'   on_message = function(conn, msg) {
#'     conn$state$n <- conn$state$n + 1
#'     dr_ws_broadcast(conn$params$room, list(from = conn$state$name, n = conn$state$n, text = msg))
#'   }
#' )
#' @export
dr_ws <- function(app, path, on_message, on_connect = NULL, on_close = NULL, ..., protocols = character(),
                  origins = NULL, deflate = FALSE, max_message = "1MB", max_conns = 0, idle_timeout = 0,
                  max_lifetime = 0, ping_interval = 20, timeout = NULL) {
  check_registrar(app)
  check_dots_empty(..., call = sys.call())
  check_values_taken(on_message, "on_message", message_values)
  check_values_taken(on_connect, "on_connect", "conn", null = TRUE, hint = "; the request is conn$request")
  check_values_taken(on_close, "on_close", close_values, null = TRUE)
  settings <- websocket_settings(
    path, protocols, origins, deflate, max_message, max_conns, idle_timeout, max_lifetime, ping_interval, sys.call()
  )
  handlers <- list(on_message = on_message, on_connect = on_connect, on_close = on_close)
  put_socket(app, c(settings, handlers, timeout = route_timeout(timeout, sys.call())), sys.call())
}

# What a route of WebSockets has, whoever handles them: checked, as fields of the route.
websocket_settings <- function(path, protocols, origins, deflate, max_message, max_conns, idle_timeout, max_lifetime,
                            ping_interval, call) {
  parsed <- parse_path(path, call)
  check_protocols(protocols, call)
  check_origins(origins, call)
  check_flag(deflate, "deflate", call)
  max_message <- as_bytes(max_message)
  check_size(max_message, "max_message", max = longest_message, call = call)
  check_count(max_conns, "max_conns", min = 0, call = call)
  times <- list(idle_timeout = idle_timeout, max_lifetime = max_lifetime, ping_interval = ping_interval)
  times <- lapply(times, as_seconds)
  for (name in names(times)) check_seconds_or_none(times[[name]], name, call)
  c(
    list(
      path = path, param_names = parsed$names, protocols = enc2utf8(protocols), origins = origins, deflate = deflate,
      max_message = max_message, max_conns = max_conns
    ),
    times
  )
}

# The one way into app$ws_routes.
put_socket <- function(app, route, call) {
  if (!is.null(app$ws_routes[[route$path]])) {
    text <- paste("overwriting existing WebSocket route for", route$path)
    warning(warningCondition(text, class = "drover_warning_overwrite", call = call))
  }
  app$ws_routes[[route$path]] <- route
  invisible(app)
}

# As the engine has it.
longest_message <- 64 * 1024^2

# What handlers may take.
message_values <- c("conn", "msg", "binary")
close_values <- c("conn", "code", "reason")

# RFC 6455, section 4.1: names are tokens.
check_protocols <- function(x, call = sys.call(-1L)) {
  if (is.character(x) && !anyNA(x) && all(grepl("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$", x))) return(invisible())
  stop_argument("protocols", "a character vector of names without spaces, commas and the like", x, call)
}

check_origins <- function(x, call = sys.call(-1L)) {
  if (is.null(x) || (is.character(x) && !anyNA(x) && all(x == "*" | grepl("^[a-z][-+.a-z0-9]*://[^/]+$", x)))) {
    return(invisible())
  }
  stop_argument("origins", "NULL, \"*\" or origins such as \"https://app.example.com\", without a path", x, call)
}

# The WebSockets of an app and of all that is mounted in it, in the order in which they are tried.
app_websockets <- function(app) c(first_websockets(app), rest_websockets(app))

# Those of paths of their own, as app_routes().
first_websockets <- function(app, prefix = "", outer = list()) {
  around <- around_handlers(app, outer)
  own <- lapply(unname(app$ws_routes), function(route) {
    route$path <- join_path(prefix, route$path)
    c(route, around)
  })
  mounted <- lapply(app$mounts, function(mount) first_websockets(mount$app, paste0(prefix, mount$prefix), around))
  c(own, unlist(mounted, recursive = FALSE))
}

# Those that take any path that is left, as rest_routes().
rest_websockets <- function(app, prefix = "", outer = list()) {
  around <- around_handlers(app, outer)
  mounted <- lapply(app$mounts, function(mount) rest_websockets(mount$app, paste0(prefix, mount$prefix), around))
  own <- if (!is.null(app$rest_websocket)) {
    lapply(c("/", "/*path"), function(path) {
      route <- app$rest_websocket
      route$path <- join_path(prefix, path)
      c(route, around)
    })
  }
  c(unlist(mounted, recursive = FALSE), own)
}

# The handler that is called before a client is connected; NULL without `on_connect` and middleware.
connecting_handler <- function(route) {
  if (is.null(route$on_connect) && !length(route$middleware)) return()
  compose(route$middleware, asking(route$on_connect, isTRUE(route$is_kept)), route$on_error)
}

# A handler for the request that is to become a WebSocket.
asking <- function(on_connect, is_kept) {
  force(on_connect)
  force(is_kept)
  takes <- if (is.null(on_connect)) 0L else arguments_for(on_connect, 1L)
  function(req) {
    conn <- .Call(C_ws_connection, attr(req, "cell"))
    conn$params <- req$params
    conn$request <- req
    value <- if (!is.null(on_connect)) if (takes) on_connect(conn) else on_connect()
    answer <- function(value) connected(conn, value, is_kept)
    if (is_promise(value)) value$then(answer) else answer(value)
  }
}

# The response that makes a WebSocket of the request, unless the app has refused that: with what the server is to keep,
# or with whose it is, if it is a worker's, and its name.
connected <- function(conn, value, is_kept) {
  if (is_response(value)) return(value)
  kept <- if (is_kept) c(this_worker(), name_of(conn)) else if (!is.null(conn$state)) serialized_state(conn$state)
  structure(list(status = 101L, body = kept, headers = list()), class = "dr_response")
}

# How the engine knows this worker: a process by its number, a session by none.
this_worker <- function() if (in_process()) writeBin(Sys.getpid(), raw(), endian = "little")

# Bytes. The server of a session has no other worker that it could send requests to.
name_of <- function(conn) if (in_process() && !is.null(conn$name)) charToRaw(conn$name)

# For src/websockets.c, in place of a handler: list(scope, the call for a message, the call for a close or NULL).
event_handlers <- function(route) {
  scope <- new.env(parent = emptyenv())
  call_of <- function(name, arguments) {
    fn <- route[[name]]
    if (is.null(fn)) return()
    assign(name, fn, envir = scope)
    as.call(lapply(c(name, arguments[given_to(fn, arguments)]), as.name))
  }
  list(scope, call_of("on_message", message_values), call_of("on_close", close_values))
}

# What the engine is told of a route: `asks` is the number of its connecting_handler(), 0 for none, `events` that of its
# event_handlers(). Of one in C, the one is the number of its handler and the other 0.
websocket_field <- function(route, asks, events) {
  in_c <- !is.null(route$package)
  websocket <- list(
    events = events, on_close = in_c || !is.null(route$on_close), is_kept = isTRUE(route$is_kept),
    is_session = isTRUE(route$is_session), protocols = as.list(route$protocols),
    origins = if (!is.null(route$origins)) as.list(route$origins), deflate = route$deflate,
    max_message = route$max_message, max_conns = route$max_conns, ping_interval = route$ping_interval,
    idle_timeout = route$idle_timeout, max_lifetime = route$max_lifetime
  )
  c(
    list(methods = "GET", pattern = enc2utf8(route$path), handler = asks, runs = if (in_c) "inline" else "r"),
    if (!is.null(route$timeout)) list(timeout = route$timeout),
    list(websocket = Filter(Negate(is.null), websocket))
  )
}
