# A client of WebSockets, with the frames and the handshake of tests/websocket: what tests here need of one is that it
# keeps the rules. Neighbour: tests/websocket, whose client breaks them.

for (file in c("frames.R", "handshake.R")) source(file.path(dirname(here), "websocket", file))

# list(con, status, fields, bytes; pings, how many were answered) in an environment; `con` is closed with end_sockets().
open_sockets <- list()

ws_open <- function(server, path, headers = character()) {
  con <- socketConnection("127.0.0.1", server$port, open = "r+b", blocking = FALSE, timeout = 10, options = "no-delay")
  socket <- list2env(list(con = con, bytes = raw(), answers = TRUE, pings = 0))
  open_sockets[[length(open_sockets) + 1L]] <<- socket
  address <- list(host = "127.0.0.1", port = server$port, path = path)
  writeBin(charToRaw(handshake_request(address, base64(random_bytes(16)), headers)), con)
  within(function() ws_read(socket) && length(grepRaw("\r\n\r\n", socket$bytes, fixed = TRUE)))
  at <- grepRaw("\r\n\r\n", socket$bytes, fixed = TRUE)
  expect(length(at) == 1L, "no answer to the handshake of ", path)
  head <- parse_head(rawToChar(socket$bytes[seq_len(at - 1L)]))
  socket$bytes <- socket$bytes[-seq_len(at + 3L)]
  socket$status <- head$status
  socket$fields <- head$fields
  socket
}

# One that has to be accepted.
ws <- function(server, path, ...) {
  socket <- ws_open(server, path, ...)
  expect(identical(socket$status, 101L), path, " was answered with ", socket$status)
  socket
}

end_sockets <- function() {
  for (socket in open_sockets) try(close(socket$con), silent = TRUE)
  open_sockets <<- list()
}

# Reads what there is, and waits a moment for it. FALSE at the end.
ws_read <- function(socket) {
  if (!socketSelect(list(socket$con), timeout = 0.02)) return(TRUE)
  got <- tryCatch(suppressWarnings(readBin(socket$con, "raw", 65536L)), error = function(e) raw())
  socket$bytes <- c(socket$bytes, got)
  length(got) > 0L
}

# Each string is a message, all in one write: a server that ends the connection for the first gets the others, too.
# A raw vector is one message.
ws_send <- function(socket, x) {
  messages <- if (is.character(x)) lapply(enc2utf8(x), charToRaw) else list(x)
  opcode <- opcodes[[if (is.character(x)) "text" else "binary"]]
  writeBin(unlist(lapply(messages, function(message) frame_bytes(opcode, message))), socket$con)
}

# The next message: a string, a raw vector, or list(code, reason) of a close, which is answered. 1006: the server has
# ended the connection without a word. NULL when nothing comes in so many seconds.
ws_next <- function(socket, seconds = patience(30)) {
  deadline <- Sys.time() + seconds
  repeat {
    frame <- take_frame(socket$bytes, 1L)
    if (is.list(frame)) {
      socket$bytes <- socket$bytes[-seq_len(frame$size)]
      what <- names(opcodes)[match(frame$opcode, opcodes)]
      if (what == "text") return(`Encoding<-`(rawToChar(frame$payload), "UTF-8"))
      if (what == "binary") return(frame$payload)
      if (what == "close") {
        try(writeBin(frame_bytes(opcodes[["close"]], frame$payload), socket$con), silent = TRUE)
        code <- if (length(frame$payload)) be_number(frame$payload[1:2]) else 1005
        return(list(code = code, reason = rawToChar(frame$payload[-(1:2)])))
      }
      if (what == "ping" && socket$answers) {
        writeBin(frame_bytes(opcodes[["pong"]], frame$payload), socket$con)
        socket$pings <- socket$pings + 1
      }
      next
    }
    if (!ws_read(socket)) return(list(code = 1006, reason = ""))
    if (Sys.time() > deadline) return(NULL)
  }
}

# What comes back for a message.
ws_ask <- function(socket, x, seconds = patience(30)) {
  ws_send(socket, x)
  ws_next(socket, seconds)
}

# The code with which the server ends the connection, after whatever messages; NULL when it does not.
ws_code <- function(socket, seconds = patience(30)) {
  deadline <- Sys.time() + seconds
  repeat {
    came <- ws_next(socket, as.numeric(deadline - Sys.time(), units = "secs"))
    if (is.null(came) || is.list(came)) return(came$code)
  }
}

# Closes it as the rules say, and waits for the answer. Its code.
ws_leave <- function(socket, code = 1000, reason = "") {
  writeBin(frame_bytes(opcodes[["close"]], c(be_bytes(code, 2), charToRaw(reason))), socket$con)
  ws_code(socket)
}

# What handlers have noted, a line each.
notes <- function(server) trimws(note_lines(server, "notes"))

noted_line <- function(server, pattern) within(function() any(grepl(pattern, notes(server))))

json <- function(text) jsonlite::fromJSON(text)

