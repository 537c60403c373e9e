# The engine of this session: started, served by, stopped. Called by serve.R; the guard around handlers is worker.R.

# What the running engine needs of the app: scope (an environment with the handlers by name), on_error, debug.
engine <- new.env(parent = emptyenv())

engine_running <- function() .Call(C_worker_state)[[1L]]

# Whether a handler is running now.
engine_in_handler <- function() .Call(C_worker_state)[[2L]]

# `config`, `handlers` and `on_error` as compile_app() and the settings make them. list(port, url).
engine_start <- function(config, handlers, on_error) {
  names <- handler_names(config$routes, length(handlers))
  scope <- new.env(parent = emptyenv())
  for (i in seq_along(handlers)) assign(names[[i]], handlers[[i]], envir = scope)
  engine$scope <- scope
  engine$on_error <- on_error
  engine$debug <- config$debug
  note_session()
  fields <- config_fields(config)
  of_app <- names(fields) %in% c("routes", "static", "not_found")
  start <- list(settings = fields[!of_app], app = fields[of_app])
  json <- jsonlite::toJSON(start, auto_unbox = TRUE, digits = NA, json_verbatim = TRUE)
  port <- .Call(C_worker_start, as.character(json), scope, names, config$limits[c("max_json_depth", "max_collisions")])
  if (is.list(port)) {
    what <- c("listen", "argument", "system")[[port[[1L]]]]
    stop_drover(what, port[[2L]], call = quote(dr_serve()))
  }
  list(port = port, url = base_url(config$host, port))
}

# What the engine's own reader of the configuration expects: whole numbers as such, lists even when they have one element.
config_fields <- function(config) {
  config$not_found <- if (is.null(config$not_found)) 0L else config$not_found
  config$routes <- lapply(config$routes, function(route) {
    route$methods <- as.list(route$methods)
    route
  })
  config$static <- lapply(config$static, `[`, c("mount", "dir"))
  seconds <- c(
    "header_timeout", "body_timeout", "write_timeout", "keep_alive", "timeout", "queue_timeout", "graceful_timeout"
  )
  whole <- setdiff(names(config$limits), seconds)
  config$limits[whole] <- lapply(config$limits[whole], whole_number)
  config
}

# A number beyond R's integers is written without a fraction or exponent all the same.
whole_number <- function(x) structure(format(min(x, 2^53), scientific = FALSE, digits = 17L), class = "json")

# A name for each handler, as it appears in tracebacks: "GET /users/:id".
handler_names <- function(routes, n) {
  names <- rep("not found", n)
  for (route in routes) names[[route$handler]] <- paste(paste(route$methods, collapse = "|"), route$pattern)
  make.unique(names, " #")
}

# Where the server is reached from this machine, whatever it is bound to.
base_url <- function(host, port) {
  host <- switch(host, "0.0.0.0" = "127.0.0.1", "::" = "::1", host)
  if (grepl(":", host, fixed = TRUE)) host <- paste0("[", host, "]")
  sprintf("http://%s:%d", host, port)
}

# Serves until dr_stop() or Ctrl-C.
engine_block <- function() {
  repeat {
    outcome <- serve(modes$block)
    if (outcome %in% c(outcomes$stopped, interrupted)) return(invisible())
    if (identical(run_callbacks(), interrupted)) return(invisible())
  }
}

# Callbacks of 'later', and promises with them. One that fails, however it does, is logged like a handler that fails.
run_callbacks <- function() {
  outcome <- .Call(C_worker_guarded, callbacks, 0L)
  if (identical(outcome, outcomes$aborted)) log_line("error", "a callback failed: it jumped to top level")
  outcome
}

callbacks <- function(unused) {
  tryCatch(
    {
      run_now(0)
      outcomes$quiet
    },
    error = function(condition) {
      log_line("error", paste("a callback failed:", describe_condition(condition)))
      failed
    },
    interrupt = function(condition) interrupted
  )
}

# Ends the server when the requests in flight are answered, or after `graceful_timeout` seconds.
engine_stop <- function(graceful_timeout) {
  .Call(C_worker_drain)
  deadline <- proc.time()[["elapsed"]] + graceful_timeout
  while (proc.time()[["elapsed"]] < deadline) {
    outcome <- serve(modes$drain)
    if (outcome %in% c(outcomes$stopped, interrupted)) break
    if (identical(run_callbacks(), interrupted)) break
  }
  .Call(C_worker_stop)
  engine$scope <- engine$on_error <- NULL
  invisible()
}
