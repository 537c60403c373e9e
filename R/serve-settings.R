# The settings of dr_serve(): what each may be. Their meaning is documented at dr_serve(), their defaults stand there
# too and agree with admission::Limits in the engine. Neighbour: serve.R.

# Names and checks of the fields of admission::Limits.
limit_checks <- list(
  # the engine's type for targets holds no more
  max_request_line = function(x, arg, call) check_size(x, arg, 1, 65534, call = call),
  max_header_field = check_size, max_header_size = check_size, max_headers = check_count,
  max_body = function(x, arg, call) check_size(x, arg, 0, call = call),
  spool_above = function(x, arg, call) check_size(x, arg, 0, call = call),
  max_parts = check_count, max_fields = check_count, max_json_depth = check_count, max_collisions = check_count,
  header_timeout = check_seconds, body_timeout = check_seconds,
  min_body_rate = function(x, arg, call) check_size(x, arg, 0, call = call),
  write_timeout = check_seconds, keep_alive = check_seconds, timeout = check_seconds_or_none,
  queue_timeout = check_seconds_or_none, graceful_timeout = check_seconds_or_none, kill_after = check_seconds,
  max_connections = check_count, max_queue = check_count,
  max_streams = function(x, arg, call) check_count(x, arg, 1, 2^31 - 1, call = call)
)

check_settings <- function(settings, limits, call) {
  check_count(settings$port, "port", 0, 65535, call = call)
  check_count(settings$threads, "threads", call = call)
  check_count(settings$cpp_workers, "cpp_workers", call = call)
  check_string(settings$host, "host", call = call)
  check_flag(settings$debug, "debug", call = call)
  check_flag(settings$case_sensitive, "case_sensitive", call = call)
  check_client_gone(settings$on_client_gone, call)
  check_string(settings$upload_path, "upload_path", null = TRUE, call = call)
  check_log(settings$log, "log", call)
  check_log(settings$access_log, "access_log", call)
  for (name in names(limit_checks)) limit_checks[[name]](limits[[name]], name, call = call)
  if (settings$debug && !grepl("^(127\\.|::1$|localhost$|unix:)", settings$host)) {
    warning("`debug = TRUE` shows errors and tracebacks to every client that reaches ", settings$host, call. = FALSE)
  }
}

# Also an argument of routes.
check_client_gone <- function(on_client_gone, call) {
  if (is.null(on_client_gone) || is_string(on_client_gone) && on_client_gone %in% c("finish", "interrupt")) return()
  stop_argument("on_client_gone", "\"finish\", \"interrupt\" or NULL", on_client_gone, call)
}

check_log <- function(log, arg, call) {
  right <- "\"stderr\", \"none\", or the path of a file in an existing folder"
  if (!is_string(log) || !nzchar(log)) stop_argument(arg, right, log, call)
  if (log %in% c("stderr", "none")) return(invisible())
  if (dir.exists(log) || !dir.exists(dirname(path.expand(log)))) stop_argument(arg, right, log, call)
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
  settings
}
