# The jobs of the server of this session. Neighbours: job.R, which registers their handlers; the program's
# `drover jobs`, which asks servers of its own, and has jobs retried and cancelled.

#' Jobs of the server
#'
#' Lists the jobs ([dr_job()]) that the server of this session has, the latest first. Those of servers of the program
#' `drover` are listed, retried and cancelled by `drover jobs`.
#'
#' @param state The state that they are in: `"waiting"`, `"running"`, `"scheduled"`, `"done"`, `"failed"` or
#'   `"cancelled"`; `NULL` for all.
#' @param kind The method and path that have accepted them, such as `"POST /fits"`; `NULL` for all.
#' @param limit How many to list at most: a single integer.
#' @returns A data frame with a row for each, and the columns `id`, `kind`, `state`, `attempt` (an integer), `created`,
#'   `began` and `ended` (each a `POSIXct` in UTC, `NA` before it is so) and `error` (`NA` without one). Without rows
#'   when there are none, or no server.
#' @section Errors: `drover_error_argument` when an argument is not as described. `drover_error_jobs` when the store of
#'   jobs cannot be read. `drover_error_not_running` in a worker process.
#' @seealso [dr_job()]
#' @examples
#' app <- dr_app()
#' dr_job(app, "/fits", function(req) coef(lm(mpg ~ wt, mtcars)))
#' dr_serve(app, port = 0, block = FALSE, log = "none")
#' dr_jobs(state = "failed")
#' dr_stop()
#' @export
dr_jobs <- function(state = NULL, kind = NULL, limit = 50L) {
  call <- sys.call()
  check_choice_or_null(state, "state", job_states, call)
  check_string(kind, "kind", null = TRUE, call)
  check_count(limit, "limit", max = .Machine$integer.max, call = call)
  check_not_process(call)
  text <- .Call(C_service_jobs, told_or_all(state), told_or_all(kind), limit)
  found <- if (!is.null(text)) from_own_json(text)
  if (!is.null(found$Err)) stop_drover("jobs", found$Err, call = call)
  job_rows(found$Ok)
}

# As the engine names them: jobs/src/job.rs.
job_states <- c("waiting", "running", "scheduled", "done", "failed", "cancelled")

# Of a time as the engine writes it.
job_time <- function(text) as.POSIXct(text, format = "%Y-%m-%dT%H:%M:%OSZ", tz = "UTC")

told_or_all <- function(x) if (is.null(x)) "" else x

job_rows <- function(jobs) {
  text <- function(name) {
    vapply(jobs, function(job) if (is.null(job[[name]])) NA_character_ else job[[name]], "")
  }
  time <- function(name) job_time(text(name))
  data.frame(
    id = text("id"), kind = text("kind"), state = text("state"),
    attempt = vapply(jobs, function(job) as.integer(job$attempt), 1L),
    created = time("created"), began = time("began"), ended = time("ended"), error = text("error")
  )
}
