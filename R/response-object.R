# The response as an object: how it is made of its parts, and its fields. Neighbours: response.R, which makes it for
# handlers; response-of.R, which makes it of what they return.

# The contents of such a file, which may have no name any more.
read_opened <- function(file) {
  descriptor <- .Call(C_opened_descriptor, file)
  from <- if (descriptor >= 0L) paste0("/proc/self/fd/", descriptor) else as.character(file)
  if (!file.exists(from)) stop_drover("file", paste0("dr_file: file not found: ", encodeString(file, quote = "\"")))
  readBin(from, "raw", file.size(from))
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
