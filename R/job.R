# Jobs: what is computed after its request was answered. The engine accepts them, keeps them, has workers run their
# handlers and says what became of them: src/rust/crates/engine/src/jobs. Neighbours: app-routes.R; progress.R, by which
# a handler says how far it is.

#' Register a handler for jobs
#'
#' Registers a handler whose computation takes long. A POST request is answered at once, with 202 and the address of a
#' job; the handler is called later, with that request, when a worker can be spared. At its address clients ask for the
#' job:
#'
#' | request | answer |
#' |---|---|
#' | `POST path` | 202 with the state of the job; the field `Location` is its address |
#' | `GET path/ID` | 200 with its state; with `Prefer: wait=30`, at its end, or after so many seconds (60 at most) |
#' | the same with `Accept: text/event-stream` | its state whenever that changes, until it is over |
#' | `GET path/ID/result` | what the handler has returned; 202 with the state before the end; 409 if there is none |
#' | `DELETE path/ID` | 200: it is cancelled, and interrupted if it runs; 204: it was over, and is forgotten |
#'
#' The state is an object of JSON with `id`, `state` (`"waiting"`, `"scheduled"` until its next attempt, `"running"`,
#' `"done"`, `"failed"`, `"cancelled"`), `attempt`, `created`, `began`, `ended`, `progress` (what [dr_progress()] has
#' said), `error`, `url`, and `result`, the address of the result once it is there.
#'
#' A client that is not sure whether its POST has arrived sends it again, with the same field `Idempotency-Key` in both:
#' it gets the same job.
#'
#' @section At least once: With `jobs_store` of [dr_serve()], a file, a job that was accepted is run even if its
#'   worker, the server or the machine dies meanwhile: then there is another attempt, up to three of them in all. So
#'   the handler should bear to be called twice for the same job: `req$job$id` is the same for all attempts. A job
#'   never has the result of an earlier attempt. Without `jobs_store`, jobs end with the server.
#'
#'   A handler that fails (an error, a status of 500 and above, its `timeout`) is called again as often as `retries`
#'   says. A status of 400 to 499, as by [dr_abort()], is the end of the job: the same request would fail again.
#' @section What the handler gets: The request as it was sent, with its types, `req$auth` and `req$session`. The
#'   fields by which clients authenticate, such as `Authorization` and `Cookie`, are not kept. Middleware ([dr_use()])
#'   is called with the handler, for each attempt; what the server decides without R, such as [dr_auth_bearer()] or
#'   [dr_rate_limit()], is decided for each request to one of the addresses. The identifier of a job has 128 random
#'   bits; without authentication, any client that knows it may ask for the job.
#' @inheritParams routes
#' @param path The path that accepts jobs: a single string.
#' @param handler A function as of [dr_post()]. What it returns is the result, of 64 MB at most.
#' @param timeout Longest time of an attempt in seconds, or a string such as `"30m"`; 0 for no limit. The handler is
#'   interrupted when it is over.
#' @param retries How often a job that has failed is tried again: a whole number.
#' @param backoff How long before the first such attempt, in seconds or a string; twice as long before each further one,
#'   and an hour at most.
#' @param keep How long a job that is over can be asked for, in seconds or a string such as `"7d"`.
#' @param at_once How many jobs of this path run at once: a whole number, or `NULL` for as many as `jobs_at_once` of
#'   [dr_serve()] lets run.
#' @param priority Of jobs that wait, those with a higher number go first: a whole number.
#' @param private `TRUE` for jobs that no client may ask for: [dr_enqueue()] has them run, and `every` and `cron` do.
#'   For clients the path and those below it do not exist; R asks for such jobs by [dr_job_state()] and its like.
#' @param every How often there is a job without a request, in seconds or a string such as `"1h"`; `NULL` for never:
#'   at whole multiples of that since 1970-01-01 UTC, so `"1d"` is at midnight UTC. There is none while the one before
#'   is not over, and one for all times that have passed without a server. The request has no body.
#' @param cron The same at times of day, instead of `every`: a line as of crontab, with minute, hour, day of the month,
#'   month and day of the week, such as `"30 8 * * MON-FRI"`, or `"@daily"`; `NULL` for never. A time that a change of
#'   the clock leaves out is the first moment after it, and one that comes twice is the first.
#' @param tz The time zone of `cron`, such as `"Europe/Berlin"`: one of [OlsonNames()].
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_enqueue()] for jobs that the app asks for itself, [dr_job_state()], [dr_progress()], [dr_jobs()],
#'   [dr_async()] for what a request waits for
#' @examples
#' app <- dr_app()
#' dr_job(app, "/fits", function(req) {
#'   n <- req$json$n
#'   estimates <- vapply(seq_len(n), function(i) {
#'     dr_progress(i, n, "resampling")
#'     rows <- sample(nrow(mtcars), replace = TRUE)
#'     coef(lm(mpg ~ wt, mtcars[rows, ]))[["wt"]]
#'   }, 0)
#'   list(estimate = mean(estimates), se = sd(estimates))
#' }, retries = 2, keep = "7d")
#' app
#' @export
dr_job <- function(app, path, handler, timeout = "1h", retries = 0L, backoff = "10s", keep = "1d", at_once = NULL,
                   priority = 0L, every = NULL, cron = NULL, tz = "UTC", params = NULL, body = NULL, response = NULL,
                   summary = NULL, description = NULL, tags = NULL, examples = NULL, deprecated = FALSE,
                   operation_id = NULL, max_body = NULL, private = FALSE, pool = NULL) {
  call <- sys.call()
  fun <- sys.function()
  job <- job_rules(retries, backoff, keep, at_once, priority, call)
  check_flag(private, "private")
  if (private) job$private <- TRUE
  job <- c(job, job_schedule(every, cron, tz, path, call))
  more <- mget(intersect(names(formals()), names(route_defaults)))
  job$path <- path
  add_route(app, "POST", path, handler, c(more, list(job = c(job, part = "accept"))), call, fun)
  if (private) return(invisible(app))
  below <- paste0(sub("/+$", "", path), "/<job>")
  # the engine answers these
  page <- function(method, path, part, ...) {
    given <- list(tags = tags, deprecated = deprecated, ...)
    more <- route_defaults
    more[names(given)] <- given
    add_route(app, method, path, function(req) NULL, c(more, list(job = c(job, part = part))), call, fun)
  }
  page("GET", below, "show")
  page("GET", paste0(below, "/result"), "result", response = response)
  page("DELETE", below, "cancel")
}

