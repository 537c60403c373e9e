# What handlers of plumber are given, read and made as plumber does: fields of the query, cookies, parsed bodies, `req`.
# Neighbours: plumber-run.R, which calls handlers with it; rook-request.R, the environment that `req` begins as.

# The fields of a query, with or without its "?". Only "name=value" counts, with neither of them empty; a name that
# comes several times has all its values.
plumber_query <- function(query) {
  query <- chartr("+", " ", sub("^[?]", "", query))
  fields <- strsplit(query, "&", fixed = TRUE)[[1L]]
  parts <- lapply(strsplit(fields, "=", fixed = TRUE), function(part) part[nzchar(part)])
  parts <- parts[lengths(parts) == 2L]
  if (!length(parts)) return(list())
  parts <- unescape(unlist(parts))
  at <- seq(1L, length(parts), by = 2L)
  names <- parts[at]
  if (!all(Encoding(names) == "unknown")) {
    warning("names of query fields that are not ASCII", call. = FALSE)
  }
  values <- as.list(parts[at + 1L])
  if (!anyDuplicated(names)) return(structure(values, names = names))
  unique <- unique(names)
  structure(lapply(unique, function(name) unlist(values[names == name])), names = unique)
}

# "%C3%A9" as the character; what is no escape stays.
unescape <- function(strings) {
  escaped <- grepl("%", strings, fixed = TRUE)
  strings[escaped] <- vapply(strings[escaped], unescape_one, "")
  unname(strings)
}

unescape_one <- function(string) {
  at <- gregexpr("%[0-9A-Fa-f]{2}", string, useBytes = TRUE)[[1L]]
  if (at[[1L]] < 0L) return(string)
  bytes <- charToRaw(string)
  bytes[at] <- as.raw(strtoi(substring(string, at + 1L, at + 2L), 16L))
  bytes <- bytes[-c(at + 1L, at + 2L)]
  # at the end of a string R would leave it out
  if (any(bytes == as.raw(0L))) stop("a NUL (%00) in a query or a cookie", call. = FALSE)
  text <- rawToChar(bytes)
  Encoding(text) <- "UTF-8"
  text
}

plumber_cookies <- function(field) {
  if (is.null(field) || !nzchar(field)) return(list())
  # plumber leaves out space around the first character, which is most often before it
  pairs <- sub("\\s*(\\S)\\s*", "\\1", strsplit(field, ";", fixed = TRUE)[[1L]], perl = TRUE)
  at <- regexpr("=", pairs, fixed = TRUE)
  values <- ifelse(at < 0L, "", substring(pairs, at + 1L))
  structure(as.list(unescape(values)), names = ifelse(at < 0L, pairs, substr(pairs, 1L, at - 1L)))
}

# The body by the parsers of an endpoint. An error for what they cannot read.
plumber_body <- function(req, bytes, endpoint) {
  parsers <- endpoint$parsers
  if (!length(parsers)) return(NULL)
  if (!length(bytes)) return(list())
  type <- req$headers[["content-type"]]
  if (is_plain_json(type, bytes, parsers)) {
    limits <- engine$json_limits
    parsed <- .Call(C_json_parse, bytes, TRUE, limits$max_json_depth, limits$max_collisions)
    if (is.list(parsed)) return(parsed[[1L]])
  }
  guard_body(req, bytes, strict = is_json_to_plumber(type, bytes))
  endpoint$parse(bytes, type)
}

# Whether plumber would read it with jsonlite's defaults.
is_plain_json <- function(type, bytes, parsers) {
  if (!isTRUE(attr(parsers, "plain_json"))) return(FALSE)
  if (is.null(type)) return(bytes[[1L]] == as.raw(0x7b) || bytes[[1L]] == as.raw(0x5b))
  if (type == "application/json") return(TRUE)
  startsWith(type, "application/json;") && !grepl("charset=(?!utf-8)", type, ignore.case = TRUE, perl = TRUE)
}

# The arguments that a body becomes.
body_arguments <- function(body) {
  if (!length(body)) return(list())
  if (inherits(body, "plumber_multipart")) return(asNamespace("plumber")$combine_keys(body, type = "multi"))
  if (is.list(body) || any(nzchar(names(body)))) body else list(body)
}

# `req`. `given`: list(query, path, body), the arguments of each; `body` parsed; `info`: the path below where the app is
# mounted.
plumber_request <- function(req, endpoint, info, bytes, body, given) {
  env <- rook_request(req, endpoint$depth, endpoint$constants)
  env$PATH_INFO <- substring(info, nchar(endpoint$mount) + 1L)
  env$pr <- endpoint$root
  env$.internal <- list2env(list(queryStringHandled = TRUE, bodyHandled = TRUE))
  input <- if (length(bytes)) rook_input(bytes) else no_input
  env$rook.input <- input
  env$bodyRaw <- bytes
  delayedAssign("postBody", {
    input$rewind()
    paste0(input$read_lines(), collapse = "\n")
  }, assign.env = env)
  env$cookies <- plumber_cookies(env$HTTP_COOKIE)
  env$argsQuery <- given$query
  env$argsPath <- given$path
  env$argsBody <- given$body
  env$body <- body
  env$args <- c(given$query, given$path, given$body)
  env
}
