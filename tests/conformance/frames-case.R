# Reads a case of frames/: what clients of HTTP/2 send, frame by frame, and what must come of it. The format is in
# README.md. Not for sending (frames-client.R) or judging (frames-judge.R).
# Frames are written by tests/testthat/helper-h2-frames.R.

# Error codes of RFC 9113, section 7, from 0.
h2_errors <- c("NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
  "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR",
  "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED")
# Settings of section 6.5.2, from 1.
h2_settings <- c("header_table_size", "enable_push", "max_concurrent_streams", "initial_window_size", "max_frame_size",
  "max_header_list_size")

outcome_names <- c("status", "body", "end", "reset", "goaway", "closed", "open", "silent")

# Value: list(file, settings, open_files, connections, reads, turns = whether the other client is to be told how many
# handlers have run, steps, expect = list of records for judge_expectation()).
read_frames_case <- function(file) {
  lines <- readLines(file, warn = FALSE)
  if (!grepl("^# ", lines[1])) stop("the first line must say what the case is about")
  case <- list(file = file, settings = character(), connections = 1L, reads = TRUE, turns = FALSE)
  # what holds for every case without being written
  expect <- list(list(kind = "others", seconds = 10), list(kind = "left", more = 0))
  program <- character()
  for (line in lines) {
    if (grepl("^(#|$)", line)) next
    key <- sub(":.*", "", line)
    value <- sub("^[^:]*: ", "", line)
    if (grepl("^(> |pause: |until: |open: |repeat |end$|hang up$)", trimws(line))) {
      program <- c(program, trimws(line))
      next
    }
    if (grepl("^(streams? .*|connection)$", key)) {
      expect[[length(expect) + 1L]] <- read_frames_expectation(key, value)
      next
    }
    switch(key,
      settings = {
        words <- strsplit(strsplit(value, " ", fixed = TRUE)[[1]], "=", fixed = TRUE)
        case$settings <- stats::setNames(vapply(words, `[`, "", 2), vapply(words, `[`, "", 1))
      },
      "open-files" = case$open_files <- as.integer(value),
      connections = case$connections <- as.integer(value),
      reads = case$reads <- value == "yes",
      memory = expect <- c(expect, list(list(kind = "memory", megabytes = as.numeric(value)))),
      descriptors = expect <- c(expect, list(list(kind = "descriptors", more = as.integer(value)))),
      runs = {
        range <- as.integer(strsplit(value, "-", fixed = TRUE)[[1]])
        expect <- c(expect, list(list(kind = "runs", from = range[1], to = range[length(range)])))
      },
      others = if (value == "no") expect[[1]] <- NULL else stop("others: no, or nothing"),
      turns = {
        case$turns <- TRUE
        expect <- c(expect, list(list(kind = "turns", most = as.integer(value))))
      },
      log = expect <- c(expect, list(list(kind = "log", pattern = value))),
      stop("unknown line: ", line))
  }
  if (!any(vapply(expect, function(e) e$kind %in% c("stream", "connection"), NA))) stop("expects nothing of the server")
  case$expect <- expect
  case$steps <- read_program(program)
  case
}

# "streams 1-9", "status 400 | reset within 3": a record of kind "stream" or "connection". `meanwhile`: it is to come
# before the last frame is sent.
read_frames_expectation <- function(subject, text) {
  record <- list(kind = sub("s? .*", "", subject), after = 0, within = Inf, meanwhile = endsWith(text, " meanwhile"))
  text <- sub(" meanwhile$", "", text)
  if (record$kind == "stream") record$streams <- stream_numbers(sub("^streams? ", "", subject))
  for (limit in c("within", "after")) {
    pattern <- paste0("^(.*) ", limit, " ([0-9.]+)$")
    if (!grepl(pattern, text)) next
    record[[limit]] <- as.numeric(sub(pattern, "\\2", text))
    text <- sub(pattern, "\\1", text)
  }
  record$outcomes <- lapply(strsplit(text, " | ", fixed = TRUE)[[1]], function(outcome) {
    name <- sub(" .*", "", outcome)
    what <- if (name == outcome) NULL else substring(outcome, nchar(name) + 2)
    if (!name %in% outcome_names) stop("unknown outcome: ", outcome)
    if (name %in% c("reset", "goaway") && !is.null(what)) what <- error_code(what)
    list(name = name, what = what)
  })
  record
}