job_rules <- function(retries, backoff, keep, at_once, priority, call) {
  span <- function(x, arg) {
    x <- as_seconds(x)
    check_seconds_or_none(x, arg, call = call)
    as.numeric(x)
  }
  job <- list(
    retries = job_count(retries, "retries", 0, call = call),
    backoff = span(backoff, "backoff"), keep = span(keep, "keep"),
    priority = job_count(priority, "priority", -Inf, call = call)
  )
  job$at_once <- job_count(at_once, "at_once", 1, null = TRUE, call)
  job
}

job_count <- function(x, arg, least, null = FALSE, call) {
  if (null && is.null(x)) return(NULL)
  if (!(is_whole(x) && x >= least && abs(x) < 2^31)) {
    right <- if (is.finite(least)) paste("a whole number from", least, "on") else "a whole number"
    stop_argument(arg, paste0(right, if (null) ", or NULL"), x, call)
  }
  as.numeric(x)
}

# Whether a route is of jobs that no client may ask for.
is_private <- function(route) isTRUE(route$job$private)

# What the engine has to know of a route of jobs; NULL for others.
job_field <- function(route, prefix) {
  job <- route$job
  if (is.null(job)) return(NULL)
  job$kind <- paste("POST", join_path(prefix, job$path))
  job$path <- NULL
  job
}

# Around a handler of jobs: what it says of its progress goes to the server.
job_handler <- function(handler, job) {
  if (is.null(job)) return(handler)
  force(handler)
  function(req) {
    say <- function(done, total, message) {
      .Call(C_request_progress, req, as.numeric(c(done, total %||% NaN)), substr(enc2utf8(message %||% ""), 1L, 1000L))
    }
    reporting_progress(say, handler(req))
  }
}
