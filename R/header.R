# Header fields of responses: checked and brought into one form. Not for those of requests (request.R).
# Neighbours: response.R, abort.R.

# RFC 9110, section 5.6.2
token_pattern <- "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"

# What must not be in a value (RFC 9110, section 5.5): control characters, the tab excepted. CR and LF would let whoever
# chose the value add header fields of their own.
has_control <- function(text) grepl("[\x01-\x08\x0a-\x1f\x7f]", text, useBytes = TRUE)

stop_header <- function(problem, call) stop_drover("argument", problem, call = call, argument = "headers")

# The values of one field as strings, one for each line that is sent.
header_values <- function(value, name, call) {
  if (is.null(value)) return(list())
  if (is.numeric(value) && !is.object(value)) {
    value <- vapply(value, format, "", scientific = FALSE, digits = 15L)
  }
  if (!is.character(value) || anyNA(value)) {
    stop_header(sprintf("`headers`: the value of %s must be a string, not %s", name, describe(value)), call)
  }
  if (any(has_control(value))) {
    stop_header(sprintf("`headers`: the value of %s must not hold line breaks or other control characters", name), call)
  }
  as.list(as.character(value))
}

# A named list (or character vector) of fields as a named list of strings. A value of several strings becomes several
# fields of that name; NULL values are dropped.
check_headers <- function(headers, call = sys.call(-1L)) {
  if (!length(headers)) return(list())
  names <- names(headers)
  if (!(is.list(headers) || is.character(headers)) || is.null(names)) {
    stop_argument("headers", "a named list of strings", headers, call)
  }
  wrong <- !grepl(token_pattern, names, useBytes = TRUE)
  if (any(wrong)) {
    shown <- encodeString(names[wrong][[1L]], quote = "\"")
    stop_header(paste("`headers`: a name must consist of letters, digits and hyphens, not", shown), call)
  }
  values <- lapply(seq_along(headers), function(i) header_values(headers[[i]], names[[i]], call))
  out <- unlist(values, recursive = FALSE)
  names(out) <- rep(names, lengths(values))
  as.list(out)
}

# Where a field is in a list of headers; names are compared without regard to case (RFC 9110, section 5.1).
header_at <- function(headers, name) which(tolower(names(headers)) == tolower(name))
