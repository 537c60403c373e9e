# Plays a case of frames/ on its connections, and records what comes and when, while another client goes on asking and
# the server's memory is watched. Not for judging the record: frames-judge.R.

# Value: the record, list(connections = list of what each saw; memory_mb and most_descriptors, the most that the server
# grew by meanwhile; descriptors and left, how many more it holds at the end and once the client has gone; held, when it
# last had half of the connections; runs, of handlers; slowest, the longest that another client waited, in seconds of a
# quiet machine; told, how many handlers had run when it was answered, each time; seconds; settled, whether half a
# second has passed since the last frame was sent; slack, the most that the machine asked for meanwhile). Times are
# seconds since the connections were opened. It ends when what is expected has come, or is late.
play_frames <- function(server, case) {
  ran <- handler_runs(server)
  # gates that another case has opened; R waits at none of them, as it has just answered
  unlink(list.files(server$marks, full.names = TRUE))
  before <- process_measure(server$pid)
  watch <- new.env()
  watch$server <- server
  watch$start <- now()
  watch$before <- watch$peak <- before
  watch$held <- 0
  watch$looked <- -Inf
  watch$slowest <- 0
  watch$told <- integer()
  watch$slack <- 1
  watch$path <- if (case$turns) "/count" else "/ok"
  # when another client last asked
  watch$asked <- if (case$expect[[1]]$kind == "others") -Inf else Inf
  watch$connections <- lapply(seq_len(case$connections), function(i) open_connection(server))
  on.exit({
    for (connection in watch$connections) hang_up(connection)
    # where a case has failed, R may wait at one
    if (length(server$marks)) open_all_gates(server)
  })

  sent <- Inf
  record <- function() {
    seconds <- now() - watch$start
    list(connections = lapply(watch$connections, as.list), seconds = seconds, sent = sent,
      settled = seconds > sent + 0.5, memory_mb = (watch$peak$rss_kb - before$rss_kb) / 1024,
      most_descriptors = watch$peak$fds - before$fds, held = watch$held, slowest = watch$slowest,
      told = watch$told - ran, slack = watch$slack)
  }
  are_met <- function(expectations) !length(unlist(lapply(expectations, judge_expectation, record())))
  awaited <- Filter(function(expected) expected$kind %in% c("stream", "connection"), case$expect)
  meanwhile <- Filter(function(expected) expected$meanwhile, awaited)
  for (step in case$steps) {
    for (connection in watch$connections) {
      if (!is.null(step$send)) send_bytes(connection, step$send, case$reads, watch)
      if (!is.null(step$hang_up)) hang_up(connection)
    }
    if (!is.null(step$open)) open_gate(server, step$open)
    if (!is.null(step$until)) wait_until(step$until, server, watch, case$reads)
    look_around(server, watch, case$reads, if (is.null(step$pause)) 0 else step$pause, stop_when_closed = TRUE)
    # what is left to be sent was for as long as it takes
    if (length(meanwhile) && are_met(meanwhile)) break
  }
  sent <- now() - watch$start
  # what was to come before has not come, or has
  awaited <- setdiff(awaited, meanwhile)
  limits <- vapply(awaited, `[[`, 0, "within")
  look <- function(seconds) look_around(server, watch, TRUE, seconds)
  look(0.1)
  within(function() are_met(awaited),
    max(0, limits[is.finite(limits)], if (any(is.infinite(limits))) 30), meanwhile = look)
  measure <- function() process_measure(server$pid)$fds - before$fds
  settle <- function(most) {
    # an ended connection is read from for 2 s more, lest its client miss the last word
    within(function() measure() <= most)
    measure()
  }
  got <- record()
  kept <- Filter(function(expected) expected$kind == "descriptors", case$expect)
  got$descriptors <- if (length(kept)) settle(kept[[1]]$more) else measure()
  for (connection in watch$connections) hang_up(connection)
  got$left <- settle(0)
  got$runs <- handler_runs(server) - ran
  got
}

# Listens until the server has read all that was sent (it answers a PING behind that), or has ended the response on a
# stream, on every connection; or until it has let the connections go, which a client that does not read sees by what
# the server's process holds.
wait_until <- function(until, server, watch, reads) {
  if (until$what == "read") {
    ping <- h2_frame("PING", payload = charToRaw("read all"))
    for (connection in watch$connections) send_bytes(connection, ping, reads, watch)
  }
  is_so <- function(connection) switch(until$what,
    read = length(connection$pong) > 0 || is.finite(connection$closed),
    end = length(connection$streams[[until$stream]]$end) > 0 || is.finite(connection$closed))
  condition <- if (until$what == "closed") {
    function() process_measure(server$pid)$fds <= watch$before$fds
  } else {
    function() all(vapply(watch$connections, is_so, NA))
  }
  if (!within(condition, meanwhile = function(seconds) look_around(server, watch, reads, seconds))) {
    stop("waited in vain until: ", paste(c(until$what, until$stream), collapse = " of stream "))
  }
}

# NA when the app does not count them.
handler_runs <- function(server) {
  count <- get_text(server, "/count")
  if (length(count)) as.integer(count) else NA_integer_
}

