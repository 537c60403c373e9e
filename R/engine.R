# The engine of a session that is its own worker: started, served by, stopped; and what all workers need of an app.
# Called by serve.R; the guard around handlers is worker.R. Not for worker processes: service.R, zygote.R, process.R.

# What handlers need to be called: scope (an environment with the handlers by name), on_error, debug, plumber (how its
# endpoints are answered), max_body_given (plumber's own limit does not count then) and json_limits. And interrupted:
# whether Ctrl-C was pressed where nothing could be done about it, see serve_idle().
engine <- new.env(parent = emptyenv())

# Whether requests are served: here, or by the worker processes of this session.
engine_running <- function() .Call(C_worker_state)[[1L]] || service_running()

# Whether a handler is running now.
engine_in_handler <- function() .Call(C_worker_state)[[2L]] || .Call(C_streams_state)

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
  note_session()
  fetch_functions()
  .Call(C_serving_app, scope, names, engine$json_limits)
  invisible()
}

# `config`: the settings, and the limits among them. What places() makes.
engine_start <- function(config, compiled) {
  open_console()
  natives <- natives_for_engine(compiled)
  engine_adopt(compiled, config)
  start <- as_json(list(settings = config_fields(config), app = app_fields(compiled, config)))
  urls <- .Call(C_session_open, start, natives)
  if (is.list(urls)) stop_start(urls)
  places(urls)
}

# At a console, the log is R's to show, as front ends do not show what is written to standard error behind its back.
open_console <- function() {
  if (!interactive()) return()
  loadNamespace("later")
  .Call(C_console_open)
}

# The server of this session goes on with another app: requests wait until those of the one before are answered.
engine_renew <- function(compiled, config) {
  natives <- natives_for_engine(compiled)
  problem <- .Call(C_session_renew, as_json(app_fields(compiled, config)), natives)
  if (is.list(problem)) stop_start(problem)
  began <- elapsed()
  patience <- config$limits$graceful_timeout
  while (!.Call(C_session_renewed, elapsed() - began >= patience)) {
    if (interrupted %in% c(serve(modes$idle), run_callbacks())) patience <- 0
  }
  end_streams()
  .Call(C_session_forget)
  engine_adopt(compiled, config)
  problem <- .Call(C_session_reopen)
  if (is.list(problem)) stop_start(problem)
}

# `problem` is list(kind, message), as C gives it.
stop_start <- function(problem) {
  what <- c("listen", "argument", "system")[[problem[[1L]]]]
  stop_drover(what, problem[[2L]], call = quote(dr_serve()))
}

# What is sent by a zygote. The native writer is there at once, jsonlite would first have to be loaded.
app_json <- function(compiled, config) dr_to_json(app_fields(compiled, config), auto_unbox = TRUE)

as_json <- function(x) as.character(jsonlite::toJSON(x, auto_unbox = TRUE, digits = NA, json_verbatim = TRUE))

# What the engine's own reader of the settings expects: whole numbers as such.
config_fields <- function(config) {
  # what is NULL is as if it had not been given
  config <- Filter(Negate(is.null), config)
  config$limits <- Filter(Negate(is.null), config$limits)
  table <- settings_table()
  lists <- intersect(names(config), table$Name[table$Kind %in% c("list", "lines")])
  config[lists] <- lapply(config[lists], as.list)
  whole <- setdiff(names(config$limits), table$Name[table$Kind == "seconds"])
  config$limits[whole] <- lapply(config$limits[whole], whole_number)
  config
}

# What it expects of an app: lists even when they have one element.
app_fields <- function(compiled, config) {
  tell_max_body(compiled$routes, config)
  list(
    routes = lapply(compiled$routes, function(route) {
      route$methods <- as.list(route$methods)
      with_usual(route, config)
    }),
    static = lapply(compiled$static, function(static) Filter(Negate(is.null), static[c("mount", "dir", "types")])),
    not_found = compiled$not_found %||% 0L,
    tasks = length(compiled$handlers) + 1L,
    errors = own_errors(compiled$error_form),
    policies = compiled$policies, openapi = served_openapi(compiled$app, config$docs)
  )
}

# A number beyond R's integers is written without a fraction or exponent all the same.
whole_number <- function(x) structure(format(min(x, 2^53), scientific = FALSE, digits = 17L), class = "json")

# A name for each handler in R, as it appears in tracebacks: "GET /users/:id".
handler_names <- function(routes, n) {
  names <- rep("not found", n)
  for (route in routes) {
    name <- paste(paste(route$methods, collapse = "|"), route$pattern)
    if (route$runs == "r" && route$handler > 0L) names[[route$handler]] <- name
    if (isTRUE(route$socket$events > 0L)) names[[route$socket$events]] <- paste("WebSocket", route$pattern)
  }
  make.unique(names, " #")
}

