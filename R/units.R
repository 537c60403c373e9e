# Settings that may be given as strings: sizes and times with units, "auto" for the number of workers. The reader is the
# engine's, as that of the program's flags is. Neighbours: check.R (which judges the numbers), serve-settings.R.

# Arguments of dr_serve() that are sizes in bytes, or bytes per second.
size_settings <- c(
  "max_request_line", "max_header_field", "max_header_size", "max_body", "spool_above", "min_body_rate", "max_rss"
)

# Those that are times in seconds.
time_settings <- c(
  "header_timeout", "body_timeout", "write_timeout", "keep_alive", "timeout", "queue_timeout", "graceful_timeout",
  "kill_after", "check_unused", "max_age", "max_lifetime", "start_timeout"
)

# Bytes for "10MB", seconds for "30s". What is no such string stays as it is, for the check to refuse.
as_bytes <- function(x) read_unit(x, FALSE)
as_seconds <- function(x) read_unit(x, TRUE)

read_unit <- function(x, time) {
  if (!is_string(x)) return(x)
  value <- .Call(C_units_read, enc2utf8(x), time)
  if (is.nan(value)) x else value
}

# The arguments of dr_serve() and dr_run(), which stand in `frame`, as numbers.
settle_units <- function(frame) {
  for (name in size_settings) frame[[name]] <- as_bytes(frame[[name]])
  for (name in time_settings) frame[[name]] <- as_seconds(frame[[name]])
  if (identical(frame$workers, "auto")) frame$workers <- .Call(C_usable_cores)
}
