# Header fields of responses: checked and brought into one form. Not for those of requests (request.R).
# Neighbours: response.R, abort.R.

# RFC 9110, section 5.6.2: a token. \\z and not $, which PCRE also finds before a line break at the end.
is_token <- function(text) grepl("^[A-Za-z0-9!#$%&'*+.^_`|~-]+\\z", text, perl = TRUE, useBytes = TRUE)

space <- as.raw(0x20)
tab <- as.raw(0x09)
delete <- as.raw(0x7f)

# Whether a string has what must not be in a value (RFC 9110, section 5.5): control characters, the tab excepted. CR and
# LF would let whoever chose the value add header fields of their own. By bytes, which takes half the time of a pattern.
has_control <- function(string) {
  bytes <- charToRaw(string)
  any(bytes < space & bytes != tab) || any(bytes == delete)
}

# A named list (or character vector) of fields as a named list of strings. A value of several strings becomes several
# fields of that name; NULL values are dropped.
check_headers <- function(headers, call = sys.call(-1L)) {
  if (!length(headers)) return(list())
  names <- names(headers)
  if (!(is.list(headers) || is.character(headers)) || is.null(names)) {
    stop_argument("headers", "a named list of strings", headers, call)
  }
  wrong <- !is_token(names)
  if (any(wrong)) {
    shown <- encodeString(names[wrong][[1L]], quote = "\"")
    stop_header(paste("`headers`: a name must consist of letters, digits and hyphens, not", shown), call)
  }
  plain <- is.list(headers) && !is.object(headers)
  for (value in headers) {
    if (!plain || !is.character(value) || length(value) != 1L || is.object(value)) {
      plain <- FALSE
      break
    }
  }
  if (!plain) headers <- spread_headers(headers, call)
  for (i in seq_along(headers)) {
    value <- headers[[i]]
    if (is.na(value) || has_control(value)) stop_value(names(headers)[[i]], value, call)
  }
  headers
}

# The same fields, each value one string.
spread_headers <- function(headers, call) {
  values <- lapply(seq_along(headers), function(i) {
    value <- headers[[i]]
    if (is.numeric(value) && !is.object(value)) value <- vapply(value, format, "", scientific = FALSE, digits = 15L)
    if (!is.null(value) && !is.character(value)) stop_value(names(headers)[[i]], value, call)
    as.list(as.character(value))
  })
  out <- as.list(unlist(values, recursive = FALSE))
  names(out) <- rep(names(headers), lengths(values))
  out
}

stop_header <- function(problem, call) stop_drover("argument", problem, call = call, argument = "headers")

stop_value <- function(name, value, call) {
  if (is_string(value)) {
    stop_header(sprintf("`headers`: the value of %s must not hold line breaks or other control characters", name), call)
  }
  stop_header(sprintf("`headers`: the value of %s must be a string, not %s", name, describe(value)), call)
}

# Where a field is in a list of headers; names are compared without regard to case (RFC 9110, section 5.1).
header_at <- function(headers, name) which(tolower(names(headers)) == tolower(name))
