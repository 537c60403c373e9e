# A session whose handlers run in worker processes: it receives their events (src/service.c), may be forked for them,
# and otherwise has nothing to do with requests. Neighbours: serve.R and serve-file.R (which start it), worker-zygote.R,
# worker-spawn.R.
#
# Fields of `server` that are used here: renew (a function that gives the supervisor a new source of workers), adopt
# (one that gives it another zygote of the present generation), proven (called when a new generation has taken over),
# files (paths to be deleted at the end).

# dr_serve() with worker processes. What service_start() gives.
serve_by_processes <- function(app, config, pool, compiled, on_worker_start, on_worker_stop, call) {
  hooks <- worker_hooks(app, on_worker_start, on_worker_stop)
  renew_from(app, config, pool, compiled, hooks, on_worker_start, on_worker_stop, call)
  if (identical(pool$start, "spawn")) return(service_start(config, pool, server$renew(), call))
  # nothing of a server is open yet: what later forks have to close is told by what is open now
  .Call(C_fork_safety_before_serving)
  service_start(config, pool, server$adopt(), call)
}

# Where new workers come from, from now on.
renew_from <- function(app, config, pool, compiled, hooks, on_worker_start, on_worker_stop, call) {
  if (identical(pool$start, "spawn")) {
    server$renew <- function() {
      file <- save_object(app, on_worker_start, on_worker_stop, call)
      server$files <- c(server$files, file)
      server$proven <- function() {
        unlink(setdiff(server$files, file))
        server$files <- file
      }
      program_source(c("--object", file))
    }
  } else {
    fork_from(app, config, compiled, hooks, on_worker_start, on_worker_stop)
  }
}

# How zygotes are forked from now on. A generation keeps its handlers: another zygote for it has the same, though the
# app may have changed meanwhile; a new generation has those of the app as it is then.
fork_from <- function(app, config, compiled, hooks, on_worker_start, on_worker_stop) {
  server$adopt <- function() fork_zygote(config, compiled, hooks)
  server$renew <- function() {
    new <- list(compiled = compile_app(app), hooks = worker_hooks(app, on_worker_start, on_worker_stop))
    server$proven <- function() {
      server$apps <- app_tree(app)
      for (one in server$apps) one$serving <- TRUE
      fork_from(app, config, new$compiled, new$hooks, on_worker_start, on_worker_stop)
    }
    fork_zygote(config, new$compiled, new$hooks)
  }
}

# Starts the server and waits until it listens. What places() makes, and `counts`; when it fails, nothing is left
# running.
service_start <- function(config, pool, source, call) {
  open_console()
  urls <- .Call(C_service_open, plain_json(config_fields(config)), plain_json(pool_fields(pool)), source)
  if (is.list(urls)) stop_start(urls)
  started <- FALSE
  on.exit(if (!started) .Call(C_service_close))
  # without workers at first it is loaded when it is asked for
  counts <- if (pool$n_min > 0) {
    loaded <- service_wait("loaded", give_up = failures)
    if (!identical(loaded$what, "loaded")) stop_service(loaded, call)
    parts_of(loaded$numbers[3:6])
  }
  event <- service_wait("listening", give_up = failures)
  if (!identical(event$what, "listening")) stop_service(event, call)
  started <- TRUE
  c(places(urls), list(counts = counts))
}

# How many there are of what, for announce().
parts_of <- function(numbers) {
  counts <- with_names(numbers, c("routes", "cpp_routes", "static", "ws_routes"))
  # most apps have none
  counts[names(counts) != "ws_routes" | counts > 0]
}

# Events that say that the server could not be started, and the classes of their conditions.
failures <- c("failed_listen", "failed_load", "failed_worker", "failed_system")

stop_service <- function(event, call) {
  text <- event$text %||% NA_character_
  if (is.na(text)) text <- "the server ended while it was starting"
  if (identical(event$what, "failed_worker")) {
    stop_drover("hook", text, call = call, class = "drover_error_worker")
  }
  what <- c(failed_listen = "listen", failed_load = "load")[event$what]
  stop_drover(if (is.na(what)) "system" else what, text, call = call)
}

# Waits for one of these events, or for the end. Ctrl-C gets out of it.
service_wait <- function(wanted, give_up = character()) {
  repeat {
    while (!is.null(event <- service_news())) {
      if (event$what %in% c(wanted, give_up, "stopped")) return(event)
    }
    .Call(C_service_wait, 1)
  }
}

# The next event, after doing what it asks of this session; NULL when there is none.
service_news <- function() {
  event <- .Call(C_service_news)
  if (identical(event$what, "zygote_lost")) lend_zygote()
  if (identical(event$what, "reload_wanted")) reload_as_wanted()
  if (identical(event$what, "reloaded") && is.function(server$proven)) server$proven()
  if (!is.null(event) && event$what %in% c("reloaded", "reload_failed")) server$proven <- NULL
  event
}

# The zygote has died: the workers there are go on, but new ones need another.
lend_zygote <- function() {
  problem <- tryCatch(.Call(C_service_renew, server$adopt(), TRUE), error = function(error) conditionMessage(error))
  if (is.null(problem) || !service_running()) return(invisible())
  message("drover: ", problem, "; it is tried again in a second")
  later::later(function() if (service_running()) lend_zygote(), 1)
  invisible()
}

# The dashboard's user wants the app as it is now; when that fails, the workers from before go on.
reload_as_wanted <- function() {
  tryCatch(service_reload(NULL), error = function(error) message("drover: not reloaded: ", conditionMessage(error)))
}

# Has the supervisor load a new generation; an event tells how it went.
service_reload <- function(call) {
  problem <- tryCatch(.Call(C_service_renew, server$renew(), FALSE), error = function(error) conditionMessage(error))
  if (!is.null(problem)) stop_drover("reload", problem, call = call)
}

# Called from C, as a callback of 'later', when there are events and the session is idle.
service_idle <- function(unused) {
  while (!is.null(event <- service_news())) {
    if (identical(event$what, "stopped")) {
      message("drover: the server has stopped")
      return(service_over())
    }
  }
  invisible()
}

service_over <- function() {
  .Call(C_service_close)
  end_serving()
}

# Ends the server when the requests in flight are answered, or after `graceful_timeout` seconds.
service_stop <- function(graceful_timeout) {
  .Call(C_service_end, graceful_timeout)
  began <- elapsed()
  wait <- function() {
    .Call(C_service_wait, 1)
    FALSE
  }
  repeat {
    event <- service_news()
    if (identical(event$what, "stopped")) break
    if (is.null(event) && told_twice(began, tryCatch(wait(), interrupt = function(condition) TRUE))) break
  }
  .Call(C_service_close)
  invisible()
}
