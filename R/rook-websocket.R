# WebSockets of apps of httpuv: onWSOpen(ws) gets an object as httpuv's class WebSocket has it, and leaves functions in
# it, which are of the process that they were made in. So is the connection: what happens on it goes to the worker that
# took it. Neighbours: rook-app.R; websocket-routes.R, whose route this is; websocket.R.

# `app`, which was made of `given`, with the WebSockets that this has, if it has any. `is_session`: each is that of a
# visitor, who may have a worker alone.
with_websockets <- function(app, given, is_session = FALSE) {
  if (!opens_websockets(given)) return(app)
  open <- new.env(parent = emptyenv())
  settings <- websocket_settings(
    "/*path", protocols = character(), origins = NULL, deflate = FALSE, max_message = "1MB", max_conns = 0,
    idle_timeout = 0, max_lifetime = 0, ping_interval = 20, call = NULL
  )
  # httpuv has no limit; here a message may be as long as the body of a request
  settings$max_message <- NULL
  app$rest_websocket <- c(settings, list(
    is_kept = TRUE, is_session = is_session, on_connect = websocket_opener(given, open),
    on_message = websocket_receiver(open), on_close = function(conn) end_websocket(open, websocket_key(conn))
  ))
  app$leave_websockets <- function() leave_websockets(open)
  dr_on_worker_stop(app, app$leave_websockets)
  app
}

# Whether it has a function for them. Routers of plumber have one that does not take them.
opens_websockets <- function(given) {
  opener <- member(given, "onWSOpen")
  is.function(opener) && !(is_plumber(given) && identical(body(opener), refusal_of_plumber))
}

refusal_of_plumber <- quote({
  warning("WebSockets not supported.")
})

# The connections are in `open`, by the strings of their numbers.
websocket_key <- function(conn) as.character(unclass(conn))

# Handles the request that is to become a WebSocket. What an app sends now goes out once that is open.
websocket_opener <- function(app, open) {
  force(app)
  force(open)
  constants <- rook_constants()
  has_head <- !is.null(member(app, "onHeaders"))
  function(conn) {
    req <- conn$request
    env <- rook_request(req, mount_depth(req$route), constants)
    if (has_head) {
      answer <- app$onHeaders(env)
      if (length(answer)) return(rook_response(answer))
    }
    ws <- rook_websocket(conn, env)
    key <- websocket_key(conn)
    is_taken <- FALSE
    assign(key, ws, envir = open)
    # a jump that is no error is answered with 500
    on.exit(if (!is_taken) rm(list = key, envir = open))
    tryCatch(app$onWSOpen(ws), error = function(error) {
      log_line("error", paste("onWSOpen failed:", describe_condition(error)), request = TRUE)
      ws$close(1011L, "Error in onWSOpen")
    })
    is_taken <- TRUE
    # what requests have in their path that are for this worker, if the app has one
    conn$name <- ws$name
    NULL
  }
}

websocket_receiver <- function(open) {
  force(open)
  function(conn, msg, binary) {
    ws <- open[[websocket_key(conn)]]
    # what a client still sends when the app has closed the connection
    if (is.null(ws$handle)) return()
    # however a callback fails
    is_done <- FALSE
    on.exit(if (!is_done) ws$close(1011L, "Error executing onWSMessage"))
    for (callback in ws$messageCallbacks) callback(binary, msg)
    is_done <- TRUE
  }
}

# The connection has ended. Not an error for one that is not known: its client has left before the app had it.
end_websocket <- function(open, key) {
  ws <- open[[key]]
  if (is.null(ws)) return()
  rm(list = key, envir = open)
  ws$handle <- NULL
  for (callback in ws$closeCallbacks) callback()
}

# This worker is to end, or another app takes over in this session: the server closes its connections.
leave_websockets <- function(open) {
  for (key in ls(open)) {
    tryCatch(end_websocket(open, key), error = function(error) {
      log_line("error", paste("onClose of a WebSocket failed:", describe_condition(error)))
    })
  }
}

# The object for onWSOpen(): the fields and functions that programs for httpuv use. `handle` is NULL once it is closed.
rook_websocket <- function(conn, request) {
  ws <- new.env(parent = emptyenv())
  ws$handle <- as.numeric(conn)
  ws$request <- request
  ws$messageCallbacks <- list()
  ws$closeCallbacks <- list()
  ws$onMessage <- function(func) {
    check_function(func, "func")
    ws$messageCallbacks <- c(ws$messageCallbacks, func)
    invisible()
  }
  ws$onClose <- function(func) {
    check_function(func, "func")
    ws$closeCallbacks <- c(ws$closeCallbacks, func)
    invisible()
  }
  ws$send <- function(message) {
    if (is.null(ws$handle)) return(invisible())
    dr_ws_send(ws$handle, if (is.raw(message)) message else first_string(message))
  }
  ws$close <- function(code = 1000L, reason = "") {
    if (is.null(ws$handle)) return(invisible())
    if (!is_close_code(code)) {
      warning("a WebSocket cannot be closed with code ", format(code), ": 1001 is sent", call. = FALSE)
      code <- 1001L
    }
    dr_ws_close(ws$handle, code, short_reason(reason))
    ws$handle <- NULL
  }
  class(ws) <- "WebSocket"
  ws
}

# As httpuv sends it: numbers as strings, and of several strings the first.
first_string <- function(message) {
  strings <- as.character(message)
  if (length(strings) < 2L) return(strings)
  warning("a WebSocket was sent several strings: only the first goes out", call. = FALSE)
  strings[[1L]]
}

# No frame that closes a connection has place for more (RFC 6455, section 5.5).
short_reason <- function(reason) {
  if (!is_string(reason)) return(reason)
  short <- substr(enc2utf8(reason), 1L, 123L)
  while (nchar(short, "bytes") > 123L) short <- substr(short, 1L, nchar(short) - 1L)
  short
}
