# Reading a request from R: accessors, and how a request is printed. The object itself is made in C, with fields that
# cost nothing until they are touched (src/request.c). Not for parsing: the engine and the crate `fields` do that.

#' The request that handlers get
#'
#' A handler is called with one argument, the request. Its fields are read with `$`; each is computed when it is first
#' read. Any field, also a new one, may be assigned: code that runs later sees the new value.
#'
#' Fields that have names themselves are read by `$` and `[[` again, which give `NULL` where there is none of a name:
#' `req$params$id`, `req$query$q`, `req$headers$host`, `req$headers[["user-agent"]]`, `req$cookies$session`,
#' `req$form$title`. `as.list(req)`, `names(req)` and `str(req)` show all there is.
#'
#' Query, headers, cookies and form fields are lists of class `dr_fields`: names are compared as a whole (`req$query$q`
#' is not what a client sends as `quality`), of a name that comes several times `$` and `[[` give the last value, and
#' `req$query[]` is all of them as a named character vector.
#'
#' @format An environment with class attribute `dr_request` and these fields:
#' \describe{
#'   \item{`method`}{`"GET"`, `"POST"`, ...: a string.}
#'   \item{`path`}{The path, percent-decoded, without the query: a string.}
#'   \item{`url`}{Path and query as they were sent: a string.}
#'   \item{`base_path`}{What stands before `path` and `url` for clients, such as `"/app"`: a string without a slash at
#'     its end, `""` when that is nothing. Links to the app's own paths begin with it:
#'     `paste0(req$base_path, "/notes")`. See `base_path` of [dr_serve()].}
#'   \item{`query`}{The fields of the query, decoded, then those of an `application/x-www-form-urlencoded` body: a named
#'     list of strings. Repeated names are kept: `dr_query(req, name, all = TRUE)`.}
#'   \item{`params`}{The values of the placeholders in the route's path: a named list, of strings or what the types of
#'     the placeholders say.}
#'   \item{`headers`}{The header fields: a named list of strings, names in lower case. Repeated ones are one string,
#'     joined by `", "` (RFC 9110, section 5.3), those of `Cookie` by `"; "`.}
#'   \item{`cookies`}{The cookies: a named list of strings.}
#'   \item{`body`}{The body as text: a string, `""` when there is none; a raw vector when it is not valid UTF-8 text.}
#'   \item{`raw`}{The body's bytes: a raw vector.}
#'   \item{`json`}{The body, parsed as JSON like `jsonlite::fromJSON()` does. Reading it when the body is malformed is
#'     an error that is answered with 400.}
#'   \item{`form`}{The text fields of a form, urlencoded or multipart: a named list of strings. Repeated names are
#'     kept.}
#'   \item{`files`}{The files of a multipart body: a list named by field. Each is a list with `field`, `name` (the
#'     file's name at the client, without folders), `type`, `size` (bytes), and either `content` (a raw vector; `path`
#'     is `NA`) or, above `dr_limits(spool_above = )`, `path` (of a temporary file that is removed after the response;
#'     `content` is `NULL`).}
#'   \item{`remote_addr`, `remote_port`}{Address (a string) and port (an integer) of the client.}
#'   \item{`protocol`}{`"HTTP/1.1"` or `"HTTP/2"`.}
#'   \item{`scheme`, `host`}{`"http"` or `"https"`, and the host the client asked for: strings.}
#'   \item{`tls`}{What was agreed on in TLS: a named list of strings. `protocol` (`"TLSv1.3"`) and `cipher`,
#'     `server_name` (the name that the client asked for, if it asked for one), and of a client with a certificate,
#'     which was checked, `client_subject` and `client_issuer` (as in `"CN=Alice, O=Example"`), `client_serial`,
#'     `client_fingerprint` (SHA-256, in hexadecimal digits) and `client_not_after` (when it ends, in seconds since
#'     1970). `NULL` in cleartext.}
#'   \item{`auth`}{The authenticated client, if the app asks for credentials: a list with `scheme` (`"basic"`,
#'     `"bearer"`, `"key"` or `"jwt"`), `user` (the name of the user, token or key, or the claim `sub`: a string, or
#'     `NULL`) and, of a JSON Web Token, `claims` (a list, as JSON is read). `NULL` for a client without credentials.
#'     See [dr_auth_basic()].}
#'   \item{`session`}{What the app keeps with this client: the list that was assigned here before, or given to
#'     [dr_session_set()], as JSON reads it again; `NULL` when there is none. See [dr_session()].}
#'   \item{`job`}{The job that this is an attempt at, see [dr_job()]: a list with `id` (a string) and `attempt` (a
#'     number, from 1). `NULL` for other requests.}
#'   \item{`trace`}{The trace that the request belongs to (W3C Trace Context): a list. `trace_id` and `span_id` (what
#'     this server does for the request): strings of hexadecimal digits. `parent_id`, the span of the client: only where
#'     the client sent a valid `traceparent`; otherwise the trace is a new one, which follows from `id`. `sampled`: a
#'     logical. `traceparent`, and `tracestate` where a valid one came: header fields for requests that the handler
#'     makes of others.}
#'   \item{`id`}{The id of this request, as in the log and in the bodies of errors: a string.}
#'   \item{`route`}{The path of the route as registered, such as `"/users/:id"`: a string.}
#' }
#' @seealso [dr_header()] and the other accessors.
#' @examples
#' app <- dr_app()
#' dr_get(app, "/whoami", function(req) {
#'   list(address = req$remote_addr, agent = req$headers[["user-agent"]], route = req$route)
#' })
#' dr_get(app, "/greet/:name", function(req) {
#'   paste(if (is.null(req$query$formal)) "Hi" else "Good day", req$params$name)
#' })
#' @name request
#' @aliases req
NULL

