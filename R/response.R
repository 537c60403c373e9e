# Making responses. Not for what handlers return otherwise (response-of.R), nor for JSON (json.R). Neighbours:
# response-object.R; response-header.R, response-cookie.R, which change them; response-file.R.

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

# Of a response with a file, the body is what is in the file; one that is assigned takes its place, or that of a stream.

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
