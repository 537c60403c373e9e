# A client that sends what it is told, however wrong, and takes the answers apart.
# Not for judging them (judge.R). R has no half-close, so `hang up` closes the whole connection.

connect <- function(server) {
  socketConnection(server$host, server$port, open = "r+b", blocking = FALSE, timeout = patience())
}

# Reads what is there within `seconds`: raw(0) nothing yet, NULL when the server has closed.
receive <- function(con, seconds) {
  if (!socketSelect(list(con), write = FALSE, timeout = seconds)) return(raw())
  got <- tryCatch(suppressWarnings(readBin(con, raw(), 65536)), error = function(e) raw())
  if (length(got)) got else NULL
}

# Plays the steps of a case on a new connection. Value: list(answers, rest = bytes that are no answer, text = all that
# came, closed, missed = what was waited for in vain).
play <- function(server, case) {
  con <- connect(server)
  on.exit(close(con))
  state <- new.env()
  state$bytes <- raw()
  state$closed <- FALSE
  heads <- if (is.list(case$status)) vapply(case$status, `[[`, NA, "head") else logical()
  take <- function(seconds) {
    got <- receive(con, seconds)
    if (is.null(got)) state$closed <- TRUE else state$bytes <- c(state$bytes, got)
  }
  read_until <- function(done) within(function() state$closed || done(), meanwhile = take)
  send <- function(bytes) {
    # in pieces, listening between them: a server may answer and close before it has read everything
    for (from in seq(1, length(bytes), 16384)) {
      if (state$closed) return()
      piece <- bytes[from:min(length(bytes), from + 16383)]
      tryCatch(suppressWarnings(writeBin(piece, con)), error = function(e) NULL)
      if (length(bytes) > 16384) take(0.001)
    }
  }
  for (step in case$steps) {
    if (!is.null(step$send)) send(step$send)
    if (!is.null(step$pause)) let_pass(step$pause)
    if (!is.null(step$until)) {
      found <- function() grepl(step$until, text_of(state$bytes), perl = TRUE, useBytes = TRUE)
      read_until(found)
      if (!found()) state$missed <- c(state$missed, step$until)
    }
  }
  if (case$hang_up) {
    return(list(answers = list(), rest = raw(), text = text_of(state$bytes), closed = TRUE, missed = state$missed))
  }

  number <- length(heads)
  parsed <- function() parse_answers(state$bytes, heads)
  read_until(function() length(parsed()$answers) >= number && !identical(case$status, "none"))
  if (identical(case$close, "no") && length(parsed()$answers) == number && !state$closed) {
    send(charToRaw("GET /ok HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    heads <- c(heads, FALSE)
    read_until(function() length(parsed()$answers) > number)
  } else if (identical(case$close, "yes")) {
    read_until(function() FALSE)
  } else {
    # more than was expected, or the end, would come soon
    never(function() {
      if (!state$closed) take(0.02)
      state$closed
    }, 0.2)
  }
  c(parsed(), text = text_of(state$bytes), closed = state$closed, missed = list(state$missed))
}

text_of <- function(bytes) {
  bytes[bytes == 0] <- as.raw(0x3f)
  rawToChar(bytes)
}

# Takes as many whole answers as there are from the front of `bytes`. `heads[i]`: answer i is to a HEAD request.
parse_answers <- function(bytes, heads = logical()) {
  answers <- list()
  repeat {
    end <- grepRaw("\r\n\r\n", bytes, fixed = TRUE)
    if (!length(end)) break
    head <- strsplit(text_of(bytes[seq_len(end - 1)]), "\r\n", fixed = TRUE)[[1]]
    if (!grepl("^HTTP/1\\.[01] [0-9]{3}( |$)", head[1])) break
    fields <- head[-1]
    answer <- list(status = substring(head[1], 10, 12), names = tolower(sub(":.*", "", fields)),
                   values = sub("^[^:]*:[ \t]*", "", fields), body = raw())
    get <- function(name) answer$values[match(name, answer$names)]
    rest <- bytes[-seq_len(end + 3)]
    empty <- isTRUE(heads[length(answers) + 1]) || grepl("^1|204|304", answer$status)
    if (!empty) {
      body <- if (grepl("chunked", get("transfer-encoding"))) dechunk(rest) else counted(rest, get("content-length"))
      if (is.null(body)) break
      answer$body <- body$body
      rest <- body$rest
    }
    answers <- c(answers, list(answer))
    bytes <- rest
  }
  list(answers = answers, rest = bytes)
}

counted <- function(bytes, length) {
  length <- if (is.na(length)) 0L else as.integer(length)
  if (length(bytes) < length) return(NULL)
  list(body = utils::head(bytes, length), rest = utils::tail(bytes, length(bytes) - length))
}

dechunk <- function(bytes) {
  body <- raw()
  repeat {
    end <- grepRaw("\r\n", bytes, fixed = TRUE)
    if (!length(end)) return(NULL)
    size <- strtoi(sub(";.*", "", text_of(bytes[seq_len(end - 1)])), 16L)
    if (is.na(size) || length(bytes) < end + 1 + size + 2) return(NULL)
    if (size) body <- c(body, bytes[end + 1 + seq_len(size)])
    bytes <- bytes[-seq_len(end + 1 + size + 2)]
    if (!size) return(list(body = body, rest = bytes))
  }
}
