# Responses that the engine keeps and gives again. Neighbours: policy.R; the engine's crate cache, which decides what
# may be kept, and src/rust/crates/engine/src/edge/cache, which keeps it.

#' Keep responses, and give them again without R
#'
#' The engine keeps responses of handlers, and answers further requests for the same with them, without a worker,
#' however busy all are. Of concurrent requests for a response that is not kept, one goes to the handler; the others
#' wait for its response, so that a thousand clients with the same request at the same time cost one call of R.
#'
#' What may be kept follows the rules for shared caches (RFC 9111): responses to `GET`, complete, with neither
#' `no-store`, `no-cache` nor `private` in `Cache-Control`, without `Set-Cookie`, and not in answer to a request with
#' credentials (`Authorization`, `Cookie`, a client certificate), unless the response says `public` or `s-maxage`. The
#' lifetime in a response (`Cache-Control: max-age`, `s-maxage`, `Expires`) takes precedence over `ttl`. Errors are not
#' kept unless they state a lifetime, nor are streams. All other requests go to the handler as usual.
#'
#' A response from the cache has `Age`, in seconds. `Cache-Status` (RFC 9211) says what happened: `drover; hit; ttl=42`
#' (fresh for 42 seconds more; below 0: stale), `drover; fwd=miss; stored`, `drover; fwd=miss; collapsed` (it has waited
#' for another request), `drover; fwd=miss` (not kept), or `drover; fwd=bypass` (the request has credentials).
#'
#' @section The same request: scheme, host, path and query as they were sent, and the header fields that the response
#'   names in `Vary`. **What a handler reads beyond that must be in `vary`**: if it greets by `Accept-Language` without
#'   saying so in `Vary`, everybody gets the language of whoever came first. `key` leaves the other fields of a query
#'   out, such as those that campaigns add; a handler must then not read them.
#'
#' @section What is not kept any more: a request of another method (`POST`, `PUT`, `DELETE`, ...) that succeeds does
#'   away with what is kept for its path. [dr_reload()] empties the cache, as the code may have changed.
#'   `dr_cache_purge()` forgets what it is told: by path and query, by how those begin, or by tags, which a handler
#'   gives its response in a header field `Cache-Tag`, such as `"prices stock"`. Clients do not see that field. At the
#'   address `admin` of [dr_serve()], `POST /cache/purge?tag=prices` does the same for a script.
#'
#' @param app An app, see [dr_app()].
#' @param ttl How long a response is fresh that does not say so itself: whole seconds, or a time such as `"5m"`. `NULL`:
#'   it is not kept. It is for the statuses 200, 203, 301 and 308.
#' @param routes Paths below which it holds: a character vector, such as `"/api"`, with placeholders as in [dr_get()];
#'   `NULL` for all paths of the app.
#' @param key Names of the fields of the query that tell requests apart: a character vector, `character()` for none.
#'   `NULL` is all of the query, as it was sent.
#' @param vary Names of header fields that tell requests apart, beside those in the `Vary` of responses: a character
#'   vector.
#' @param stale_while_revalidate For so long after that, a response that is not fresh any more is given all the same,
#'   while the handler makes a new one: whole seconds, or a time.
#' @param stale_if_error For so long after that, it is given when there is an error instead of a new one (a status of
#'   500 and above: the handler fails, takes too long, or the queue is full): whole seconds, or a time.
#' @param credentials `TRUE` to treat requests with credentials like all others. Only if the answer is the same for all
#'   permitted clients, or `vary` names the fields that differ: otherwise a client gets another client's response.
#' @param etag `TRUE` to give responses an `ETag` that have none: a hash of the body. Clients that have a body already
#'   get 304 instead, also of responses that are not kept (of up to 1 MB, status 200).
#' @param max_bytes Most memory for all responses of this cache: bytes, or a size such as `"64MB"`. What is asked for
#'   least leaves first. Responses longer than half of it, or than 8 MB, are not kept.
#' @param obey_clients `TRUE` to let clients ask for what is not from the cache (`Cache-Control: no-cache`, `max-age`,
#'   `no-store`, `min-fresh`, `only-if-cached`). By default that does not count, as any client could have R work.
#' @param path The path and query of what is not to be kept any more, as clients send it: a single string, such as
#'   `"/prices?currency=EUR"`.
#' @param prefix How path and query of what is not to be kept any more begin: a single string; `"/"` for all.
#' @param tag A tag: a single string without spaces and commas.
#' @returns `dr_cache()`: `app`, invisibly; it is changed in place. `dr_cache_purge()`: how many responses were
#'   forgotten, an integer, invisibly.
#' @section Errors: `drover_error_argument` when an argument is not as described. `dr_cache_purge()`:
#'   `drover_error_state` when no server is running in this process, nor is this one of its workers.
#' @seealso [dr_header()], [dr_response()]
#' @examples
#' app <- dr_app()
#' dr_get(app, "/report", function(req) list(at = format(Sys.time()), mean = mean(rnorm(1e5))))
#' # at most one computation in a minute; when it fails, yesterday's is better than none
#' dr_cache(app, "1m", routes = "/report", key = character(), stale_while_revalidate = "10s", stale_if_error = "1d")
#'
#' dr_get(app, "/prices/<id>", function(req) {
#'   dr_response(list(id = req$params$id, price = 1), headers = list("Cache-Tag" = "prices"))
#' })
#' dr_cache(app, "1h", routes = "/prices", etag = TRUE)
#' dr_post(app, "/prices", function(req) list(forgotten = dr_cache_purge(tag = "prices")))
#' @export
dr_cache <- function(app, ttl = NULL, routes = NULL, key = NULL, vary = character(), stale_while_revalidate = 0,
                     stale_if_error = 0, credentials = FALSE, etag = FALSE, max_bytes = "64MB",
                     obey_clients = FALSE) {
  check_registrar(app)
  call <- sys.call()
  if (!is.null(ttl)) ttl <- check_whole_seconds(ttl, "ttl", call)
  vary <- check_field_names(vary, "vary", call)
  if ("*" %in% vary) stop_argument("vary", "names of header fields, without \"*\": nothing would be kept", "*", call)
  check_flag(credentials, "credentials")
  check_flag(etag, "etag")
  check_flag(obey_clients, "obey_clients")
  max_bytes <- as_bytes(max_bytes)
  check_size(max_bytes, "max_bytes", min = 65536)
  rule <- list(
    key = check_cache_key(key, call), vary = vary, credentials = credentials, etag = etag, obey_clients = obey_clients,
    stale_while_revalidate = check_whole_seconds(stale_while_revalidate, "stale_while_revalidate", call),
    stale_if_error = check_whole_seconds(stale_if_error, "stale_if_error", call),
    max_bytes = max_bytes
  )
  add_policy(app, list(cache = c(rule, if (!is.null(ttl)) list(ttl = ttl))), routes, call)
}