# "1-9" -> 1 3 5 7 9: a client's streams are odd. A single number may be any.
stream_numbers <- function(text) {
  ends <- as.numeric(strsplit(text, "-", fixed = TRUE)[[1]])
  if (length(ends) == 1) ends else seq(ends[1], ends[2], 2)
}

error_code <- function(name) {
  code <- match(name, h2_errors) - 1
  if (is.na(code)) stop("unknown error code: ", name)
  code
}

# The lines of a program as steps: list(send = raw), list(pause = seconds), list(until = text), list(open = name) or
# list(hang_up = TRUE), in order; repetitions are written out.
read_program <- function(lines) {
  state <- new.env()
  state$stream <- -1
  state$encoded <- list()
  at <- 1
  block <- function() {
    steps <- list()
    while (at <= length(lines) && lines[at] != "end") {
      line <- lines[at]
      at <<- at + 1
      steps <- c(steps, list(if (startsWith(line, "> ")) list(frame = substring(line, 3))
        else if (line == "hang up") list(hang_up = TRUE)
        else if (startsWith(line, "until: ")) list(until = read_until(substring(line, 8)))
        else if (startsWith(line, "open: ")) list(open = substring(line, 7))
        else if (startsWith(line, "pause: ")) {
          list(ramp = as.numeric(strsplit(substring(line, 8), "-", fixed = TRUE)[[1]]))
        }
        else {
          words <- strsplit(line, " ", fixed = TRUE)[[1]]
          inner <- block()
          if (at > length(lines)) stop("a repeat without end")
          at <<- at + 1
          list(times = as.integer(words[2]), every = if (length(words) > 2) as.numeric(words[4]), steps = inner)
        }))
    }
    steps
  }
  steps <- block()
  if (at <= length(lines)) stop("an end without repeat")
  join_sends(write_out(steps, state, 0))
}

# What is waited for: list(what = "read", "closed" or "end", stream).
read_until <- function(text) {
  if (text %in% c("read", "closed")) return(list(what = text))
  if (!grepl("^stream [0-9]+ ends$", text)) stop("nothing to wait for: ", text)
  list(what = "end", stream = sub("^stream ([0-9]+) ends$", "\\1", text))
}

# `share`: how far a repetition has come, from 0 to 1, for pauses that grow with it.
write_out <- function(steps, state, share) {
  unlist(lapply(steps, function(step) {
    if (!is.null(step$frame)) return(list(list(send = frame_bytes(step$frame, state))))
    if (!is.null(step$ramp)) {
      return(list(list(pause = step$ramp[1] + share * (step$ramp[length(step$ramp)] - step$ramp[1]))))
    }
    if (length(step$until) || length(step$open) || length(step$hang_up)) return(list(step))
    once <- function(i) {
      c(write_out(step$steps, state, i / step$times), if (length(step$every)) list(list(pause = step$every)))
    }
    is_new <- function(inner) is.null(inner$frame) || grepl("^[A-Z_]+ [+.]( |$)", inner$frame)
    changes <- any(vapply(step$steps, is_new, NA))
    # what is the same each time is encoded once
    if (!changes && !length(step$every)) {
      return(list(list(send = rep(unlist_raw(lapply(once(0), `[[`, "send")), step$times))))
    }
    unlist(lapply(seq_len(step$times), once), recursive = FALSE)
  }), recursive = FALSE)
}

join_sends <- function(steps) {
  sends <- vapply(steps, function(step) !is.null(step$send), NA)
  run <- cumsum(!sends | c(TRUE, !sends[-length(sends)]))
  unname(lapply(split(steps, run), function(group) {
    if (is.null(group[[1]]$send)) group[[1]] else list(send = unlist_raw(lapply(group, `[[`, "send")))
  }))
}

