# Limits on requests in a time. Not for those that are waiting at a time: `max_queue` of dr_limits(). Neighbours:
# policy.R; the engine's crate admission, which counts.

#' Limit how many requests may pass in a time
#'
#' Requests beyond the limit are refused by the engine with 429, before R hears of them. The limit holds for all workers
#' together, for handlers in R and C, static files, WebSockets that are opened, and requests that nothing answers.
#'
#' Every response to a request that counts says how its client stands: `RateLimit-Policy` has the limits, as in
#' `"limit-1";q=100;w=60` (100 requests in 60 seconds), and `RateLimit` what is left, as in `"limit-1";r=42;t=17` (42
#' requests; after 17 seconds it is more). Both are as in draft-ietf-httpapi-ratelimit-headers-11. A refusal has
#' `Retry-After`, the first whole second at which the same request would pass, and the form of other errors of the
#' engine: that of [dr_on_error()], if there is such a function.
#'
#' Limits add up: a request has to pass all that cover it, and one that is refused counts for none. Pre-flights of
#' browsers, see [dr_cors()], do not count.
#'
#' @section Counting: `"fixed_window"` counts the requests of a window, which begins with its first one: twice the
#'   capacity may pass around its end. `"sliding_window"` counts those of the window before, too, by the part of it that
#'   is not longer ago than `window`. `"token_bucket"` has a bucket of `capacity` tokens, of which a request takes
#'   `cost`; it fills evenly within `window`: a burst may pass, and then an even stream.
#'
#' @section Clients: `key` says whose requests count together.
#'
#'   `"address"` is the client's; of IPv6 its first 64 bits, as a client has all addresses of such a network. What
#'   header fields say of addresses counts when it comes from `trusted_proxies`, see [dr_serve()]: behind a proxy that
#'   is not among them, all clients have the proxy's address.
#'
#'   `dr_key_header()`, `dr_key_cookie()` and `dr_key_param()` are for what clients send: a field, a cookie, or the
#'   value of a placeholder of the route, such as the name of an account. A client that makes up a new value for each
#'   request counts as a new client each time: add a limit by address, or for all clients. Requests without the value
#'   count together.
#'
#'   `dr_key_claim()` is for authenticated clients, see [dr_auth_jwt()]: a claim of the token that is a string or
#'   number, or `"sub"`, which is also the name of a user, token or key. Such a limit counts requests that have passed
#'   the others: a request that it refuses has counted there.
#'
#'   A limit remembers 65,536 clients, in 2 MB. When there are more, those are forgotten first that have used the least
#'   of their capacity, never one that is refused as long as there are others.
#'
#' @section Reloads: [dr_reload()] keeps the counts of limits that are the same afterwards. Counts are lost when the
#'   server ends.
#'
#' @param app An app, see [dr_app()].
#' @param capacity How many requests may pass in a window: a single integer in 1..100000000.
#' @param window The window in seconds: a single number, or a time such as `"1m"`.
#' @param type How requests are counted, see Details.
#' @param scope `"per_route"`: each route (method and path as registered) has a count of its own, and all static files
#'   and requests without a route together have one. `"global"`: one count for all that the limit covers.
#' @param routes Paths below which it holds: a character vector, such as `"/api"`, with placeholders as in [dr_get()];
#'   `NULL` for all paths of the app. What is mounted there, by whichever app, is covered.
#' @param key `NULL` for all clients together, `"address"`, or one of the functions below.
#' @param cost How many requests one counts for: a single integer in 1..`capacity`.
#' @param name A single string: of a header field, a cookie, a placeholder, or a claim.
#' @returns `app`, invisibly; it is changed in place. The functions for keys: an object for `key`.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_limits()] for sizes and for the number of requests that wait.
#' @examples
#' app <- dr_app()
#' dr_post(app, "/login/<user>", function(req) "...")
#' # a hundred requests a minute for each client, and bursts of no more than ten
#' dr_rate_limit(app, 100, "1m", scope = "global", key = "address")
#' dr_rate_limit(app, 10, "1s", "token_bucket", scope = "global", key = "address")
#' # guesses of passwords, wherever they come from
#' dr_rate_limit(app, 5, "1m", routes = "/login", key = dr_key_param("user"))
#' @export
dr_rate_limit <- function(app, capacity, window = 60, type = c("sliding_window", "fixed_window", "token_bucket"),
                          scope = c("per_route", "global"), routes = NULL, key = NULL, cost = 1) {
  check_registrar(app)
  check_count(capacity, "capacity", max = 1e8)
  window <- as_seconds(window)
  check_seconds(window, "window")
  # the engine counts in ms
  if (window < 0.001) stop_argument("window", "at least 0.001 seconds", window, sys.call())
  type <- check_choice(type, "type", c("sliding_window", "fixed_window", "token_bucket"))
  scope <- check_choice(scope, "scope", c("per_route", "global"))
  key <- check_key(key, sys.call())
  check_count(cost, "cost", max = capacity)
  limit <- list(capacity = capacity, window = window, type = type, scope = scope, key = key, cost = cost)
  add_policy(app, list(rate_limit = limit), routes, sys.call())
}

#' @rdname dr_rate_limit
#' @export
dr_key_header <- function(name) {
  check_string(name, "name")
  if (!is_token(name)) stop_argument("name", "the name of a header field, such as \"X-Api-Key\"", name, sys.call())
  key_of(header = tolower(name))
}

#' @rdname dr_rate_limit
#' @export
dr_key_cookie <- function(name) {
  check_string(name, "name")
  if (!is_token(name)) stop_argument("name", "the name of a cookie, such as \"session\"", name, sys.call())
  key_of(cookie = name)
}

#' @rdname dr_rate_limit
#' @export
dr_key_param <- function(name) {
  check_string(name, "name")
  right <- "the name of a placeholder, such as \"user\" of \"/login/<user>\""
  if (!grepl("^([A-Za-z_][A-Za-z0-9_]*|[*])$", name)) stop_argument("name", right, name, sys.call())
  key_of(param = name)
}

#' @rdname dr_rate_limit
#' @export
dr_key_claim <- function(name) {
  check_string(name, "name")
  if (!nzchar(name)) stop_argument("name", "the name of a claim, such as \"sub\"", name, sys.call())
  key_of(claim = enc2utf8(name))
}

# As the engine reads it.
key_of <- function(...) structure(list(...), class = "dr_key")

#' @export
print.dr_key <- function(x, ...) {
  cat(sprintf("<dr_key> %s %s\n", names(x), encodeString(x[[1L]], quote = "\"")))
  invisible(x)
}

check_key <- function(key, call) {
  if (is.null(key)) return("none")
  if (identical(key, "address")) return(key)
  if (inherits(key, "dr_key")) return(unclass(key))
  right <- "NULL, \"address\", or a value of dr_key_header(), dr_key_cookie(), dr_key_param() or dr_key_claim()"
  stop_argument("key", right, key, call)
}
