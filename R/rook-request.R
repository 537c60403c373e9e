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
  # of what is left; it may be read in thousands of small pieces
  piece <- function(size) if (size == length(bytes)) bytes else bytes[at + seq_len(size)]
  list(
    read_lines = function(n = -1L) {
      left <- length(bytes) - at
      size <- if (n < 0L) left else min(left, 65536L)
      repeat {
        read <- lines_of_bytes(piece(size), n)
        # the last line is whole when something comes after it
        if (size == left || read$used < size) break
        size <- min(left, 2 * size)
      }
      at <<- at + read$used
      read$lines
    },
    read = function(l = -1L) {
      left <- length(bytes) - at
      read <- piece(if (l < 0L) left else min(l, left))
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

# The first `n` lines, and how many bytes they take with their ends.
lines_of_bytes <- function(bytes, n) {
  connection <- rawConnection(bytes)
  on.exit(close(connection))
  lines <- readLines(connection, n, warn = FALSE)
  used <- as.integer(seek(connection))
  if (n > 0L && used > 0L && bytes[[used]] != as.raw(10L)) {
    # of a carriage return alone, R has read the byte behind it, too
    ends <- 0L
    for (line in lines) {
      ends <- ends + nchar(line, "bytes")
      ends <- ends + if (identical(bytes[ends + 1:2], as.raw(c(13L, 10L)))) 2L else 1L
    }
    if (ends == used - 1L) used <- ends
  }
  list(lines = lines, used = used)
}

no_input <- rook_input(raw())

is_urlencoded <- function(req) {
  startsWith(tolower(req$headers[["content-type"]] %||% ""), "application/x-www-form-urlencoded")
}