# The bytes of one line: "HEADERS 1 end GET /get x-test=a". A range of streams is a frame for each.
frame_bytes <- function(text, state) {
  words <- strsplit(text, " ", fixed = TRUE)[[1]]
  type <- words[1]
  rest <- words[-1]
  if (type == "RAW") return(unescape(substring(text, 5)))
  if (type == "PREFACE") return(charToRaw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
  # without a table that grows, what the server answers can be read by itself
  if (type == "OPEN") return(c(frame_bytes("PREFACE"), settings_frame(c("header_table_size=0", rest))))
  if (type == "SETTINGS") return(settings_frame(rest))
  if (type == "PING") return(h2_frame("PING", if ("ack" %in% rest) 1L else 0L, payload = charToRaw("12345678")))
  if (type == "GOAWAY") return(h2_frame("GOAWAY", payload = c(be_bytes(0, 4), be_bytes(error_code(rest[1]), 4))))
  if (type == "FRAME") return(any_frame(rest))
  streams <- switch(rest[1], "+" = state$stream <- state$stream + 2, "." = state$stream, stream_numbers(rest[1]))
  # the rest is encoded once for all repetitions and streams, whose number is bytes 6 to 9 of the frame
  bytes <- state$encoded[[text]]
  if (is.null(bytes)) bytes <- state$encoded[[text]] <- stream_frame(type, rest[-1])
  unlist_raw(lapply(streams, function(stream) c(bytes[1:5], be_bytes(stream, 4), bytes[-(1:9)])))
}

settings_frame <- function(words) {
  if (identical(words, "ack")) return(h2_frame("SETTINGS", 1L))
  h2_frame("SETTINGS", payload = unlist_raw(lapply(strsplit(words, "=", fixed = TRUE), function(pair) {
    id <- match(pair[1], h2_settings)
    c(be_bytes(if (is.na(id)) as.numeric(pair[1]) else id, 2), be_bytes(as.numeric(pair[2]), 4))
  })))
}

# "type=66 flags=0 stream=1 length=100": any frame, filled with zeros.
any_frame <- function(words) {
  given <- c(type = 0, flags = 0, stream = 0, length = 0)
  pairs <- strsplit(words, "=", fixed = TRUE)
  given[vapply(pairs, `[`, "", 1)] <- as.numeric(vapply(pairs, `[`, "", 2))
  h2_frame(given[["type"]], given[["flags"]], given[["stream"]], raw(given[["length"]]))
}

# A frame of stream 0, to be given its number. `end` and `more` are flags: END_STREAM, and not END_HEADERS.
stream_frame <- function(type, words) {
  end <- if ("end" %in% words) 1L else 0L
  whole <- if ("more" %in% words) 0L else 4L
  words <- words[!words %in% c("end", "more")]
  switch(type,
    HEADERS = h2_frame(type, end + whole, payload = fields_block(words)),
    CONTINUATION = h2_frame(type, whole, payload = fields_block(words)),
    DATA = h2_frame(type, end, payload = data_bytes(words)),
    WINDOW_UPDATE = h2_frame(type, payload = be_bytes(as.numeric(words[1]), 4)),
    RST_STREAM = h2_frame(type, payload = be_bytes(error_code(words[1]), 4)),
    PRIORITY = h2_frame(type, payload = c(be_bytes(as.numeric(sub("on=", "", words[1])), 4), as.raw(15))),
    stop("unknown frame: ", type))
}

data_bytes <- function(words) {
  if (!length(words)) return(raw())
  if (startsWith(words[1], "text=")) return(charToRaw(sub("text=", "", words[1])))
  rep(charToRaw("a"), as.integer(words[1]))
}

# A header block: METHOD PATH stands for the four pseudo-headers; NAME=VALUE is a literal, +NAME=VALUE one that is added
# to the table, @N*COUNT so many references to its entry N; {{TEXT*COUNT}} and escapes are those of case.R.
fields_block <- function(words) {
  if (length(words) >= 2 && grepl("^[A-Z]+$", words[1])) {
    target <- c(paste0(":method=", words[1]), ":scheme=http", paste0(":path=", words[2]), ":authority=localhost")
    words <- c(target, words[-(1:2)])
  }
  unlist_raw(lapply(words, function(word) {
    if (grepl("^@[0-9]+", word)) {
      entry <- as.integer(sub("^@([0-9]+).*", "\\1", word))
      return(rep(as.raw(128 + entry), if (grepl("*", word, fixed = TRUE)) as.integer(sub(".*\\*", "", word)) else 1))
    }
    added <- startsWith(word, "+")
    if (added) word <- substring(word, 2)
    split <- regexpr("=", word, fixed = TRUE)
    name <- unescape(substr(word, 1, split - 1))
    value <- unescape(expand(substring(word, split + 1)))
    c(as.raw(if (added) 64 else 0), hpack_length(length(name)), name, hpack_length(length(value)), value)
  }))
}
