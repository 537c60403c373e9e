# Making responses, changing them, and how they are printed. Not for what handlers return otherwise (response-of.R), nor
# for JSON (json.R). Neighbours: header.R; response-file.R; response-cookie.R.

#' Make a response
#'
#' What a handler returns when a bare string or list is not enough: a response with a status and header fields.
#'
#' @param body The body: a single string (sent as UTF-8), a raw vector, or `NULL` for none.
#' @param status The HTTP status: a single integer in 200..599.
#' @param headers Header fields: a named list of strings. A value of several strings becomes several fields; numbers are
#'   written out; `NULL` values are left out. A `Content-Type` given here wins over that of the function. Fields about
#'   framing and the connection (`Content-Length`, `Transfer-Encoding`, `Trailer` but for streams, `Connection`,
#'   `Keep-Alive`, `TE`, `Upgrade`) are the server's, and not sent.
#' @param location Where to: a single string, an absolute or relative URL. Characters that a URL cannot hold are
#'   percent-encoded.
#' @returns A list of class `dr_response` with `status` (integer), `body` (a string, a raw vector or `NULL`) and
#'   `headers` (a named list of strings, one for each field that is sent).
#'
#'   `dr_response()` without a `Content-Type` takes `text/plain; charset=utf-8` for a string and
#'   `application/octet-stream` for a raw vector; `dr_text()` and `dr_html()` take `text/plain; charset=utf-8` and
#'   `text/html; charset=utf-8`; `dr_redirect()` has no body.
#' @section Errors: `drover_error_argument` when an argument is not as described, among others when a name or value of
#'   `headers` or `location` holds line breaks or other control characters.
#' @seealso [dr_json()], [dr_file()], [dr_set_header()], [dr_set_cookie()], [dr_abort()]
#' @examples
#' dr_response("created", status = 201L, headers = list(Location = "/notes/7"))
#' dr_html("<h1>Hello</h1>")
#' dr_redirect("/login")
#' dr_response(as.raw(1:3), headers = list("Content-Type" = "application/x-three-bytes"))
#' @export
dr_response <- function(body = "", status = 200L, headers = list()) {
  if (nargs() > 1L) check_names()
  new_response(body, status, headers, if (is.raw(body)) "application/octet-stream" else "text/plain; charset=utf-8")
}

#' @rdname dr_response
#' @export
dr_text <- function(body = "", status = 200L, headers = list()) {
  if (nargs() > 1L) check_names()
  new_response(body, status, headers, "text/plain; charset=utf-8")
}

#' @rdname dr_response
#' @export
dr_html <- function(body = "", status = 200L, headers = list()) {
  if (nargs() > 1L) check_names()
  new_response(body, status, headers, "text/html; charset=utf-8")
}

#' @rdname dr_response
#' @export
dr_redirect <- function(location, status = 302L, headers = list()) {
  if (nargs() > 1L) check_names()
  check_string(location, "location")
  if (has_control(location)) {
    stop_drover("argument", "`location` must not hold line breaks or other control characters", argument = "location")
  }
  check_count(status, "status", 300, 399)
  headers <- check_headers(headers)
  headers[header_at(headers, "location")] <- NULL
  response_of(as.integer(status), NULL, c(list(Location = percent_encode(location, url_bytes)), headers))
}

# The canonical form, of parts that are known to be right.
response_of <- function(status, body, headers) {
  response <- list(status = status, body = body, headers = headers)
  # not structure(), which takes several times as long
  class(response) <- "dr_response"
  response
}

# `type`: the Content-Type that `headers` may replace. Most requests end here, so the usual case is one call.
new_response <- function(body, status, headers, type, call = sys.call(-1L)) {
  response <- .Call(C_plain_response, body, status, headers, type)
  if (!is.null(response)) return(response)
  body <- check_body(body, call)
  if (!identical(status, 200L)) {
    check_count(status, "status", 200, 599, call = call)
    status <- as.integer(status)
  }
  if (is.null(body)) {
    headers <- check_headers(headers, call)
  } else if (length(headers)) {
    headers <- check_headers(headers, call)
    if (!length(header_at(headers, "content-type"))) headers <- c(list("Content-Type" = type), headers)
  } else {
    headers <- list("Content-Type" = type)
  }
  response_of(status, body, headers)
}

check_body <- function(body, call) {
  if (is.object(body) && is.character(body)) body <- as.character(body)
  if (is_string(body) || is.raw(body) || is.null(body)) return(body)
  stop_argument("body", "a single string, a raw vector or NULL", body, call)
}

#' Set a header field of a response
#'
#' @param response A response, or anything else that a handler may return, which is made into one first.
#' @param name The name of the field: a single string.
#' @param value Its value: a single string or number; several become several fields; `NULL` removes the field.
#' @param append `TRUE` to keep fields of that name that are there already.
#' @returns The response, a `dr_response` as [dr_response()] makes it, with that field.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @examples
#' dr_set_header("Hello", "Cache-Control", "max-age=60")
#' dr_set_header(dr_html("<p>Hello</p>"), "Link", "</style.css>; rel=preload", append = TRUE)
#' @export
dr_set_header <- function(response, name, value, append = FALSE) {
  response <- as_response(response)
  check_string(name, "name")
  check_flag(append, "append")
  headers <- response$headers
  if (!append) headers[header_at(headers, name)] <- NULL
  added <- list(value)
  names(added) <- name
  response$headers <- c(headers, check_headers(added))
  response
}

# Of a response with a file, the body is what is in the file; one that is assigned takes its place, or that of a stream.

#' @export
`$.dr_response` <- function(x, name) {
  value <- .subset2(x, name)
  if (is.null(value) && name == "body" && !is.null(file <- .subset2(x, "file"))) return(read_opened(file))
  value
}

#' @export
`[[.dr_response` <- function(x, i, ...) if (identical(i, "body")) x$body else .subset2(x, i, ...)

#' @export
`$<-.dr_response` <- function(x, name, value) {
  kind <- class(x)
  class(x) <- NULL
  if (name == "body") x[["file"]] <- x[["stream"]] <- NULL
  x[[name]] <- value
  class(x) <- kind
  x
}

#' @export
`[[<-.dr_response` <- function(x, i, value) {
  if (is.character(i)) return(`$<-.dr_response`(x, i, value))
  kind <- class(x)
  class(x) <- NULL
  x[[i]] <- value
  class(x) <- kind
  x
}

# What the body is, in a few words and in at most one line.
body_summary <- function(response) {
  if (!is.null(response$file)) {
    return(sprintf("file %s", encodeString(response$file, quote = "\"")))
  }
  if (!is.null(response$stream)) return("stream")
  body <- response[["body"]]
  if (is.null(body)) return("no body")
  size <- count_of(if (is.raw(body)) length(body) else nchar(body, "bytes"), "byte")
  if (is.raw(body)) return(size)
  start <- substr(body, 1L, 60L)
  paste0(size, ": ", encodeString(start, quote = "\""), if (nchar(body) > 60L) "...")
}

#' @export
format.dr_response <- function(x, ...) {
  c(
    paste("<dr_response>", x$status, status_phrase(x$status)),
    paste0("  ", names(x$headers), ": ", encodeString(as.character(x$headers)), recycle0 = TRUE),
    paste0("  ", body_summary(x))
  )
}

#' @export
print.dr_response <- function(x, ...) {
  writeLines(format(x, ...))
  invisible(x)
}
