# A client that sends exactly the bytes it is told, for tests of faults, limits and attacks, and measures of the
# server's process. Not a well-behaved client (that is curl) and not the server (helper-server.R).

# An open connection to 127.0.0.1:port. Closed with the calling test.
raw_client <- function(port, env = parent.frame(), timeout = patience(30)) {
  client <- new.env()
  client$con <- socketConnection("127.0.0.1", port, open = "r+b", blocking = FALSE, timeout = timeout)
  client$buffer <- raw(0)
  client$closed <- FALSE
  withr::defer(client_close(client), env)
  client
}

raw_clients <- function(n, port, env = parent.frame()) lapply(seq_len(n), function(i) raw_client(port, env))

client_close <- function(client) {
  if (!is.null(client$con)) try(close(client$con), silent = TRUE)
  client$con <- NULL
}

as_bytes <- function(x) if (is.raw(x)) x else charToRaw(paste(x, collapse = ""))

# TRUE when all of `bytes` went out; FALSE when the server had closed or did not read.
client_send <- function(client, bytes) {
  tryCatch({
    writeBin(as_bytes(bytes), client$con)
    TRUE
  }, error = function(e) FALSE, warning = function(w) FALSE)
}

# Waits up to `timeout` seconds for more bytes; FALSE when none came (closed or late, see client$closed).
client_fill <- function(client, timeout) {
  if (client$closed || !isTRUE(socketSelect(list(client$con), FALSE, max(timeout, 0)))) return(FALSE)
  bytes <- tryCatch(readBin(client$con, raw(), 262144L), error = function(e) raw(0), warning = function(w) raw(0))
  if (!length(bytes)) {
    client$closed <- TRUE
    return(FALSE)
  }
  client$buffer <- c(client$buffer, bytes)
  TRUE
}

# TRUE when the server closes within `seconds`; what it sends before that stays in client$buffer.
client_closes_within <- function(client, seconds) {
  deadline <- now() + seconds
  while (!client$closed && now() < deadline) client_fill(client, deadline - now())
  client$closed
}

now <- function() unname(proc.time()[["elapsed"]])

crlf2 <- as.raw(c(13, 10, 13, 10))

find_bytes <- function(haystack, needle, from = 1L) {
  if (length(haystack) < from + length(needle) - 1L) return(NA_integer_)
  at <- grepRaw(needle, haystack, offset = from, fixed = TRUE)
  if (length(at)) at else NA_integer_
}

# The next `n` bytes of the connection, fewer when it closes or the deadline passes.
take_bytes <- function(client, n, deadline) {
  while (length(client$buffer) < n && now() < deadline) if (!client_fill(client, deadline - now()) && client$closed) break
  n <- min(n, length(client$buffer))
  out <- client$buffer[seq_len(n)]
  client$buffer <- client$buffer[-seq_len(max(n, 0))]
  if (n == 0) raw(0) else out
}

take_until <- function(client, needle, deadline) {
  repeat {
    at <- find_bytes(client$buffer, needle)
    if (!is.na(at)) return(take_bytes(client, at + length(needle) - 1L, deadline))
    if (now() >= deadline || (!client_fill(client, deadline - now()) && client$closed)) return(NULL)
  }
}

take_chunked <- function(client, deadline) {
  body <- list()
  repeat {
    line <- take_until(client, as.raw(c(13, 10)), deadline)
    if (is.null(line)) return(structure(unlist_raw(body), truncated = TRUE))
    size <- strtoi(sub("[;\r].*$", "", rawToChar(line)), 16L)
    if (size == 0L) {
      take_until(client, as.raw(c(13, 10)), deadline)
      return(unlist_raw(body))
    }
    body[[length(body) + 1L]] <- take_bytes(client, size, deadline)
    take_bytes(client, 2L, deadline)
  }
}

unlist_raw <- function(x) if (length(x)) do.call(c, unname(x)) else raw(0)

