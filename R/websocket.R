# What a handler, or anybody in the session, can do with WebSockets: send, close, rooms. Neighbours: websocket-routes.R,
# websocket-conn.R, src/websockets.c.

#' Send to WebSockets, and close them
#'
#' `dr_ws_send()` sends a message to one connection, `dr_ws_close()` closes it, after what was sent before. They can be
#' called in handlers of all kinds, in callbacks and hooks of workers, and at the console of a session that serves. They
#' return at once: the server sends while R goes on, and nothing happens when the connection has gone.
#'
#' @param conn A connection, as handlers of [dr_ws()] get it; or its number, `conn$id`, for code that has kept that.
#' @param msg A single string (sent as text, in UTF-8); a raw vector (sent as bytes); or a list, which is sent as text
#'   in JSON, with single values as scalars.
#' @param binary `TRUE` to send a string as bytes, `FALSE` to send the bytes of a raw vector as text.
#' @param code Why, for the client: 1000 (all is well), 1001 (going away), 1003, 1007 to 1014, or a code of your own in
#'   3000..4999. See RFC 6455, section 7.4.
#' @param reason The same for people: a single string of at most 123 bytes.
#' @returns `NULL`, invisibly.
#' @section Errors: `drover_error_argument` when an argument is not as described; `drover_error_state` when no server
#'   runs.
#' @seealso [dr_ws()]; [dr_ws_broadcast()] for many.
#' @examples
#' app <- dr_app()
#' dr_ws(app, "/shout", on_message = function(conn, msg) {
#'   if (msg == "bye") dr_ws_close(conn, 1000, "bye") else dr_ws_send(conn, toupper(msg))
#' })
#' @export
dr_ws_send <- function(conn, msg, binary = is.raw(msg)) invisible(.Call(C_ws_send, conn, msg, binary))

#' @rdname dr_ws_send
#' @export
dr_ws_close <- function(conn, code = 1000L, reason = "") {
  check_close(code, reason, sys.call())
  invisible(.Call(C_ws_close, conn, code, reason))
}

# Whether it may be sent. RFC 6455, section 7.4.
is_close_code <- function(code) {
  is_whole(code) && (code %in% c(1000:1003, 1007:1014) || (code >= 3000 && code <= 4999))
}

check_close <- function(code, reason, call) {
  if (!is_close_code(code)) {
    stop_argument("code", "1000, 1001, 1003, one of 1007..1014, or one in 3000..4999", code, call)
  }
  if (!is_string(reason) || nchar(enc2utf8(reason), "bytes") > 123L) {
    stop_argument("reason", "a single string of at most 123 bytes", reason, call)
  }
}

#' Rooms of WebSockets
#'
#' A room is a set of connections with a name. `dr_ws_join()` puts a connection into a room, `dr_ws_leave()` takes it
#' out, `dr_ws_broadcast()` sends a message to all connections in it, `dr_ws_members()` lists them, and `dr_ws_rooms()`
#' lists the rooms. A room exists as long as a connection is in it; a connection that is closed leaves its rooms.
#'
#' Rooms are the server's: they are the same in all workers, and a broadcast reaches all connections, wherever the
#' handlers ran that joined them.
#'
#' @inheritParams dr_ws_send
#' @param room The name of a room: a single string that is not empty.
#' @param name What the connection is called in the list of members: a single string. Joining again changes it. Of
#'   names that collide in R's string cache a room takes 32, and connections that come with more are closed (code 1008):
#'   people do not choose such names, attackers do.
#' @param except A connection that does not get the message, such as the sender: as `conn`, or `NULL`.
#' @param ... Must be empty: what follows is given by name.
#' @returns `dr_ws_join()` and `dr_ws_leave()`: `NULL`, invisibly. `dr_ws_broadcast()`: to how many connections the
#'   message goes, an integer, invisibly. `dr_ws_members()`: a data frame with a row for each connection, in the order
#'   in which they joined: `id` (`conn$id`, a number) and `name` (a string). `dr_ws_rooms()`: a data frame with `room`
#'   (a string) and `members` (how many, an integer).
#' @inheritSection dr_ws_send Errors
#' @seealso [dr_ws()]
#' @examples
#' app <- dr_app()
#' dr_ws(app, "/lobby",
#'   on_connect = function(conn) {
#'     dr_ws_join(conn, "lobby", conn$request$query[["name"]])
#'     dr_ws_broadcast("lobby", list(here = dr_ws_members("lobby")$name))
#'   },
#'   on_message = function(conn, msg) dr_ws_broadcast("lobby", msg, except = conn),
#'   on_close = function(conn) dr_ws_broadcast("lobby", list(here = dr_ws_members("lobby")$name))
#' )
#' # an ordinary route may send, too
#' dr_post(app, "/announce", function(req) list(told = dr_ws_broadcast("lobby", req$body)))
#' @name dr_ws_rooms
NULL

#' @rdname dr_ws_rooms
#' @export
dr_ws_join <- function(conn, room, name = "") invisible(.Call(C_ws_join, conn, room, name))

#' @rdname dr_ws_rooms
#' @export
dr_ws_leave <- function(conn, room) invisible(.Call(C_ws_leave, conn, room))

#' @rdname dr_ws_rooms
#' @export
dr_ws_broadcast <- function(room, msg, binary = is.raw(msg), ..., except = NULL) {
  check_dots_empty(..., call = sys.call())
  invisible(.Call(C_ws_broadcast, room, msg, binary, except))
}

#' @rdname dr_ws_rooms
#' @export
dr_ws_members <- function(room) {
  answer <- .Call(C_ws_members, room)
  data.frame(id = answer[[1L]], name = answer[[2L]])
}

#' @rdname dr_ws_rooms
#' @export
dr_ws_rooms <- function() {
  answer <- .Call(C_ws_rooms)
  data.frame(room = answer[[2L]], members = as.integer(answer[[1L]]))
}

# ---- called from C -----------------------------------------------------------------------------------------------

# A state as the server keeps it.
serialized_state <- function(state) {
  if (is.null(state)) return(raw())
  kept <- serialize(state, NULL, xdr = FALSE)
  if (length(kept) > 65536) {
    stop("conn$state takes ", length(kept), " bytes; it may have 65536: keep what is large elsewhere", call. = FALSE)
  }
  kept
}

# `both`: a promise that a handler has returned, and its connection. The state is what it is in the end.
state_after <- function(both) {
  conn <- both[[2L]]
  both[[1L]]$then(function(value) serialized_state(conn$state))
}

ws_json <- function(x) dr_to_json(x, auto_unbox = TRUE)

# `both`: the name of an argument and what it was.
refuse_ws_argument <- function(both) {
  right <- switch(both[[1L]],
    conn = "a connection, as handlers of dr_ws() get it, or its number",
    msg = "a single string in UTF-8, a raw vector or a list",
    room = "a single string that is not empty",
    "a single string"
  )
  stop_argument(both[[1L]], right, both[[2L]], sys.call(-1L))
}

stop_no_server <- function(unused) {
  stop_drover("state", "no server runs in this session, and no worker of one is it", call = sys.call(-1L))
}

stop_no_answer <- function(unused = NULL) {
  stop_drover("state", "the server does not answer: it is ending, or has too much to do", call = sys.call(-1L))
}