# The arguments of an accessor. Handlers call it often, so what is right is decided without further calls.
check_asked <- function(req, name, null = FALSE) {
  if (!inherits(req, "dr_request")) check_request(req, call = sys.call(-1L))
  if (is.character(name) && length(name) == 1L && !is.na(name)) return()
  check_string(name, "name", null = null, call = sys.call(-1L))
}

# All values of one name in a named list, as `values` has them.
pick_all <- function(values, name, all) {
  check_flag(all, "all", call = sys.call(-1L))
  unname(values[names(values) == name])
}

#' Read a request
#'
#' `dr_header()`, `dr_param()`, `dr_query()`, `dr_cookie()` and `dr_files()` read one named value of a request;
#' `dr_body()` reads its body.
#'
#' @param req The request, as a handler gets it ([request]).
#' @param name The name: a single string, compared without regard to case by `dr_header()` and exactly by the others.
#'   `NULL`, where that is the default, gives all of them as they are in `req`.
#' @param all `TRUE` to get every value of `name`, in order, instead of the last one.
#' @param as What to read the body as: `"text"`, `"json"`, `"raw"` or `"form"`.
#' @returns
#' * `dr_header()`: a string, the values joined by `", "` when the header is repeated (RFC 9110, section 5.3), those of
#'   `Cookie` by `"; "`; `NULL` when there is none.
#' * `dr_param()`: the value of the placeholder: a string, or what its type says; `NULL` when the route has none of that
#'   name.
#' * `dr_query()`: a string, of several fields with that name the last one; `NULL` when there is none. With `all = TRUE`
#'   a character vector, maybe of length 0. Without `name` a named character vector. Fields of an urlencoded form count
#'   as well.
#' * `dr_cookie()`: a string or `NULL`; without `name` a named character vector.
#' * `dr_files()`: one file as a list ([request] has its fields), of several with that name the last one; `NULL` when
#'   there is none. With `all = TRUE` a list of files. Without `name` a list of all files, named by field.
#' * `dr_body()`: `"text"` a string, `""` when the body is empty; `"raw"` a raw vector; `"json"` the parsed value,
#'   `NULL` when the body is empty; `"form"` a named character vector.
#' @section Errors: `drover_error_argument` when an argument is not as described. `drover_error_body`, answered with 400
#'   when nothing catches it, when the body is not what `as` asks for: not JSON, or not UTF-8 text.
#' @examples
#' app <- dr_app()
#' dr_get(app, "/search", function(req) {
#'   list(term = dr_query(req, "q"), tags = dr_query(req, "tag", all = TRUE), agent = dr_header(req, "User-Agent"))
#' })
#' dr_post(app, "/sum", function(req) list(sum = sum(dr_body(req, "json")$numbers)))
#' dr_post(app, "/photos/:album", function(req) {
#'   photo <- dr_files(req, "photo")
#'   if (is.null(photo)) dr_abort(422, "send a file in the field 'photo'")
#'   list(album = dr_param(req, "album"), name = photo$name, bytes = photo$size)
#' })
#' @name accessors
NULL

