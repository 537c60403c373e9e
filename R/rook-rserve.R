# Scripts for Rserve's HTTP server, which define .http.request(url, query, body, headers): how that function is called,
# and what its answers mean. Neighbour: rook-app.R, for apps of httpuv.

# The function that a script names .http.request, called by position as Rserve does, so that its arguments may have any
# names. NULL for a function that cannot be called with four.
as_rserve_function <- function(x) {
  takes <- if (is.function(x)) arity(x)
  if (is.null(takes) || takes$most < 4 || length(takes$required) > 4L) return(NULL)
  if (is_rserve_function(x)) x else function(url, query, body, headers) x(url, query, body, headers)
}

rserve_handler <- function(request) {
  force(request)
  function(req) {
    form <- req$form[]
    value <- request(rserve_url(req), rserve_query(req, form), rserve_body(req, form), rserve_headers(req))
    rserve_response(value)
  }
}

# The path below the one where the app is mounted, decoded as Rserve does.
rserve_url <- function(req) {
  rest <- split_target(req$url, mount_depth(req$route))$rest
  httpd_path(rest)
}

# Paths, decoded as Rserve and R's own web server do. The engine has seen that they can be.
httpd_path <- function(paths) {
  decoded <- vapply(chartr("+", " ", paths), utils::URLdecode, "", USE.NAMES = FALSE)
  Encoding(decoded) <- "UTF-8"
  decoded
}

# A named character vector, NULL where there is no "?". The engine counts the fields of a form as well, after these.
rserve_query <- function(req, form) {
  if (!nzchar(split_target(req$url)$query)) return(NULL)
  query <- req$query[]
  if (is_urlencoded(req)) query <- query[seq_len(length(query) - length(form))]
  query
}

# NULL, the fields of a form as a named character vector, or bytes, with their type as an attribute.
rserve_body <- function(req, form) {
  body <- req$raw
  if (!length(body)) return(NULL)
  if (is_urlencoded(req)) return(form)
  attr(body, "content-type") <- req$headers[["content-type"]]
  body
}

# The bytes of the header section, after a line with the method. Names are written as is the custom: engines of HTTP/2
# know them in lower case only.
rserve_headers <- function(req) {
  fields <- req$headers[]
  names <- gsub("(^|-)([a-z])", "\\1\\U\\2", names(fields), perl = TRUE)
  charToRaw(paste0(c(paste("Request-Method:", req$method), paste0(names, ": ", fields)), "\n", collapse = ""))
}

# list(payload, type, header lines, status), of which all but the first may be left out. The payload is a string, bytes,
# or, by its name, a file: "file" or, to be removed, "tmpfile". A string instead of a list says what went wrong.
rserve_response <- function(value) {
  if (is_promise(value)) return(value$then(rserve_response))
  if (is_response(value)) return(value)
  if (is.character(value) && length(value)) stop_drover("value", value[[1L]], call = NULL)
  if (!is.list(value) || !length(value)) {
    stop_answer("it must be list(payload, content type, header lines, status), not ", describe(value))
  }
  part <- function(i) if (length(value) >= i) value[[i]]
  type <- part(2L)
  status <- part(4L) %||% 200L
  headers <- c(list("Content-Type" = type %||% "text/html"), header_lines(part(3L)))
  kind <- names(value)[1L] %||% ""
  payload <- value[[1L]]
  if (kind %in% c("file", "tmpfile")) payload <- list(file = payload, owned = kind == "tmpfile")
  rook_response(list(status = status, headers = headers, body = payload))
}

# Fields of lines such as "X-A: 1".
header_lines <- function(lines) {
  lines <- unlist(strsplit(as.character(lines), "\r?\n"))
  lines <- lines[nzchar(lines)]
  colon <- regexpr(":", lines, fixed = TRUE)
  if (any(colon < 2L)) stop_answer("its header lines must be like \"Name: value\"")
  fields <- as.list(trimws(substring(lines, colon + 1L)))
  names(fields) <- substr(lines, 1L, colon - 1L)
  fields
}
