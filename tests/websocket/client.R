# A client that sends what it is told, however wrong, and records what comes back. Not for judging that: judge.R.

# Seconds, on a quiet machine, that what must come may take, and the end of a connection after that.
longest <- 30

# Plays a case on a new connection. Value: the record, list(status, head, agreed = what was agreed on compression, turns
# = for each turn the list(kind, payload) that came, close = payload of the server's Close or NULL, first = whether it
# came before ours, ended = whether the server ended the connection, faults = what no server may do, late = whether it
# failed the connection only after it was sent more than it needed to).
play <- function(server, case) {
  state <- open_connection(server, case$headers)
  on.exit(close(state$con))
  if (length(state$head) && state$head$status == 101L && extensions_fit(case, state$head)) {
    for (turn in seq_len(case$turns)) {
      state$turn <- turn
      play_turn(state, case, turn)
      if (state$over) break
    }
    finish(state, case)
  }
  list(status = state$head$status, head = state$head, agreed = state$agreed, turns = state$turns, close = state$close,
    first = state$first, ended = state$ended, faults = unique(state$faults), late = state$late)
}

open_connection <- function(server, headers) {
  state <- new.env()
  # without a delay, each write is a segment of its own
  state$con <- socketConnection(server$host, server$port, open = "r+b", blocking = FALSE, timeout = patience(),
    options = "no-delay")
  state$rest <- raw()
  state$pending <- list()
  state$have <- 0
  state$need <- 2
  state$turns <- list()
  state$turn <- 1
  state$history <- raw()
  state$over <- state$ended <- state$closed_by_us <- state$first <- state$late <- FALSE
  key <- base64(random_bytes(16))
  writeBin(charToRaw(handshake_request(server, key, headers)), state$con)
  find_end <- function() grepRaw("\r\n\r\n", state$rest, fixed = TRUE)
  within(function() length(find_end()) || state$ended, longest, meanwhile = function(seconds) {
    got <- receive(state, seconds)
    if (is.null(got)) state$ended <- TRUE else state$rest <- c(state$rest, got)
  })
  if (!length(at <- find_end())) return(state)
  state$head <- parse_head(rawToChar(state$rest[seq_len(at - 1)]))
  state$rest <- state$rest[-seq_len(at + 3)]
  state$have <- length(state$rest)
  if (state$head$status == 101L) {
    given <- sub(":.*", "", headers)
    own_key <- sub("^[^:]*: *", "", headers[tolower(given) == "sec-websocket-key"])
    state$faults <- handshake_faults(state$head, c(own_key, key)[1], headers)
    state$agreed <- agreed_deflate(state$head)
  }
  state
}

extensions_fit <- function(case, head) {
  if (is.na(case$extensions)) return(TRUE)
  answer <- head$fields["sec-websocket-extensions"]
  if (case$extensions == "none") is.na(answer) else grepl(case$extensions, answer, perl = TRUE)
}

play_turn <- function(state, case, turn) {
  queue <- list()
  flush <- function() {
    if (length(queue)) write_bytes(state, unlist_raw(queue))
    queue <<- list()
  }
  for (step in case$steps) {
    if (state$over) break
    if (!is.null(step$pause)) {
      flush()
      listen(state, step$pause)
    } else if (!is.null(step$until_failed)) {
      flush()
      within(function() state$over, step$until_failed, meanwhile = function(seconds) take(state, seconds))
      if (!state$over) state$late <- TRUE
    } else {
      if (step$alone || length(step$chop)) flush()
      queue <- c(queue, list(send_bytes(step, turn, state)))
      if (step$kind == "close") state$closed_by_us <- TRUE
      if (length(step$chop)) {
        write_bytes(state, unlist_raw(queue), step$chop, step$every)
        queue <- list()
      } else if (step$alone) {
        flush()
      }
    }
  }
  flush()
  awaited <- length(case$expect)
  wait_for(state, function() length(state$turns) >= turn && length(state$turns[[turn]]) >= awaited)
}

# The bytes of one line of a case.
send_bytes <- function(step, turn, state) {
  payload <- payload_of(step, turn)
  if (step$kind == "raw") return(payload)
  if (step$deflate) {
    payload <- deflate(payload, state$agreed$ours$bits)
    step$rsv <- 4
  }
  if (length(step$fragments)) return(fragment_bytes(step$opcode, payload, step$fragments, step$fin, step$rsv))
  frame_bytes(step$opcode, payload, step$fin, step$rsv, step$masked)
}