# Reads one response. NULL when none comes in `timeout` seconds; `head = TRUE` for the answer to HEAD.
# list(status int, reason chr1, headers named chr (lower-case names), body raw, text chr1)
client_response <- function(client, timeout = patience(30), head = FALSE) {
  deadline <- now() + timeout
  bytes <- take_until(client, crlf2, deadline)
  if (is.null(bytes)) return(NULL)
  lines <- strsplit(rawToChar(bytes), "\r\n", fixed = TRUE)[[1]]
  status <- as.integer(substr(lines[[1]], 10, 12))
  fields <- lines[-1]
  headers <- sub("^[^:]*:[ \t]*", "", fields)
  names(headers) <- tolower(sub(":.*$", "", fields))
  body <- if (head || status %in% c(204L, 304L) || status < 200L) raw(0)
    else if ("transfer-encoding" %in% names(headers)) take_chunked(client, deadline)
    else if ("content-length" %in% names(headers)) take_bytes(client, as.numeric(headers[["content-length"]]), deadline)
    else {
      client_closes_within(client, deadline - now())
      take_bytes(client, length(client$buffer), deadline)
    }
  list(status = status, reason = substring(lines[[1]], 14), headers = headers, body = body, text = printable(body))
}

# Bytes as text that is marked UTF-8 when it is valid, with "?" for each NUL.
printable <- function(bytes) {
  bytes[bytes == 0] <- as.raw(0x3f)
  text <- rawToChar(bytes)
  if (validUTF8(text)) Encoding(text) <- "UTF-8"
  text
}

# The bytes of a request, with Host, and Content-Length when it has a body.
request_bytes <- function(path, method = "GET", headers = character(), body = NULL, host = "localhost") {
  if (is.character(body)) body <- charToRaw(body)
  head <- c(
    paste0(method, " ", path, " HTTP/1.1\r\n"), paste0("Host: ", host, "\r\n"),
    if (length(headers)) paste0(names(headers), ": ", headers, "\r\n"),
    if (!is.null(body)) paste0("Content-Length: ", length(body), "\r\n"), "\r\n"
  )
  c(charToRaw(paste(head, collapse = "")), body)
}

# One request on a connection of its own.
fetch <- function(server, path, method = "GET", headers = character(), body = NULL, timeout = patience(30)) {
  client <- raw_client(server$port)
  client_send(client, request_bytes(path, method, headers, body))
  client_response(client, timeout, head = method == "HEAD")
}

# One request of exactly these bytes.
fetch_bytes <- function(server, bytes, timeout = patience(30)) {
  client <- raw_client(server$port)
  client_send(client, bytes)
  client_response(client, timeout)
}

# `n` equal requests, pipelined in batches on one connection: their status codes.
fetch_many <- function(server, path, n, batch = 50L, ...) {
  client <- raw_client(server$port)
  bytes <- request_bytes(path, ...)
  status <- integer()
  while (length(status) < n) {
    k <- min(batch, n - length(status))
    client_send(client, rep(bytes, k))
    for (i in seq_len(k)) {
      response <- client_response(client)
      if (is.null(response)) return(c(status, NA_integer_))
      status <- c(status, response$status)
    }
  }
  status
}

# What a process holds, from /proc: resident KB, CPU seconds (user + system), open descriptors, threads.
process_measure <- function(pid) {
  status <- readLines(file.path("/proc", pid, "status"))
  field <- function(name) as.numeric(sub("\\D*(\\d+).*", "\\1", grep(paste0("^", name, ":"), status, value = TRUE)))
  stat <- strsplit(sub("^.*\\) ", "", readLines(file.path("/proc", pid, "stat"))), " ")[[1]]
  list(
    rss_kb = field("VmRSS"), threads = field("Threads"), fds = length(list.files(file.path("/proc", pid, "fd"))),
    cpu = sum(as.numeric(stat[12:13])) / 100
  )
}

# The sockets of 127.0.0.1 with this local port, a row of /proc/net/tcp each, as character vectors.
local_sockets <- function(port) {
  table <- strsplit(trimws(readLines("/proc/net/tcp")[-1]), " +")
  Filter(function(row) endsWith(row[[2]], sprintf(":%04X", port)), table)
}

# The socket that listens on a port of 127.0.0.1, as /proc/PID/fd names it.
listening_socket <- function(port) {
  listening <- Filter(function(row) row[[4]] == "0A", local_sockets(port))
  sprintf("socket:[%s]", vapply(listening, `[[`, "", 10))
}

# How many connections the server at this port holds. One that it has closed has no file any more, hence the number 0.
open_connections <- function(port) {
  sum(vapply(local_sockets(port), function(row) row[[4]] != "0A" && row[[10]] != "0", NA))
}

skip_without_proc <- function() testthat::skip_if_not(file.exists("/proc/self/status"), "no /proc")
