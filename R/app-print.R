# How an app is printed: its route table.

# Where the handler of a C route is: "C: tokens::score [inline]".
cpp_note <- function(route) {
  how <- if (!is.null(route$content_type)) " [stream]" else if (isTRUE(route$inline)) " [inline]" else ""
  paste0("C: ", encodeString(route$package), "::", encodeString(route$callable), how)
}

# Which workers a route has, where they are not those of all.
pool_note <- function(route) if (is.null(route$pool)) "" else paste0("[pool ", route$pool, "]")

# The same of a WebSocket; "" when its handlers are in R.
websocket_note <- function(route) if (is.null(route$package)) "" else cpp_note(route)

#' @export
format.dr_app <- function(x, ...) {
  routes <- c(app_routes(x), rest_routes(x))
  cpp <- c(app_cpp_routes(x, "cpp_routes"), app_cpp_routes(x, "cpp_stream_routes"))
  websockets <- app_websockets(x)
  statics <- app_statics(x)
  n <- length(routes) + length(cpp) + length(websockets)
  head <- sprintf(
    "<dr_app> %s, %s, %s", count_of(n, "route"), count_of(length(statics), "static mount"),
    if (x$serving && !is.null(server$url)) paste("serving on", server$url) else "not serving"
  )
  methods <- c(vapply(c(routes, cpp), `[[`, "", "method"), rep("WebSocket", length(websockets)))
  what <- c(methods, rep("static", length(statics)))
  where <- c(vapply(c(routes, cpp, websockets), `[[`, "", "path"), vapply(statics, `[[`, "", "mount"))
  behind <- lengths(lapply(routes, `[[`, "middleware"))
  notes <- c(
    trimws(paste(ifelse(behind > 0L, paste0("[", behind, " middleware]"), ""), vapply(routes, pool_note, ""))),
    vapply(cpp, cpp_note, ""),
    vapply(websockets, websocket_note, ""),
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
