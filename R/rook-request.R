# A request as httpuv gives it to apps: the environment that the Rook specification describes. Not for what such apps
# answer (rook-response.R), nor for calling them (rook-app.R).

# What is the same for each request. Without httpuv no app can ask for its version.
rook_constants <- function() {
  c(
    list(SCRIPT_NAME = "", rook.version = "1.1-0", rook.errors = rook_errors),
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
# there yet: apps are asked before it comes, see rook_handler(). src/rook.c makes it: it is a good part of what a small
# app takes.
rook_request <- function(req, depth, constants) .Call(C_rook_request, req, depth, constants, no_input)

# Called from C for header fields that middleware has given: several strings for one, too.
flat_headers <- function(headers) unlist(unclass(headers))

# list(name, port), strings, of what the client has asked for.
split_host <- function(host) .Call(C_rook_host, host)

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

is_urlencoded <- function(req) {
  startsWith(tolower(req$headers[["content-type"]] %||% ""), "application/x-www-form-urlencoded")
}