open_connection <- function(server) {
  connection <- new.env()
  connection$socket <- connect(server)
  connection$buffer <- raw()
  connection$closed <- Inf
  connection$goaway <- connection$pong <- NULL
  connection$streams <- list()
  connection
}

hang_up <- function(connection) {
  if (is.null(connection$socket)) return()
  close(connection$socket)
  connection$socket <- NULL
}

# Sends in pieces and listens between them, unless the client never reads, for as long as the server takes them.
send_bytes <- function(connection, bytes, reads, watch) {
  for (from in seq(1, length(bytes), 16384)) {
    if (is.null(connection$socket) || is.finite(connection$closed)) return()
    is_taken <- within(
      function() is.finite(connection$closed) || socketSelect(list(connection$socket), write = TRUE, timeout = 0),
      meanwhile = function(seconds) look_around(watch$server, watch, reads, seconds)
    )
    if (!is_taken || is.finite(connection$closed)) return()
    piece <- bytes[from:min(length(bytes), from + 16383)]
    sent <- tryCatch({
      writeBin(piece, connection$socket)
      TRUE
    }, error = function(e) FALSE, warning = function(w) FALSE)
    # what came before the end of the connection is still to be read
    if (reads || !sent) read_frames(connection, watch$start, 0)
  }
}

# For so many seconds: reads what comes, asks for /ok as another client, and looks at what the server's process holds.
look_around <- function(server, watch, reads, seconds, stop_when_closed = FALSE) {
  end <- now() + seconds
  repeat {
    if (now() - watch$asked > 0.1) {
      watch$asked <- now()
      answer <- get_text(server, watch$path)
      watch$slowest <- max(watch$slowest, if (length(answer)) (now() - watch$asked) / slack() else Inf)
      if (watch$path == "/count") watch$told <- c(watch$told, as.integer(answer))
    }
    watch$slack <- max(watch$slack, slack())
    if (now() - watch$looked > 0.1) {
      watch$looked <- now()
      measured <- process_measure(server$pid)
      watch$peak <- Map(max, watch$peak, measured)
      if (measured$fds > watch$before$fds + length(watch$connections) / 2) watch$held <- now() - watch$start
    }
    left <- max(min(end - now(), 0.1), 0)
    open <- Filter(function(c) !is.null(c$socket) && is.infinite(c$closed), watch$connections)
    if (stop_when_closed && !length(open)) return()
    if (!reads || !length(open)) {
      let_pass(left)
    } else {
      ready <- socketSelect(lapply(open, `[[`, "socket"), write = FALSE, timeout = left)
      for (connection in open[ready]) read_frames(connection, watch$start, 0)
    }
    if (now() >= end) return()
  }
}

# Reads what is there, and records the frames that are whole.
read_frames <- function(connection, start, seconds) {
  if (is.null(connection$socket) || is.finite(connection$closed)) return()
  repeat {
    got <- receive(connection$socket, seconds)
    if (is.null(got)) {
      connection$closed <- now() - start
      break
    }
    if (!length(got)) break
    connection$buffer <- c(connection$buffer, got)
    if (length(connection$buffer) > 1e6) break
  }
  bytes <- connection$buffer
  at <- 0
  while (length(bytes) >= at + 9 && length(bytes) >= at + 9 + (size <- from_be(bytes[at + 1:3]))) {
    payload <- if (size) bytes[at + 9 + seq_len(size)] else raw()
    record_frame(connection, as.integer(bytes[at + 4]), as.integer(bytes[at + 5]), from_be(bytes[at + 6:9]), payload,
      now() - start)
    at <- at + 9 + size
  }
  if (at) connection$buffer <- bytes[-seq_len(at)]
}

# What is kept of a frame: of a stream the times of its status, end and reset, its body's first bytes; the first GOAWAY
# that has an error.
record_frame <- function(connection, type, flags, stream, payload, time) {
  name <- as.character(stream)
  seen <- connection$streams[[name]]
  if (type == h2_types[["HEADERS"]] && is.null(seen$status)) {
    seen$status <- list(time = time, what = as.character(h2_status(list(payload = payload))))
  }
  if (type == h2_types[["DATA"]] && length(seen$body$bytes) < 1000) {
    seen$body <- list(time = time, bytes = c(seen$body$bytes, utils::head(payload, 1000)))
  }
  if (type %in% h2_types[c("HEADERS", "DATA")] && bitwAnd(flags, 1L)) seen$end <- list(time = time)
  if (type == h2_types[["RST_STREAM"]] && is.null(seen$reset)) seen$reset <- list(time = time, what = from_be(payload))
  if (stream) connection$streams[[name]] <- seen
  if (type == h2_types[["PING"]] && identical(payload, charToRaw("read all"))) connection$pong <- list(time = time)
  if (type == h2_types[["GOAWAY"]]) {
    code <- from_be(payload[5:8])
    if (is.null(connection$goaway) || connection$goaway$what == 0) connection$goaway <- list(time = time, what = code)
  }
}
