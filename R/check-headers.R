# Header fields of responses: checked and brought into one form. Not for those of requests (request.R).
# Neighbours: response.R, error-abort.R.

# RFC 9110, section 5.6.2
token_bytes <- byte_set(paste0(alphanumeric, "!#$%&'*+-.^_`|~"))
is_token <- function(string) nzchar(string) && all_bytes_in(string, token_bytes)

# What may be in a value (RFC 9110, section 5.5): no control characters but the tab. CR and LF would let whoever chose
# the value add header fields of their own.
value_bytes <- c(rep(FALSE, 9L), TRUE, rep(FALSE, 22L), rep(TRUE, 95L), FALSE, rep(TRUE, 128L))
has_control <- function(string) !all_bytes_in(string, value_bytes)

# A named list (or character vector) of fields as a named list of strings. A value of several strings becomes several
# fields of that name; NULL values are dropped.
check_headers <- function(headers, call = sys.call(-1L), argument = "headers") {
  if (!length(headers)) return(list())
  names <- names(headers)
  if (!(is.list(headers) || is.character(headers)) || is.null(names)) {
    stop_argument(argument, "a named list of strings", headers, call)
  }
  for (name in names) {
    if (!is_token(name)) {
      shown <- encodeString(name, quote = "\"")
      stop_header(paste("a name must consist of letters, digits and hyphens, not", shown), call, argument)
    }
  }
  plain <- is.list(headers) && !is.object(headers)
  for (value in headers) {
    if (!plain || !is.character(value) || length(value) != 1L || is.object(value)) {
      plain <- FALSE
      break
    }
  }
  if (!plain) headers <- spread_headers(headers, call, argument)
  for (i in seq_along(headers)) {
    value <- headers[[i]]
    if (is.na(value) || has_control(value)) stop_value(names(headers)[[i]], value, call, argument)
  }
  headers
}

# The same fields, each value one string.
spread_headers <- function(headers, call, argument) {
  values <- lapply(seq_along(headers), function(i) {
    value <- headers[[i]]
    if (is.numeric(value) && !is.object(value)) value <- vapply(value, format, "", scientific = FALSE, digits = 15L)
    if (!is.null(value) && !is.character(value)) stop_value(names(headers)[[i]], value, call, argument)
    as.list(as.character(value))
  })
  out <- as.list(unlist(values, recursive = FALSE))
  names(out) <- rep(names(headers), lengths(values))
  out
}

stop_header <- function(problem, call, argument) {
  stop_drover("argument", paste0("`", argument, "`: ", problem), call = call, argument = argument)
}

stop_value <- function(name, value, call, argument) {
  is_wrong <- if (is_string(value)) "not hold line breaks or other control characters" else
    paste0("be a string, not ", describe(value))
  stop_header(sprintf("the value of %s must %s", name, is_wrong), call, argument)
}

# Where a field is in a list of headers; names are compared without regard to case (RFC 9110, section 5.1).
header_at <- function(headers, name) which(tolower(names(headers)) == tolower(name))