# Where a server listens, of lines from the engine: list(urls; url, the first; port, of that, 0 for a unix socket;
# apart, those for others than clients, by the names of the settings).
places <- function(lines) {
  urls <- strsplit(lines, "\n", fixed = TRUE)[[1L]]
  is_apart <- grepl("^[a-z_]+ ", urls)
  apart <- stats::setNames(sub("^[a-z_]+ ", "", urls[is_apart]), sub(" .*", "", urls[is_apart]))
  urls <- urls[!is_apart]
  port <- if (startsWith(urls[[1L]], "unix:")) 0L else as.integer(sub(".*:", "", urls[[1L]]))
  list(urls = urls, url = urls[[1L]], port = port, apart = apart)
}

# Serves until dr_stop(), Ctrl-C or a signal; whether it was one of these two.
engine_block <- function() {
  repeat {
    outcome <- serve(modes$block)
    signals <- take_signals()
    if (signals[[1L]] || identical(outcome, interrupted)) return(TRUE)
    if (signals[[2L]]) {
      tryCatch(reload_session(), error = function(error) {
        log_line("error", paste("not reloaded:", conditionMessage(error)))
      })
    } else if (identical(outcome, outcomes$stopped) && !signals[[3L]]) {
      return(FALSE)
    }
    if (identical(run_callbacks(), interrupted)) return(TRUE)
  }
}

# Callbacks of 'later', and promises with them. One that fails, however it does, is logged like a handler that fails.
run_callbacks <- function() {
  if (!isNamespaceLoaded("later")) return(outcomes$quiet)
  outcome <- .Call(C_worker_guarded, callbacks, 0L)
  # Ctrl-C while one of them was serve_idle()
  if (isTRUE(engine$interrupted)) {
    engine$interrupted <- FALSE
    return(interrupted)
  }
  if (identical(outcome, outcomes$aborted)) log_line("error", "a callback failed: it jumped to top level")
  outcome
}

callbacks <- function(unused) {
  tryCatch(
    {
      # in a worker process nothing interrupts them, but R looks for time limits only where it looks for interrupts
      remembering_requests(allowInterrupts(run_due_callbacks()))
      outcomes$quiet
    },
    error = function(condition) {
      log_line("error", paste("a callback failed:", describe_condition(condition)))
      failed
    },
    interrupt = function(condition) interrupted
  )
}

# Requests have their turn after so many seconds of callbacks: of a thousand promises that are resolved at once, say.
callbacks_at_once <- 0.005

# Says in the loop whether more are due; when one fails, that is seen the next time.
run_due_callbacks <- function() {
  .Call(C_worker_leaves_callbacks, TRUE)
  if (run_callbacks_for(callbacks_at_once)) .Call(C_worker_leaves_callbacks, FALSE)
}

# Whether none is left that is due.
run_callbacks_for <- function(seconds) {
  end <- elapsed() + seconds
  while (later::run_now(0, all = FALSE)) {
    if (elapsed() >= end) return(FALSE)
  }
  TRUE
}

# Called from C, in a process without the thread of 'later': seconds until a callback is due.
callbacks_due_in <- function(unused) if (isNamespaceLoaded("later")) later::next_op_secs() else Inf

elapsed <- function() proc.time()[["elapsed"]]

# Whether a server that has begun to end at this time is to end now: it was told to end a second time, by Ctrl-C or
# a signal. Programs that send a signal both to a process and to its group mean it once.
told_twice <- function(began, interrupt) {
  terminate <- take_signals()[[1L]]
  (interrupt || terminate) && elapsed() - began >= 0.5
}

# Ends streams that have outlasted the time for it: each generator is called once more, to be told so. What takes longer
# than a second is not waited for.
end_streams <- function() {
  began <- elapsed()
  while (.Call(C_streams_end) && elapsed() - began < 1) {
    if (identical(serve(modes$drain), interrupted)) break
  }
}

# Serves for so many seconds, or until all connections of a server that drains have ended. `interrupted` when the server
# is told once more to end.
serve_for <- function(seconds) {
  began <- elapsed()
  while (elapsed() - began < seconds) {
    outcome <- serve(modes$drain)
    if (identical(outcome, outcomes$stopped)) return(outcome)
    called <- run_callbacks()
    if (told_twice(began, interrupted %in% c(outcome, called))) return(interrupted)
  }
  outcomes$quiet
}

# Ends the server when the requests in flight are answered, or after `graceful_timeout` seconds. For `drain_delay`
# seconds before, it goes on as it did.
engine_stop <- function(graceful_timeout, drain_delay) {
  engine$interrupted <- FALSE
  .Call(C_session_leave)
  told_again <- identical(serve_for(drain_delay), interrupted)
  .Call(C_session_drain)
  if (!told_again) serve_for(graceful_timeout)
  end_streams()
  .Call(C_session_close)
  give_up_tasks()
  engine$scope <- engine$on_error <- NULL
  invisible()
}
