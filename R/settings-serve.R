# The arguments of dr_serve() and dr_run() as the engine and the supervisor take them. What each may be says the table
# (settings-table.R); here is what a table cannot say. Neighbours: settings-groups.R (those that come in groups),
# serve.R and serve-file.R, which have them as arguments.

# Checks the arguments of dr_serve() and dr_run(), which stand in `frame`; `old`: what their `...` holds. A list of
# settings, limits (those of time among them), workers and pool, with sizes in bytes and times in seconds.
serving_arguments <- function(frame, old, call) {
  own <- c(settings_of("serving"), "workers")
  values <- lapply(own, function(name) check_setting(name, frame[[name]], call))
  names(values) <- own
  groups <- settle_groups(mget(names(group_makers), envir = frame), old, call)
  warn_debug(values$debug, values$host)
  check_hook(frame$on_worker_start, "on_worker_start", null = TRUE, call = call)
  check_hook(frame$on_worker_stop, "on_worker_stop", null = TRUE, call = call)
  check_flag(frame$block, "block", call)
  limits <- c(groups$limits, groups$timeouts, values["max_queue"])
  workers <- values$workers
  list(
    settings = c(
      values[setdiff(own, c("max_queue", "workers"))],
      # which limits an app must not change: see route-defaults.R
      list(tls = tls_fields(frame$tls, call), given = as.list(attr(groups$limits, "given")))
    ),
    limits = limits,
    # one is the session itself; two that are the same are as many processes
    workers = as.integer(workers),
    pool = c(groups$pool, limits[c("drain_delay", "graceful_timeout")], list(
      n_min = workers[[1L]], n_max = workers[[length(workers)]]
    ))
  )
}

warn_debug <- function(debug, host) {
  open <- host[!grepl("^(127\\.|\\[?::1\\]?(:[0-9]+)?$|localhost(:[0-9]+)?$|unix:)", host)]
  if (debug && length(open)) {
    reached <- and_list(open)
    warning("`debug = TRUE` shows errors and tracebacks to every client that reaches ", reached, call. = FALSE)
  }
}

# The settings as the engine takes them: paths absolute, the server's own folder for large bodies made. It goes in
# end_serving(), or with the session.
prepare_settings <- function(settings) {
  for (name in c("log", "access_log")) {
    log <- settings[[name]]
    if (!log %in% c("stderr", "none")) settings[[name]] <- file.path(normalizePath(dirname(log)), basename(log))
  }
  # not in this session's tempdir(), where the next server would not find what this one left when it was killed
  beneath <- path.expand(settings$upload_path %||% dirname(tempdir()))
  folder <- .Call(C_uploads_make, beneath)
  if (is.list(folder)) {
    stop_drover("argument", paste0("`upload_path` must be a folder that exists or can be made, not ",
      encodeString(beneath, quote = "\""), ": ", folder[[1L]]), argument = "upload_path")
  }
  settings$upload_path <- folder
  if (!is.null(settings$admin_token)) settings$admin_token <- normalizePath(settings$admin_token, mustWork = FALSE)
  if (!is.null(settings$jobs_store)) {
    settings$jobs_store <- file.path(normalizePath(dirname(settings$jobs_store)), basename(settings$jobs_store))
  }
  settings$colours <- has_colours()
  settings$web <- file.path(system.file(package = "drover"), "web")
  settings$otel <- otel_variables()
  settings
}

# The variables of OpenTelemetry, by name; NULL when there are none.
otel_variables <- function() {
  all <- unclass(Sys.getenv())
  found <- as.list(all[startsWith(names(all), "OTEL_")])
  if (length(found)) found
}

# The pool as the supervisor's own reader expects it: whole numbers as such.
pool_fields <- function(pool) {
  whole <- c("n_min", "n_max", "max_requests", "max_rss")
  pool[whole] <- lapply(pool[whole], whole_number)
  pool$pools <- as.list(pool$pools)
  pool
}

# Whether the terminal has colours, and the user has not turned them off (no-color.org).
has_colours <- function() !Sys.getenv("TERM") %in% c("", "dumb") && !nzchar(Sys.getenv("NO_COLOR"))