#' @rdname accessors
#' @export
dr_header <- function(req, name) {
  check_asked(req, name)
  .Call(C_fields_pick, req$headers, tolower(name))
}

#' @rdname accessors
#' @export
dr_param <- function(req, name) .Call(C_request_pick, req, 4L, name)

#' @rdname accessors
#' @export
dr_query <- function(req, name = NULL, all = FALSE) {
  if (!is.null(name) && isFALSE(all)) return(.Call(C_request_pick, req, 3L, name))
  check_asked(req, name, null = TRUE)
  query <- req$query[]
  if (is.null(name)) query else pick_all(query, name, all)
}

#' @rdname accessors
#' @export
dr_cookie <- function(req, name = NULL) {
  if (!is.null(name)) return(.Call(C_request_pick, req, 6L, name))
  check_request(req)
  req$cookies[]
}

#' @rdname accessors
#' @export
dr_files <- function(req, name = NULL, all = FALSE) {
  if (!is.null(name) && isFALSE(all)) return(.Call(C_request_pick, req, 10L, name))
  check_asked(req, name, null = TRUE)
  if (is.null(name)) req$files else pick_all(req$files, name, all)
}

#' @rdname accessors
#' @export
dr_body <- function(req, as = "text") .Call(C_request_body, req, as)

# Called from C for what is not the usual case: a request that a test made, an argument that is wrong.
pick_slowly <- function(req, field, name) {
  call <- sys.call(-1L)
  check_request(req, call)
  check_string(name, "name", call = call)
  values <- req[[request_fields[[field + 1L]]]]
  at <- which(names(values) == name)
  if (length(at)) values[[at[[length(at)]]]]
}

body_slowly <- function(req, as, unused) {
  call <- sys.call(-1L)
  check_request(req, call)
  if (!is_string(as)) as <- ""
  switch(as,
    text = body_text(req),
    json = req$json,
    raw = req$raw,
    form = req$form[],
    stop_drover(
      "argument", "`as` must be one of \"text\", \"json\", \"raw\", \"form\"", argument = "as", call = call
    )
  )
}

# req$body, which is raw when the bytes are no text: here text was asked for, so that is the client's error.
body_text <- function(req) {
  body <- req$body
  if (is.character(body)) return(body)
  stop_field(400L, "the body is not UTF-8 text", call = sys.call(-1L))
}

# `"1"`, as is fit for a terminal or a log.
format_value <- function(value) if (is.character(value)) encodeString(value, quote = "\"") else format(value)

# `a = "1", b = "2"`
format_values <- function(values) {
  paste0(encodeString(names(values)), " = ", vapply(as.list(values), format_value, ""), collapse = ", ")
}

# Values of headers and cookies are not shown: they are credentials often enough.
#' @export
format.dr_request <- function(x, ...) {
  lines <- c(
    from = paste0(x$remote_addr, ":", x$remote_port),
    route = if (length(x$route) && !is.na(x$route)) encodeString(x$route),
    params = if (length(x$params)) format_values(x$params),
    query = if (length(x$query)) format_values(x$query),
    headers = if (length(x$headers)) paste(encodeString(names(x$headers)), collapse = ", "),
    cookies = if (length(x$cookies)) paste(encodeString(names(x$cookies)), collapse = ", "),
    body = if (length(x$raw)) count_of(length(x$raw), "byte")
  )
  c(
    paste("<dr_request>", encodeString(x$method), encodeString(x$url), x$protocol),
    paste0("  ", format(names(lines)), "  ", lines, recycle0 = TRUE)
  )
}

#' @export
print.dr_request <- function(x, ...) {
  writeLines(format.dr_request(x, ...))
  invisible(x)
}

# Every field, each computed now. `json` is NULL when the body is none.
#' @export
as.list.dr_request <- function(x, ...) {
  fields <- intersect(c(request_fields, sort(names(x))), names(x))
  all <- lapply(fields, function(field) {
    if (field != "json") return(x[[field]])
    tryCatch(x[[field]], drover_error_body = function(error) NULL)
  })
  names(all) <- fields
  all
}

#' @rawNamespace S3method(utils::str,dr_request)
str.dr_request <- function(object, ...) {
  cat("<dr_request>\n")
  utils::str(as.list.dr_request(object), no.list = TRUE, ...)
}
