# Sessions: what an app keeps with its clients, in a sealed cookie. Not for other cookies: response-cookie.R.
# Neighbours: policy.R; the engine's src/rust/crates/engine/src/edge/session.rs, which opens and seals.

#' Keep a session with each client
#'
#' `dr_session()` gives an app sessions: a list that a handler assigns to `req$session`, and that all handlers read
#' there when the same client comes again, in whichever worker, also after a reload. It is kept with the client, in a
#' cookie that is encrypted and signed (AES-256-GCM-SIV): clients can neither read nor change it.
#'
#' `req$session$user <- "ada"` changes the session, `req$session <- NULL` ends it, in handlers, middleware and the
#' handler of [dr_not_found()]: the client gets it with what the handler returns, as soon as a promise of it is kept. An
#' error ([dr_abort()]) changes no session. `dr_session_set()` does the same with a response, and goes first where a
#' handler does both.
#'
#' The engine opens and seals the cookie; the keys are the server's, and no worker has them when they come from a file
#' or environment variable. A cookie that is forged, broken, sealed with another key, or older than `max_age` is no
#' session: `req$session` is `NULL`, and there is no error.
#'
#' A session lasts for `max_age` from when it was set; set it again to prolong it. With `idle` it ends before that when
#' no request for a handler comes for so long: the engine renews its cookie with the responses of handlers.
#'
#' The server keeps nothing of a session: a client can send an old cookie again until that is over, and nothing can be
#' taken back from a client that has it. Keep what must be taken back elsewhere, and a key to it in the session.
#'
#' @section Keys: Make one with `openssl rand -hex 32`. The first one seals, all of them open: to change keys, put a new
#'   one before the old one, and remove the old one after `max_age`. What is said of files and variables of
#'   [dr_auth_basic()] holds for these, too.
#'
#' @param app An app, see [dr_app()].
#' @param keys The keys, the newest first, of at least 32 bytes each: a character vector, or `NULL`.
#' @param file A file with a key in each line, the newest first, or `NULL`; `#` begins a comment.
#' @param env Names of environment variables with a key each, the newest first: a character vector, or `NULL`.
#' @param name The name of the cookie: a single string. With the prefix `__Host-` browsers take it over TLS and from
#'   this host only.
#' @param max_age How long a session lasts: a single number of seconds, or a time such as `"12h"`.
#' @param idle How long a session lasts without a request: a single number of seconds, or a time such as `"30m"`; `NULL`
#'   for as long as `max_age`.
#' @param same_site `"Lax"`, `"Strict"` or `"None"`: whether requests that other sites cause carry the cookie.
#' @param secure `FALSE` to have the cookie sent without TLS, too; `name` must not begin with `__Host-` or `__Secure-`
#'   then. Browsers take secure cookies of `http://localhost`.
#' @param routes Paths below which there is a session: a character vector, such as `"/app"`, with placeholders as in
#'   [dr_get()]; `NULL` for all paths of the app. The closest one counts, as for [dr_cors()].
#' @param response A response, or anything else that a handler may return, which is made into one first.
#' @param session What to keep: a named list of what JSON can hold, or `NULL` to end the session. As JSON it may have
#'   2900 bytes: browsers take cookies of 4096 bytes.
#' @returns `dr_session()`: `app`, invisibly; it is changed in place. `dr_session_set()`: the response, a `dr_response`
#'   as [dr_response()] makes it, with which the client gets the session.
#' @section Errors: `drover_error_argument` when an argument is not as described, and when `session` is too long. A
#'   response with a session for a path that has none gets 500, and the log says why; so does an assignment of what is
#'   not as described.
#' @seealso [dr_set_cookie()] for cookies that clients may read, [dr_csrf()], which guards what cookies let in.
#' @examples
#' app <- dr_app()
#' dr_session(app, keys = strrep("0123456789abcdef", 4), max_age = "12h")
#' dr_get(app, "/count", function(req) {
#'   req$session$n <- sum(req$session$n, 1)
#'   list(visits = req$session$n)
#' })
#' dr_post(app, "/leave", function(req) dr_session_set(dr_redirect("/"), NULL))
#' @export
dr_session <- function(app, keys = NULL, file = NULL, env = NULL, name = "__Host-session", max_age = "12h",
                       idle = NULL, same_site = "Lax", secure = TRUE, routes = NULL) {
  check_registrar(app)
  call <- sys.call()
  check_cookie_keys(keys, "keys", call)
  of_env <- check_variables(env, "env", call, named = FALSE)
  check_cookie_keys(of_env, "env", call)
  file <- check_secret_file(file, call)
  check_some(list(keys, file, of_env), c("keys", "file", "env"), call)
  cookie <- check_sealed_cookie(name, max_age, secure, same_site, call)
  same_site <- check_choice(same_site, "same_site", c("Lax", "Strict", "None"))
  if (!is.null(idle)) {
    idle <- as_seconds(idle)
    check_seconds(idle, "idle")
    if (idle < 1 || idle > cookie$max_age) {
      stop_argument("idle", "at least one second, and at most `max_age`", idle, call)
    }
    cookie$idle <- idle
  }
  rule <- c(cookie, list(same_site = same_site, keys = as.list(enc2utf8(as.character(c(keys, unname(of_env)))))))
  rule <- c(rule, if (!is.null(file)) list(file = file))
  add_policy(app, list(session = rule), routes, call)
}

# Whether an app has sessions for some of its paths.
has_sessions <- function(app) any(vapply(app$policies, function(policy) "session" %in% names(policy$rule), NA))

# Puts around a handler what sends a session that it, or middleware around it, has assigned.
keeping_session <- function(handler) {
  force(handler)
  function(req) {
    value <- handler(req)
    if (is_promise(value)) value$then(function(value) with_session(value, req)) else with_session(value, req)
  }
}

with_session <- function(value, req) {
  assigned <- .Call(C_request_assigned_session, req)
  if (is.null(assigned)) return(value)
  response <- as_response(value)
  if (length(header_at(response$headers, session_field))) response else dr_session_set(response, assigned[[1L]])
}

# With the longest name and all attributes, sealed, this still is a cookie of less than 4096 bytes.
longest_session <- 2900L

# The header field by which the engine is told: a name that no field of a message can have, so that nothing that a
# handler passes on, such as the fields of another server, is taken for a session.
session_field <- ":session"

#' @rdname dr_session
#' @export
dr_session_set <- function(response, session) {
  response <- as_response(response)
  call <- sys.call()
  text <- ""
  if (!is.null(session)) {
    named <- is.list(session) && (!length(session) || (!is.null(names(session)) && all(nzchar(names(session)))))
    if (!named) stop_argument("session", "a named list, or NULL", session, call)
    if (!length(session)) session <- structure(list(), names = character())
    text <- to_json(session, list(auto_unbox = TRUE), call)
    size <- nchar(text, "bytes")
    if (size > longest_session) {
      problem <- sprintf(paste0(
        "`session` must not be longer than %d bytes as JSON, not %d: browsers take cookies of 4096 bytes; keep less ",
        "in it, such as a key to what is stored elsewhere"
      ), longest_session, size)
      stop_drover("argument", problem, call = call, argument = "session")
    }
  }
  headers <- response$headers
  headers[header_at(headers, session_field)] <- NULL
  added <- list(text)
  names(added) <- session_field
  response$headers <- c(headers, added)
  response
}
