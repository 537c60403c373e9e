# When there is a job by itself. Neighbours: job.R; src/rust/crates/engine/src/jobs/schedule.rs, which does the rest.

# list(every = ), in seconds, or list(cron =, tz =); NULL for never.
job_schedule <- function(every, cron, tz, path, call) {
  if (is.null(every) && is.null(cron)) return(NULL)
  arg <- if (is.null(cron)) "every" else "cron"
  if (!is.null(every) && !is.null(cron)) {
    stop_drover("argument", "give `every` or `cron`, not both", call = call, argument = "cron")
  }
  if (length(parse_path(path, call)$names)) {
    problem <- sprintf("`%s` needs a path without placeholders: there is no request that would fill them", arg)
    stop_drover("argument", problem, call = call, argument = arg)
  }
  if (arg == "every") return(list(every = job_span(every, call)))
  check_string(cron, "cron", call = call)
  check_string(tz, "tz", call = call)
  wrong <- .Call(C_job_cron_wrong, enc2utf8(cron), enc2utf8(tz))
  if (is.null(wrong)) return(list(cron = cron, tz = tz))
  if (startsWith(wrong, "there is no time zone")) stop_argument("tz", "one of OlsonNames()", tz, call)
  stop_argument("cron", "a line as of crontab, such as \"30 8 * * MON-FRI\"", cron, call, paste0(": ", wrong))
}

job_span <- function(every, call) {
  every <- as_seconds(every)
  check_seconds(every, "every", call = call)
  if (every < 1) stop_argument("every", "at least one second, or NULL", every, call)
  as.numeric(every)
}