# Writes in pieces, listening between them: a server may stop reading until its answers are taken.
write_bytes <- function(state, bytes, size = 65536, every = 0) {
  starts <- seq(1, length(bytes), size)
  # looking costs more than a small write
  look <- if (every > 0) 1 else max(1, 16384 %/% size)
  for (i in seq_along(starts)) {
    piece <- bytes[starts[i]:min(length(bytes), starts[i] + size - 1)]
    if (i %% look == 0) {
      repeat {
        ready <- socketSelect(list(state$con, state$con), c(FALSE, TRUE), timeout = patience(longest))
        if (ready[1]) take(state, 0)
        if (ready[2] || state$over || !any(ready)) break
      }
    }
    if (state$over) return()
    tryCatch(suppressWarnings(writeBin(piece, state$con)), error = function(e) NULL)
    if (every > 0) listen(state, every)
  }
}

# Until `done()`, or the server has failed or ended the connection.
wait_for <- function(state, done = function() FALSE) {
  within(function() done() || state$over, longest, meanwhile = function(seconds) take(state, seconds))
}

# For `seconds`, or until the server has failed or ended the connection.
listen <- function(state, seconds) {
  end <- Sys.time() + seconds
  while (!state$over && (left <- as.numeric(end - Sys.time(), units = "secs")) > 0) take(state, left)
}

# Sends our Close if nobody has sent one, and waits for the server's Close and its end.
finish <- function(state, case) {
  if (case$ending$kind == "close" && !state$over && !state$closed_by_us) {
    state$closed_by_us <- TRUE
    write_bytes(state, frame_bytes(opcodes[["close"]], be_bytes(1000, 2)))
  }
  wait_for(state)
  within(function() state$ended, longest, meanwhile = function(seconds) take(state, seconds))
}

# raw(0): nothing yet; NULL: the server has ended the connection.
receive <- function(state, seconds) {
  if (!socketSelect(list(state$con), write = FALSE, timeout = seconds)) return(raw())
  most <- if (state$need > 65536) 2^20 else 65536
  got <- tryCatch(suppressWarnings(readBin(state$con, raw(), most)), error = function(e) raw())
  if (length(got)) got else NULL
}

# Receives once, and takes whole frames off what is there.
take <- function(state, seconds) {
  if (state$have >= state$need) take_frames(state)
  got <- receive(state, seconds)
  if (is.null(got)) {
    state$ended <- state$over <- TRUE
    return()
  }
  if (!length(got)) return()
  state$pending <- c(state$pending, list(got))
  state$have <- state$have + length(got)
  if (state$have >= state$need) take_frames(state)
}

take_frames <- function(state) {
  bytes <- if (length(state$rest)) unlist(c(list(state$rest), state$pending)) else unlist_raw(state$pending)
  at <- 1
  while (is.list(frame <- take_frame(bytes, at))) {
    at <- at + frame$size
    take_one(state, frame)
  }
  state$need <- frame
  state$rest <- if (at == 1) bytes else bytes[-seq_len(at - 1)]
  state$pending <- list()
  state$have <- length(state$rest)
}

# What one frame of the server means: a message or a part of it, a pong, a ping to be answered, or its Close.
take_one <- function(state, frame) {
  state$faults <- c(state$faults, frame_faults(state, frame))
  if (frame$opcode == opcodes[["ping"]]) {
    if (!state$closed_by_us) write_bytes(state, frame_bytes(opcodes[["pong"]], frame$payload))
  } else if (frame$opcode == opcodes[["pong"]]) {
    came(state, "pong", frame$payload)
  } else if (frame$opcode == opcodes[["close"]]) {
    state$close <- frame$payload
    state$first <- !state$closed_by_us
    state$over <- TRUE
    if (state$first) {
      state$closed_by_us <- TRUE
      # the code is echoed (section 5.5.1)
      tryCatch(suppressWarnings(writeBin(frame_bytes(opcodes[["close"]], utils::head(frame$payload, 2)), state$con)),
        error = function(e) NULL)
    }
  } else {
    if (frame$opcode != 0 || is.null(state$message)) {
      kind <- names(opcodes)[match(frame$opcode, opcodes)]
      state$message <- list(kind = kind, deflated = frame$rsv == 4, parts = list())
    }
    state$message$parts[[length(state$message$parts) + 1]] <- frame$payload
    if (frame$fin) end_message(state)
  }
}

end_message <- function(state) {
  message <- state$message
  state$message <- NULL
  payload <- unlist_raw(message$parts)
  if (message$deflated && length(state$agreed)) {
    theirs <- state$agreed$theirs
    payload <- inflate(payload, state$history)
    if (is.null(payload)) {
      state$faults <- c(state$faults, "a compressed message of the server cannot be inflated")
      payload <- raw()
    } else if (theirs$takeover) {
      state$history <- next_history(state$history, payload, theirs$bits)
    }
  }
  if (identical(message$kind, "text") && !is_utf_8(payload)) {
    state$faults <- c(state$faults, "a text message of the server is not UTF-8")
  }
  came(state, message$kind, payload)
}

came <- function(state, kind, payload) {
  turn <- state$turn
  if (length(state$turns) < turn) state$turns[[turn]] <- list()
  state$turns[[turn]][[length(state$turns[[turn]]) + 1]] <- list(kind = kind, payload = payload)
}