# HTTP has no others.
check_whole_seconds <- function(x, arg, call) {
  seconds <- as_seconds(x)
  check_seconds(seconds, arg, zero = TRUE, call = call)
  if (seconds != round(seconds)) stop_argument(arg, "a whole number of seconds", x, call)
  seconds
}

check_cache_key <- function(key, call) {
  if (is.null(key)) return("query")
  right <- "NULL or names of fields of the query: a character vector"
  list(fields = check_strings(key, "key", right, nzchar, call))
}

#' @rdname dr_cache
#' @export
dr_cache_purge <- function(path = NULL, prefix = NULL, tag = NULL) {
  call <- sys.call()
  ways <- list(path = path, prefix = prefix, tag = tag)
  given <- which(!vapply(ways, is.null, NA))
  if (length(given) != 1L) {
    stop_drover("argument", "give one of `path`, `prefix` and `tag`", argument = "path", call = call)
  }
  arg <- names(ways)[[given]]
  value <- ways[[given]]
  check_string(value, arg, call = call)
  if (arg == "tag") {
    if (grepl("[ ,]", value) || !nzchar(value)) stop_argument("tag", "a string without spaces and commas", value, call)
  } else if (!startsWith(value, "/")) {
    stop_argument(arg, "a string that starts with \"/\"", value, call)
  }
  invisible(.Call(C_cache_purge, given - 1L, enc2utf8(value)))
}
