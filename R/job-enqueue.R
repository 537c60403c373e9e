# Jobs that the app asks for itself. Neighbours: job.R, which registers their handlers; src/commands.c.

#' Have a job run
#'
#' Has a job run as if a client had sent a POST request to its path, from any handler, also that of another job, or from
#' the session that serves. The job is written down when the function returns. Policies, such as [dr_auth_bearer()] and
#' [dr_rate_limit()], are for clients, and are not asked; types of the path hold.
#'
#' @param path What [dr_job()] has registered, with its placeholders filled in, as clients send it: a single string
#'   that starts with `"/"`. What a placeholder may not have as it is, `utils::URLencode(x, reserved = TRUE)` escapes.
#' @param query,form Named lists or vectors of strings and numbers, which are escaped.
#' @param body A single string or a raw vector.
#' @param json Any value, sent as [dr_to_json()] writes it, with single values as such. At most one of `body`, `json`
#'   and `form`.
#' @param key Names the job, among those that the app has had run at its path: as long as there is one with this name,
#'   it is that one, and no other is made. A single string of at most 255 bytes, or `NULL`.
#' @param at When it may begin: a `POSIXct`, or how long from now, in seconds or a string such as `"10m"`; `NULL` for
#'   now.
#' @param priority Of jobs that wait, those with a higher number go first: a whole number, or `NULL` for that of the
#'   path.
#' @param auth Whom it is for, as `req$auth` says it, which its handler then has; or `NULL`.
#' @returns The identifier of the job, a string, for [dr_job_state()] and its like. Its address is `path`, a slash, and
#'   this, unless the job is private.
#' @section Errors: `drover_error_argument` when an argument is not as described. `drover_error_jobs` when there is no
#'   job: `path` accepts none, the request does not have the types that the path declares, there are too many jobs
#'   (`max_jobs`, `max_jobs_size`), or they cannot be written down. `drover_error_state` when no server runs in this
#'   session, or it does not answer within ten seconds: then it is not known whether there is a job, and with `key` it
#'   can be asked for again.
#' @seealso [dr_job()], [dr_job_state()] for what becomes of it, [dr_async()] for what a request waits for
#' @examples
#' app <- dr_app()
#' dr_job(app, "/mails/<user>", function(req) paste("written to", req$params$user))
#' dr_post(app, "/orders", function(req) {
#'   job <- dr_enqueue("/mails/ann", json = list(order = 7), key = "order 7", at = "10m")
#'   list(mail = job)
#' })
#'
#' client <- dr_test(app)
#' client$post("/orders")$status
#' client$stop()
#' @export
dr_enqueue <- function(path, query = NULL, body = NULL, json = NULL, form = NULL, key = NULL, at = NULL,
                       priority = NULL, auth = NULL) {
  call <- sys.call()
  if (!is_string(path) || !startsWith(path, "/")) {
    stop_argument("path", "a single string that starts with \"/\"", path, call)
  }
  if (!is.null(query)) path <- paste0(path, "?", sent_pairs(query, "query", call))
  content <- sent_content(body, json, form, !missing(json), call)
  how <- list(
    content_type = content$type, key = job_key(key, call), due = job_due(at, call),
    priority = job_count(priority, "priority", -Inf, null = TRUE, call), auth = job_auth(auth, call)
  )
  how <- dr_to_json(Filter(Negate(is.null), how), auto_unbox = TRUE)
  answer <- .Call(C_job_enqueue, enc2utf8(path), c(charToRaw(how), as.raw(10L), content$bytes))
  told <- answer[[2L]]
  if (!length(told)) stop_no_answer()
  if (answer[[1L]] == 0) stop_drover("jobs", told, call = call)
  told
}

job_key <- function(key, call) {
  if (is.null(key) || (is_string(key) && nzchar(key) && nchar(key, "bytes") <= 255L)) return(key)
  stop_argument("key", "a single string of 1 to 255 bytes, or NULL", key, call)
}

# As JSON. What the server finds out of a client is a list with `scheme` and more.
job_auth <- function(auth, call) {
  if (is.null(auth)) return(NULL)
  if (!is_object(auth) || !is_string(auth$scheme)) stop_argument("auth", "`req$auth`, or NULL", auth, call)
  as.character(dr_to_json(auth, auto_unbox = TRUE, null = "null"))
}

# In ms since 1970; NULL for now.
job_due <- function(at, call) {
  if (is.null(at)) return(NULL)
  if (inherits(at, "POSIXct") && length(at) == 1L && is.finite(at)) return(max(0, round(as.numeric(at) * 1000)))
  delay <- as_seconds(at)
  if (!is.numeric(delay) || length(delay) != 1L || !is.finite(delay) || is.object(delay) || delay < 0) {
    stop_argument("at", "a POSIXct, or how long from now in seconds or as a string such as \"10m\", or NULL", at, call)
  }
  round((as.numeric(Sys.time()) + delay) * 1000)
}
