# WebSockets to other servers: connecting, sending, and the functions that are called for what happens. The sockets
# are the engine's, on a thread of their own: src/rust/crates/client. Neighbours: websocket-routes.R, for those that
# connect here.

#' Connect to a WebSocket
#'
#' Connects to a WebSocket of another server, and calls functions for what happens there. Works in any R session, with
#' or without a server, and in the workers of one: for feeds that an app listens to, and for talking to a drover app.
#'
#' The functions are called when R has nothing else to do: at the prompt, while a server runs, between the requests of
#' a worker. A script has to give them time: `later::run_now(1)` does what is due, and waits up to a second for it.
#' They are never called in the middle of other code.
#'
#' In worker processes, connect in [dr_on_worker_start()]: a connection does not survive a fork, so one that was made
#' when the app was loaded is not there in its workers; what is sent on it comes to nothing, with `FALSE`. Each worker
#' has its own connection then.
#'
#' @section Functions: They may take fewer arguments: those that they name, such as `function(client, msg)`, or, with
#'   names of their own, as many as they have, from the left. An error in one is a warning, in a server a line
#'   of the log, and the connection goes on.
#'
#'   `on_message(msg, binary, client)` is called for each message, in order. `msg` is a string, or a raw vector if
#'   `binary` is `TRUE`, or if the text has a character in it that R's strings cannot have (NUL).
#'
#'   `on_open(client, protocol)` is called when the server has agreed, each time when it is connected to again.
#'   `protocol` is the sub-protocol that it has chosen, or `NULL`.
#'
#'   `on_close(reason, code, text, again)` is called when the connection is over. `reason` is `"closed"` or, if it
#'   never was open, `"connect_failed"`; `code` that of the close (1006 when the connection was lost), or the HTTP
#'   status of a server that refuses, 0 without an answer; `text` says more, for people; `again` is the number of
#'   seconds after which it is tried again, or `NULL`.
#'
#' @section Limits: Up to 64 MB may wait to be sent. When 1 MB of messages waits to be taken by R, no more is read: the
#'   server has to wait. With TLS the server's certificate has to be one that the system trusts, or that of `ca`.
#'   Redirections are not followed.
#'
#' @param url Where to: a single string, such as `"ws://127.0.0.1:8080/chat"` or `"wss://example.com/feed?from=1"`.
#' @param on_message,on_open,on_close Functions, see Details; the last two may be `NULL`.
#' @param ... Must be empty: what follows is given by name.
#' @param headers Further header fields of the request, such as `c(Authorization = "Bearer ...")`: a named character
#'   vector.
#' @param protocols Names of sub-protocols, the preferred one first: a character vector.
#' @param deflate `TRUE` to compress messages (RFC 7692) if the server can.
#' @param reconnect `TRUE` to connect again whenever the connection is over, unless [dr_ws_client_close()] has ended
#'   it: after half a second, and longer each time that it fails, up to 30 s; somewhat less, at random. Two numbers
#'   are the first and the longest pause in seconds. Messages wait meanwhile.
#' @param timeout Seconds for connecting, until the server has agreed.
#' @param max_message Longest message that is received, in bytes: a single number, or a size such as `"4MB"`, up to 64
#'   MB.
#' @param ping_interval A server that has sent nothing for this many seconds is pinged, and the connection is lost after
#'   as long again; 0 for never.
#' @param ca A file with the certificates of authorities to trust (PEM), instead of those of the system.
#' @returns `dr_ws_connect()`: a number of class `dr_ws_client`, at once; whether it is open is for `on_open()` to
#'   know. `dr_ws_client_send()`: `TRUE` when the message is on its way, or will be as soon as the connection is open,
#'   `FALSE` when that is over or too much waits; invisibly. `dr_ws_client_close()`: `TRUE`, or `FALSE` when it was
#'   over already; invisibly. `dr_ws_shutdown()`: `NULL`, invisibly.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_ws()] for the other end.
#' @examples
#' app <- dr_app()
#' dr_ws(app, "/echo", function(conn, msg) dr_ws_send(conn, toupper(msg)))
#' dr_serve(app, port = 0, block = FALSE)
#'
#' said <- NULL
#' client <- dr_ws_connect(sub("http", "ws", paste0(dr_url(), "/echo")),
#'   on_open = function(client) dr_ws_client_send(client, "hello"),
#'   on_message = function(msg) said <<- msg
#' )
#' while (is.null(said)) later::run_now(1)
#' said
#' dr_ws_client_close(client)
#' dr_ws_shutdown()
#' dr_stop()
#' @name dr_ws_connect
NULL

#' @rdname dr_ws_connect
#' @export
dr_ws_connect <- function(url, on_message, on_open = NULL, on_close = NULL, ..., headers = character(),
                          protocols = character(), deflate = FALSE, reconnect = FALSE, timeout = 10,
                          max_message = "16MB", ping_interval = 20, ca = NULL) {
  check_dots_empty(..., call = sys.call())
  check_string(url, "url")
  handlers <- list(on_message = on_message, on_open = on_open, on_close = on_close)
  for (name in names(handlers)) {
    check_values_taken(handlers[[name]], name, client_values[[name]], null = name != "on_message", call = sys.call())
  }
  check_protocols(protocols)
  check_flag(deflate, "deflate", sys.call())
  pauses <- reconnect_pauses(reconnect, sys.call())
  check_seconds(timeout, "timeout")
  max_message <- as_bytes(max_message)
  check_size(max_message, "max_message", max = longest_message, call = sys.call())
  check_seconds_or_none(ping_interval, "ping_interval", sys.call())
  fields <- field_pairs(headers, sys.call())
  ca <- ca_file(ca, sys.call())
  loadNamespace("later")
  client <- .Call(
    C_ws_client_connect, list(enc2utf8(url), fields, enc2utf8(protocols), ca),
    c(timeout, max_message, ping_interval, pauses, deflate)
  )
  if (is.list(client)) refuse_connection(client, url, headers, sys.call())
  clients[[task_name(client)]] <- Map(taking_all, handlers, client_values)
  structure(client, class = "dr_ws_client")
}

