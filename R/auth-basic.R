# Names and passwords. Neighbours: auth.R; auth-password.R, which makes hashes.

#' Require a name and password
#'
#' Requests below the paths that it covers need a name and a password (`Authorization: Basic`, RFC 7617), for which
#' browsers ask the user. The engine refuses all others with 401, before R hears of them; handlers read the user's name
#' in `req$auth$user`. Only hashes of passwords are kept, by Argon2: [dr_password_hash()] makes them.
#'
#' Use it with TLS ([dr_tls()], or a proxy): names and passwords are sent with each request as they are.
#'
#' A right password is looked at once, which takes tens of milliseconds, and remembered by a keyed hash: further
#' requests with it take microseconds. Wrong ones are looked at each time, on threads of their own; two at a time, and
#' 64 may wait. What comes then gets 503.
#'
#' @section Guesses: One address may send `max_failures` wrong passwords at once, and then one every
#'   60 / `max_failures` seconds. Further ones get 429 with `Retry-After`, as from [dr_rate_limit()], and are not looked
#'   at: that holds for right ones as well, unless they are remembered. A password counts while it is being looked at,
#'   so that many at once are no more than one after the other, and afterwards if it was wrong. Requests without
#'   credentials do not count, nor do credentials that cannot be read: all of them get 401.
#'
#'   The address is the one that limits count by, with `key = "address"`: of IPv6 its first 64 bits, and behind a proxy
#'   the client's only if the proxy is one of `trusted_proxies`, see [dr_serve()]. Otherwise all clients of the proxy
#'   share one bound. [dr_reload()] keeps the counts if this is registered as before. 65,536 addresses are counted, in
#'   2 MB; of more, those are forgotten first that have sent the fewest.
#'
#' @section Several ways: Those that are registered for the same paths, such as `dr_auth_basic(app)` and
#'   `dr_auth_jwt(app, ...)`, are alternatives: a request has to satisfy one of them. Of those for other paths the
#'   closest one counts alone, as for [dr_cors()]: that of a mounted app takes the place of that of the app around it.
#'
#'   What covers a path covers all that answers there: handlers in R and C, static files, WebSockets that are opened,
#'   and 404. Pre-flights of browsers pass, see [dr_cors()], and so do `/livez` and `/readyz`.
#'
#' @section Secrets: A file is read by the server when the app is loaded or loaded anew ([dr_reload()]): what is in it
#'   does not get into the memory of workers. A file that is missing or wrong is an error before the server listens;
#'   with a reload, the app from before goes on. Environment variables are read by R, and inherited by workers. Workers
#'   run as the same user as the server: whoever can run R code in a handler can read both.
#'
#' @param app An app, see [dr_app()].
#' @param users Hashes of passwords: a character vector with the names of the users, or `NULL`.
#' @param file A file of users, or `NULL`: `name:hash` in each line; `#` begins a comment.
#' @param realm What is guarded, as clients are told: a single string.
#' @param optional `TRUE` to let requests without any credentials pass, too: `req$auth` is `NULL` then. Wrong ones are
#'   refused all the same.
#' @param routes Paths below which it holds: a character vector, such as `"/admin"`, with placeholders as in [dr_get()];
#'   `NULL` for all paths of the app.
#' @param scopes What users may do: a list with their names, a character vector for each, such as
#'   `list(ada = c("read", "write"))`, or `NULL`. Handlers read them in `req$auth$scopes`.
#' @param scope Scopes that are needed, all of them: a character vector, or `NULL`. Right credentials without them get
#'   403.
#' @param max_failures How many wrong passwords one address may send within a minute: a single integer in 1..100000000,
#'   or `Inf` for any number.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described. What is wrong within a file is an
#'   error when the server starts.
#' @seealso [dr_auth_bearer()], [dr_auth_jwt()], [dr_session()]
#' @examples
#' app <- dr_app()
#' dr_get(app, "/admin/users", function(req) list(hello = req$auth$user))
#' dr_auth_basic(app, c(ada = dr_password_hash("correct horse")), routes = "/admin")
#' @export
dr_auth_basic <- function(app, users = NULL, file = NULL, realm = "restricted", optional = FALSE, routes = NULL,
                          max_failures = 10, scopes = NULL, scope = NULL) {
  check_registrar(app)
  call <- sys.call()
  right <- "hashes of passwords, as dr_password_hash() makes them, by names without \":\""
  fits <- function(x) startsWith(x, "$argon2") & !grepl(":", names(x), fixed = TRUE)
  users <- check_named(users, "users", right, fits, call)
  file <- check_secret_file(file, call)
  check_some(list(users, file), c("users", "file"), call)
  is_bounded <- !identical(max_failures, Inf)
  if (is_bounded) check_count(max_failures, "max_failures", max = 1e8, call = call, or = ", or Inf")
  bound <- if (is_bounded) list(max_failures = max_failures)
  by <- c(list(users = users), if (!is.null(file)) list(file = file), scopes_of(scopes, call), bound)
  add_auth(app, list(basic = by), realm, optional, routes, call, check_scopes(scope, call))
}
