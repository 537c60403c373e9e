# A request as httpuv gives it to apps: the environment that the Rook specification describes. Not for what such apps
# answer (rook-response.R), nor for calling them (rook-app.R).

# What is the same for each request. Without httpuv no app can ask for its version.
rook_constants <- function() {
  c(
    list(SCRIPT_NAME = "", rook.version = "1.1-0", rook.url_scheme = "http", rook.errors = rook_errors),
    # without loading it, which takes as long as a small app does
    if (nzchar(system.file(package = "httpuv"))) list(httpuv.version = utils::packageVersion("httpuv"))
  )
}

rook_errors <- list(
  cat = function(..., sep = " ", fill = FALSE, labels = NULL) {
    base::cat(..., sep = sep, fill = fill, labels = labels, file = stderr())
  },
  flush = function() base::flush(stderr())
)

# The environment for `req`, whose first `depth` segments of the path are where the app is mounted. Its body is not
# there yet: apps are asked before it comes, see rook_handler(). All is read now: the app may keep it, and a promise of
# its answer needs it when other requests have come.
rook_request <- function(req, depth, constants) {
  target <- split_target(req$url)
  mounted <- split_path(target$path, depth)
  headers <- unlist(unclass(req$headers))
  shape <- header_shape(names(headers))
  headers <- headers[shape$order]
  fields <- as.list(headers)
  names(fields) <- shape$variables
  about <- constants
  about$SCRIPT_NAME <- mounted$before
  host <- host_parts(req$host)
  env <- list2env(c(about, fields, list(
    REQUEST_METHOD = req$method, PATH_INFO = mounted$rest, QUERY_STRING = target$query, HEADERS = headers,
    SERVER_NAME = host$name, SERVER_PORT = host$port, REMOTE_ADDR = req$remote_addr,
    REMOTE_PORT = as.character(req$remote_port), rook.input = no_input
  )), parent = emptyenv())
  # the specification has them under these names, too
  if (!is.null(fields$HTTP_CONTENT_TYPE)) env$CONTENT_TYPE <- fields$HTTP_CONTENT_TYPE
  if (!is.null(fields$HTTP_CONTENT_LENGTH)) env$CONTENT_LENGTH <- fields$HTTP_CONTENT_LENGTH
  env
}

# What the request before had in common with this one, as most have: clients ask again with the same names of fields.
recent <- new.env(parent = emptyenv())

# list(names, order, variables): in which order header fields come, and what they are called in the environment.
header_shape <- function(names) {
  if (identical(names, recent$shape$names)) return(recent$shape)
  order <- order(names, method = "radix")
  recent$shape <- list(
    names = names, order = order, variables = paste0("HTTP_", toupper(chartr("-", "_", names[order])))
  )
}

host_parts <- function(host) {
  if (!identical(host, recent$host)) {
    recent$parts <- split_host(host)
    recent$host <- host
  }
  recent$parts
}

# list(path, query) of "/a%20b?c=d", as they were sent; the query has its "?".
split_target <- function(url) {
  # a client of a proxy names the server, too
  if (!startsWith(url, "/")) url <- sub("^[a-zA-Z][a-zA-Z0-9+.-]*://[^/?]*/?", "/", url)
  at <- regexpr("?", url, fixed = TRUE)
  if (at < 0L) return(list(path = url, query = ""))
  list(path = substr(url, 1L, at - 1L), query = substring(url, at))
}

# list(before, rest): so many segments of a path, and the others. The rest is never empty.
split_path <- function(path, depth) {
  if (depth == 0L) return(list(before = "", rest = path))
  slashes <- gregexpr("/", path, fixed = TRUE)[[1L]]
  if (length(slashes) <= depth) return(list(before = path, rest = "/"))
  end <- slashes[[depth + 1L]]
  list(before = substr(path, 1L, end - 1L), rest = substring(path, end))
}

# list(name, port), strings, of what the client has asked for.
split_host <- function(host) {
  port <- regexpr(":[0-9]*$", host)
  if (port < 0L) return(list(name = host, port = "80"))
  list(name = substr(host, 1L, port - 1L), port = substring(host, port + 1L))
}

# The body as a stream.
rook_input <- function(bytes) {
  at <- 0L
  rest <- function() if (at == 0L) bytes else bytes[seq_len(length(bytes) - at) + at]
  list(
    read_lines = function(n = -1L) {
      lines <- rawConnection(rest())
      on.exit(close(lines))
      read <- readLines(lines, n, warn = FALSE)
      at <<- at + as.integer(seek(lines))
      read
    },
    read = function(l = -1L) {
      read <- rest()
      if (l >= 0L && l < length(read)) read <- read[seq_len(l)]
      at <<- at + length(read)
      read
    },
    rewind = function() {
      at <<- 0L
      invisible()
    },
    close = function() invisible()
  )
}

no_input <- rook_input(raw())
