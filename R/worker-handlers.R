# The handlers of an app, in the process that runs them. Neighbours: app-compile.R, which makes them; worker-loop.R.

# Takes the handlers of a compiled app, see compile_app(), and what of the settings a worker has to know.
engine_adopt <- function(compiled, config) {
  names <- handler_names(compiled$routes, length(compiled$handlers))
  scope <- new.env(parent = emptyenv())
  handlers <- c(compiled$handlers, task_handlers)
  names <- c(names, names(task_handlers))
  for (i in seq_along(names)) assign(names[[i]], handlers[[i]], envir = scope)
  engine$scope <- scope
  engine$names <- names
  engine$on_error <- compiled$on_error
  length(engine$on_error) <- length(handlers)
  engine$debug <- config$debug
  engine$plumber <- config$plumber %||% "fast"
  engine$max_body_given <- is_given("max_body", config)
  engine$json_limits <- config$limits[c("max_json_depth", "max_collisions")]
  keep_seeds(isTRUE(config$keep_failed > 0))
  note_session()
  fetch_functions()
  .Call(C_serving_app, scope, names, engine$json_limits)
  invisible()
}

# A name for each handler in R, as it appears in tracebacks: "GET /users/:id".
handler_names <- function(routes, n) {
  names <- rep("not found", n)
  for (route in routes) {
    name <- paste(paste(route$methods, collapse = "|"), route$pattern)
    if (route$runs == "r" && route$handler > 0L) names[[route$handler]] <- name
    if (isTRUE(route$websocket$events > 0L)) names[[route$websocket$events]] <- paste("WebSocket", route$pattern)
  }
  make.unique(names, " #")
}
