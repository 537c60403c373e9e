# HTTP/2 frames written and read one by one, for attacks that no library would send (RFC 9113, RFC 7541 without
# Huffman). Not a client for honest requests: that is curl --http2-prior-knowledge.

h2_types <- c(DATA = 0L, HEADERS = 1L, PRIORITY = 2L, RST_STREAM = 3L, SETTINGS = 4L, PING = 6L, GOAWAY = 7L,
  WINDOW_UPDATE = 8L, CONTINUATION = 9L)

be_bytes <- function(x, n) as.raw((x %/% 256^((n - 1):0)) %% 256)
from_be <- function(bytes) sum(as.numeric(bytes) * 256^((length(bytes) - 1):0))

# `type`: a name of h2_types, or a number that nothing else has.
h2_frame <- function(type, flags = 0L, stream = 0, payload = raw()) {
  code <- if (is.character(type)) h2_types[[type]] else type
  c(be_bytes(length(payload), 3), as.raw(c(code, flags)), be_bytes(stream, 4), payload)
}

# An integer of RFC 7541 section 5.1 with a prefix of 7 bits.
hpack_length <- function(n) {
  if (n < 127) return(as.raw(n))
  out <- as.raw(127)
  n <- n - 127
  while (n >= 128) {
    out <- c(out, as.raw(n %% 128 + 128))
    n <- n %/% 128
  }
  c(out, as.raw(n))
}

hpack_string <- function(text) {
  bytes <- charToRaw(text)
  c(hpack_length(length(bytes)), bytes)
}

# Fields as literals without indexing.
hpack_block <- function(fields) {
  unlist_raw(Map(function(name, value) c(as.raw(0), hpack_string(name), hpack_string(value)), names(fields), unname(fields)))
}

h2_request_fields <- function(path, method = "GET", ..., authority = "localhost") {
  c(":method" = method, ":scheme" = "http", ":path" = path, if (!is.null(authority)) c(":authority" = authority), ...)
}

# HEADERS with END_HEADERS and, unless `open`, END_STREAM.
h2_headers <- function(stream, fields, open = FALSE) {
  h2_frame("HEADERS", if (open) 4L else 5L, stream, hpack_block(fields))
}

# A connection after the preface; `settings` are the bytes of our SETTINGS frame.
h2_client <- function(port, env = parent.frame(), settings = raw()) {
  client <- raw_client(port, env)
  client_send(client, c(charToRaw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), h2_frame("SETTINGS", payload = settings)))
  client
}

# The next frame: list(type chr1, flags int, stream, payload raw); NULL when none comes.
h2_read <- function(client, timeout = patience(30)) {
  deadline <- now() + timeout
  while (length(client$buffer) < 9) if (!client_fill(client, deadline - now()) && (client$closed || now() >= deadline)) return(NULL)
  size <- from_be(client$buffer[1:3])
  while (length(client$buffer) < 9 + size) if (!client_fill(client, deadline - now()) && (client$closed || now() >= deadline)) return(NULL)
  bytes <- take_bytes(client, 9 + size, deadline)
  code <- as.integer(bytes[[4]])
  type <- names(h2_types)[h2_types == code]
  list(type = if (length(type)) type else as.character(code), flags = as.integer(bytes[[5]]), stream = from_be(bytes[6:9]), payload = bytes[-(1:9)])
}

# Reads frames until `wanted(frame)` is TRUE; that frame, or NULL.
h2_until <- function(client, wanted, timeout = patience(30)) {
  deadline <- now() + timeout
  repeat {
    frame <- h2_read(client, deadline - now())
    if (is.null(frame) || isTRUE(wanted(frame))) return(frame)
  }
}

# The status of the first response on a connection (later ones may use the encoder's table), NA when it is not readable.
h2_status <- function(frame) {
  block <- frame$payload
  while (length(block) && bitwAnd(as.integer(block[[1]]), 0xe0L) == 0x20L) block <- block[-1]
  first <- as.integer(block[[1]])
  if (first >= 0x88L && first <= 0x8eL) return(c(200L, 204L, 206L, 304L, 400L, 404L, 500L)[[first - 0x87L]])
  if (!bitwAnd(first, 0x3fL) %in% 8:14) return(NA_integer_)
  size <- as.integer(block[[2]])
  value <- block[3:(2 + bitwAnd(size, 0x7fL))]
  as.integer(if (size < 128L) rawToChar(value) else huffman_digits(value))
}

# Digits in the code of RFC 7541 appendix B: 0-2 in five bits, 3-9 in six.
huffman_digits <- function(bytes) {
  bits <- paste(rev(as.integer(rawToBits(rev(bytes)))), collapse = "")
  codes <- c("00000", "00001", "00010", "011001", "011010", "011011", "011100", "011101", "011110", "011111")
  out <- ""
  repeat {
    hit <- which(startsWith(bits, codes))
    if (!length(hit)) return(out)
    out <- paste0(out, hit - 1L)
    bits <- substring(bits, nchar(codes[[hit]]) + 1L)
  }
}
