# What R asks of a job, by its identifier. Neighbours: job-enqueue.R, which gives that; job-list.R, for jobs in a data
# frame; src/rust/crates/engine/src/jobs/ask.rs, which answers.

#' Ask for a job
#'
#' Asks for a job from any handler, also that of another job, or from the session that serves: how it is, what has come
#' of it, that it does not run any more. Clients ask for the jobs that they have sent at their addresses: see
#' [dr_job()].
#'
#' @param id The identifier of a job: a single string.
#' @returns `dr_job_state()`: `NULL` when there is no such job, or not any more; or else a list of `id`, `state`
#'   (`"waiting"`, `"running"`, `"scheduled"`, `"done"`, `"failed"` or `"cancelled"`), `kind` (the method and path that
#'   accept such jobs), `attempt` (an integer), `created`, and, where there are such, `due`, `began` and `ended` (each a
#'   `POSIXct` in UTC), `progress` (a list of `done`, `total` and `message`), `error`, and the `key` of
#'   [dr_enqueue()].
#'
#'   `dr_job_result()`: what the handler has returned: of JSON the value as [dr_from_json()] reads it, of text a string,
#'   and otherwise a raw vector.
#'
#'   `dr_job_cancel()`: whether it does not run any more because of this, `TRUE` or `FALSE`, invisibly. It is `FALSE`
#'   for one that was over, and where there is no such job.
#' @section Errors: `drover_error_argument` when `id` is not as described. `drover_error_jobs` when there is no result,
#'   as the job is not over, has failed or was cancelled, or there is none; and when the store of jobs cannot be read.
#'   `drover_error_state` when no server runs in this session, or it does not answer within ten seconds.
#' @seealso [dr_enqueue()], [dr_job()], [dr_jobs()]
#' @examples
#' app <- dr_app()
#' dr_job(app, "/fits", function(req) coef(lm(mpg ~ wt, mtcars)), private = TRUE)
#' dr_post(app, "/models", function(req) list(job = dr_enqueue("/fits")))
#' dr_get(app, "/models/<id>", function(id) {
#'   state <- dr_job_state(id)
#'   if (is.null(state)) dr_abort(404L)
#'   if (state$state == "done") dr_job_result(id) else state["state"]
#' })
#'
#' client <- dr_test(app)
#' job <- client$post("/models")$json$job
#' client$get(paste0("/models/", job))$status
#' client$stop()
#' @export
dr_job_state <- function(id) {
  check_string(id, "id")
  state <- job_told(id)
  for (time in intersect(c("created", "due", "began", "ended"), names(state))) {
    state[[time]] <- job_time(state[[time]])
  }
  state
}

#' @rdname dr_job_state
#' @export
dr_job_result <- function(id) {
  call <- sys.call()
  check_string(id, "id")
  result <- job_result(id)
  if (!is.null(result$problem)) stop_drover("jobs", result$problem, call = call)
  if (is_json_type(result$type)) return(dr_from_json(utf8_text(result$body)))
  if (startsWith(result$type, "text/")) utf8_text(result$body) else result$body
}

#' @rdname dr_job_state
#' @export
dr_job_cancel <- function(id) {
  check_string(id, "id")
  invisible(ask_job("cancel", id)[[1L]][[1L]] == 1)
}

# As the engine knows them, from 0: JobAsk in src/rust/crates/wire/src/command.rs.
JOB_ASKS <- c("state", "keyed", "result", "cancel")

# list(numbers, list of raw vectors)
ask_job <- function(what, which, call = sys.call(-1L)) {
  answer <- .Call(C_job_ask, match(what, JOB_ASKS) - 1L, enc2utf8(which))
  if (!length(answer[[1L]])) stop_no_answer()
  if (answer[[1L]][[1L]] == 2) stop_drover("jobs", utf8_text(answer[[2L]][[1L]]), call = call)
  answer
}

# What dr_job_state() gives, with times as the engine writes them.
job_told <- function(id) told_of(ask_job("state", id))

# The same of the job of a kind that has this key.
job_told_by_key <- function(kind, key) told_of(ask_job("keyed", paste0(kind, "\n", key)))

told_of <- function(answer) if (answer[[1L]][[1L]] != 0) from_own_json(utf8_text(answer[[2L]][[1L]]))

# list(type, body), or list(problem).
job_result <- function(id) {
  answer <- ask_job("result", id)
  numbers <- answer[[1L]]
  switch(as.character(numbers[[1L]]),
    "1" = list(type = media_type(utf8_text(answer[[2L]][[1L]])), body = answer[[2L]][[2L]]),
    "3" = list(problem = utf8_text(answer[[2L]][[1L]])),
    list(problem = "there is no such job, or not any more")
  )
}