#' @rdname dr_ws_connect
#' @param client What `dr_ws_connect()` has returned.
#' @param msg The message: a single string, or a raw vector.
#' @param binary Whether it is sent as bytes, or as text.
#' @export
dr_ws_client_send <- function(client, msg, binary = is.raw(msg)) {
  check_client(client)
  if (!is.raw(msg) && !is_string(msg)) stop_argument("msg", "a single string or a raw vector", msg, sys.call())
  check_flag(binary, "binary", sys.call())
  sent <- .Call(C_ws_client_send, client, msg, binary)
  if (sent < 0L) stop_argument("msg", "UTF-8 when it is sent as text (`binary = TRUE` for bytes)", msg, sys.call())
  invisible(sent == 1L)
}

#' @rdname dr_ws_connect
#' @param code,reason What the server is told: a code, such as 1000 or one of 3000 to 4999, and a single string of up
#'   to 123 bytes.
#' @export
dr_ws_client_close <- function(client, code = 1000L, reason = "") {
  check_client(client)
  check_close(code, reason, sys.call())
  invisible(.Call(C_ws_client_close, client, as.integer(code), reason))
}

#' @rdname dr_ws_connect
#' @export
dr_ws_shutdown <- function() {
  rm(list = ls(clients), envir = clients)
  invisible(.Call(C_ws_client_stop))
}

#' @export
format.dr_ws_client <- function(x, ...) sprintf("<dr_ws_client> connection %.0f", unclass(x))

#' @export
print.dr_ws_client <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}

# What is called for each connection, by its number.
clients <- new.env(parent = emptyenv())

check_client <- function(x, call = sys.call(-1L)) {
  if (!inherits(x, "dr_ws_client")) stop_argument("client", "what dr_ws_connect() has returned", x, call)
}

# What functions may take, in the order in which receive_client_event() has it.
client_values <- list(
  on_message = c("msg", "binary", "client"), on_open = c("client", "protocol"),
  on_close = c("reason", "code", "text", "again")
)

# The first pause and the longest, in seconds; 0 for never.
reconnect_pauses <- function(x, call) {
  if (isTRUE(x)) return(c(0.5, 30))
  if (isFALSE(x)) return(c(0, 0))
  if (is.numeric(x) && length(x) == 2L && all(is.finite(x)) && x[[1L]] > 0 && x[[2L]] >= x[[1L]]) return(as.numeric(x))
  stop_argument("reconnect", "TRUE, FALSE, or two numbers of seconds, the first pause and the longest", x, call)
}

# Names and values in turn.
field_pairs <- function(headers, call) {
  named <- is.character(headers) && !anyNA(headers) && (!length(headers) || !is.null(names(headers)))
  if (!named) stop_argument("headers", "a named character vector", headers, call)
  enc2utf8(as.character(rbind(names(headers), headers)))
}

ca_file <- function(ca, call) {
  if (is.null(ca)) return("")
  check_string(ca, "ca", call = call)
  if (!file.exists(ca)) stop_argument("ca", "a file with certificates", ca, call)
  normalizePath(ca)
}

# `problem`: list(what is wrong, what would be right), as C gives it.
refuse_connection <- function(problem, url, headers, call) {
  switch(problem[[1L]],
    stop_argument("url", problem[[2L]], url, call),
    stop_argument("headers", problem[[2L]], headers, call),
    stop_drover("system", problem[[2L]], call = call)
  )
}

# Called from C when something has happened, as a callback of 'later'. Not for long: then others have their turn.
receive_client_events <- function(unused) {
  end <- elapsed() + callbacks_at_once
  while (!is.null(event <- .Call(C_ws_client_next))) {
    receive_client_event(event)
    if (elapsed() >= end) return(.Call(C_ws_client_wake))
  }
}

# `event`: list(connection, kind, code, again, value).
receive_client_event <- function(event) {
  name <- task_name(event[[1L]])
  handlers <- clients[[name]]
  kind <- event[[2L]]
  again <- if (event[[4L]] >= 0) event[[4L]]
  if (kind >= 3L && is.null(again)) suppressWarnings(rm(list = name, envir = clients))
  if (is.null(handlers)) return()
  value <- event[[5L]]
  client <- structure(event[[1L]], class = "dr_ws_client")
  tryCatch(
    if (kind == 0L) {
      handlers$on_open(client, if (nzchar(value)) value)
    } else if (kind <= 2L) {
      handlers$on_message(value, kind == 2L, client)
    } else {
      handlers$on_close(if (kind == 3L) "closed" else "connect_failed", event[[3L]], value, again)
    },
    error = function(error) {
      text <- paste("a function of dr_ws_connect() failed:", describe_condition(error))
      if (engine_running()) log_line("error", text) else warning(text, call. = FALSE, immediate. = TRUE)
    }
  )
}
