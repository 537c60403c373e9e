# `conn`, as handlers of dr_ws() have it: the number of the connection, with its other fields in an environment beside
# it, so that what a handler sets is there for whoever has the same object. src/websockets.c makes it. A number, as
# programs take it for one: as.character(unclass(conn)) is a key, c(conns, conn) a vector of connections. Neighbours:
# websocket.R, what is done with it; websocket-routes.R.

conn_fields <- function(conn) attr(conn, "fields", exact = TRUE)

#' @export
`$.dr_ws_conn` <- function(x, name) if (name == "id") as.numeric(x) else conn_fields(x)[[name]]

#' @export
`[[.dr_ws_conn` <- function(x, i) if (is.character(i)) `$.dr_ws_conn`(x, i) else as.numeric(x)[[i]]

#' @export
`$<-.dr_ws_conn` <- function(x, name, value) {
  if (name == "id") stop("conn$id is the server's, and cannot be set", call. = FALSE)
  assign(name, value, envir = conn_fields(x))
  x
}

#' @export
`[[<-.dr_ws_conn` <- `$<-.dr_ws_conn`

#' @export
format.dr_ws_conn <- function(x, ...) sprintf("<dr_ws_conn> connection %.0f", x$id)

#' @export
print.dr_ws_conn <- function(x, ...) {
  writeLines(format(x))
  invisible(x)
}
