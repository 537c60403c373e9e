# The settings of worker processes: what each may be, and how the supervisor is told. Their meaning is documented at
# dr_serve(). Neighbours: serve-settings.R, for those of the server itself; serve.R and run.R, which have them as
# arguments.

# Names and checks of the fields of supervisor::PoolOptions that are arguments by the same name.
pool_checks <- list(
  check_unused = check_seconds, max_age = check_seconds,
  max_requests = function(x, arg, call) check_count(x, arg, 0, call = call),
  max_rss = function(x, arg, call) check_size(x, arg, 0, call = call),
  max_lifetime = check_seconds_or_none,
  start_timeout = check_seconds
)

# Checks the arguments of dr_serve() and dr_run(), which stand in `frame`, where strings become numbers: list(settings,
# limits, pool).
serving_arguments <- function(frame, call) {
  settle_units(frame)
  settings <- mget(c(
    "host", "port", "threads", "cpp_workers", "debug", "case_sensitive", "errors", "on_client_gone",
    "log", "access_log", "access_log_format", "upload_path"
  ), envir = frame)
  limits <- mget(names(limit_checks), envir = frame)
  pool <- mget(names(pool_checks), envir = frame)
  settings$access_log_format <- check_choice(settings$access_log_format, "access_log_format", c("combined", "json"), call)
  settings$errors <- check_choice(settings$errors, "errors", c("auto", "json", "text"), call)
  check_settings(settings, limits, call)
  check_workers(frame$workers, call)
  check_hook(frame$on_worker_start, "on_worker_start", null = TRUE, call = call)
  check_hook(frame$on_worker_stop, "on_worker_stop", null = TRUE, call = call)
  check_flag(frame$block, "block", call)
  for (name in names(pool_checks)) pool_checks[[name]](pool[[name]], name, call = call)
  pool$n_min <- frame$workers[[1L]]
  pool$n_max <- frame$workers[[length(frame$workers)]]
  pool$start <- check_choice(frame$start, "start", c("fork", "spawn"), call)
  pool$graceful_timeout <- limits$graceful_timeout
  list(settings = settings, limits = limits, pool = pool)
}

# As the supervisor's own reader expects it: whole numbers as such.
pool_fields <- function(pool) {
  whole <- c("n_min", "n_max", "max_requests", "max_rss")
  pool[whole] <- lapply(pool[whole], whole_number)
  pool
}
