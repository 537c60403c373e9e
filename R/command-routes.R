# `drover routes` and `drover check`: what an app answers, and whether it can be served. Neighbour: command.R.

command_routes <- function(arguments) {
  rows <- route_table(load_for_command(arguments))
  writeLines(trimws(paste0(format(rows$method), "  ", format(rows$path), "  ", rows$note), "right"))
  0L
}

# Loads the app, and compiles it as a server would: its warnings are about routes that no request reaches.
command_check <- function(arguments) {
  began <- elapsed()
  app <- load_for_command(arguments)
  warnings <- 0L
  withCallingHandlers(compile_app(app, NULL), warning = function(warning) {
    warnings <<- warnings + 1L
    message("drover: warning: ", conditionMessage(warning))
    tryInvokeRestart("muffleWarning")
  })
  rows <- route_table(app)
  endpoints <- rows[nzchar(rows$speed), ]
  writeLines(trimws(paste0(
    format(endpoints$method), "  ", format(endpoints$path), "  ", endpoints$speed, recycle0 = TRUE
  ), "right"))
  cat(sprintf(
    "%s is %s with %s; it loads in %.1f s\n", arguments[[1L]], kind_of_app(app), count_of(nrow(rows), "route"),
    elapsed() - began
  ))
  collect_garbage()
  found <- unshared()
  if (nzchar(found)) {
    cat("each worker loads it by itself, as forks must not share what it has opened: ", found, "\n", sep = "")
  }
  if (!nrow(rows)) {
    message("drover: it has no routes: every request will get 404")
    return(1L)
  }
  as.integer(warnings > 0L)
}

kind_of_app <- function(app) {
  source <- app$source
  if (!is.null(app$annotated)) return("a file with annotations of plumber")
  if (is.null(source)) return("an app")
  if (is_plumber(source)) return("a router of plumber")
  if (is_rserve_function(source)) "a script of Rserve" else "an app of httpuv or Rook"
}

# A data frame: method, path, note and speed (of endpoints of plumber: "fast", or "full: " and why), all strings, in the
# order in which routes are tried.
route_table <- function(app, prefix = "") {
  planned <- if (is_plumber(app$source)) plan_router(app$source) else app$annotated
  endpoints <- if (!is.null(planned)) {
    planned_rows(planned, prefix)
  } else if (!is.null(app$rest)) {
    list(route_row("ANY", paste0(prefix, "/*"), kind_of_app(app)))
  }
  cpp <- c(unname(app$cpp_routes), unname(app$cpp_stream_routes))
  rows <- c(
    lapply(unname(app$routes), function(route) {
      route_row(route$method, join_path(prefix, route$path), if (is_private(route)) "the app's own jobs" else "")
    }),
    lapply(app$mounts, function(mount) route_table(mount$app, paste0(prefix, mount$prefix))),
    lapply(cpp, function(route) route_row(route$method, join_path(prefix, route$path), cpp_note(route))),
    lapply(unname(app$ws_routes), function(route) {
      route_row("WebSocket", join_path(prefix, route$path), websocket_note(route))
    }),
    if (!is.null(app$rest_websocket)) list(route_row("WebSocket", paste0(prefix, "/*"), kind_of_app(app))),
    lapply(app$static_mounts, function(static) route_row("files", paste0(prefix, static$mount), static$dir)),
    endpoints
  )
  do.call(rbind, c(list(route_row(character(), character(), character(), character())), rows))
}

route_row <- function(method, path, note = "", speed = "") {
  data.frame(method = method, path = path, note = note, speed = speed)
}

# Endpoints as plan_router() gives them.
planned_rows <- function(entries, prefix) {
  lapply(entries, function(entry) {
    is_files <- identical(entry$verbs, "files")
    speed <- if (is_files) "" else if (is.null(entry$reason)) "fast" else paste("full:", entry$reason)
    route_row(paste(entry$verbs, collapse = ","), join_path(prefix, entry$path), entry$note, speed)
  })
}
