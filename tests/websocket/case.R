# Reads the cases of a file into what to send and what to expect. The format is in README.md.
# Not for playing them (client.R) or judging what came (judge.R).

# A list of cases, by name: list(name, title, headers, extensions, turns, steps, expect, ending).
read_cases <- function(file) {
  lines <- readLines(file, warn = FALSE, encoding = "bytes")
  if (!grepl("^# ", lines[1])) stop(file, ": the first line must say what the cases are about")
  lines <- lines[!grepl("^(#|$)", lines)]
  # a line that is too long goes on in the next, behind two blanks
  lines <- vapply(split(lines, cumsum(!startsWith(lines, "  "))), function(line) {
    paste(c(line[1], substring(line[-1], 3)), collapse = "")
  }, "", USE.NAMES = FALSE)
  starts <- startsWith(lines, "case ")
  if (!starts[1]) stop(file, ": must begin with a case")
  cases <- lapply(split(lines, cumsum(starts)), function(lines) {
    tryCatch(read_case(lines), error = function(e) stop(file, ", ", lines[1], ": ", conditionMessage(e)))
  })
  stats::setNames(cases, vapply(cases, `[[`, "", "name"))
}

read_case <- function(lines) {
  case <- list(name = sub("^case ([^:]+): .*", "\\1", lines[1]), title = sub("^case [^:]+: ", "", lines[1]),
    headers = character(), extensions = NA, status = 101L, turns = 1L, steps = list(), expect = list(), ending = NULL)
  for (line in lines[-1]) {
    key <- sub("^([a-z]+|> |<[?]? ).*", "\\1", line)
    value <- sub("^[a-z ]+: ?", "", line)
    switch(key,
      "> " = case$steps <- c(case$steps, list(read_frame(substring(line, 3)))),
      "< " = , "<? " = {
        expected <- read_frame(sub("^<[?]? ", "", line))
        case$expect <- c(case$expect, list(list(kind = expected$kind, of = list(expected), optional = key == "<? ")))
      },
      echo = case$expect <- c(case$expect, unechoed(case, optional = line == "echo?")),
      pause = case$steps <- c(case$steps, list(list(pause = as.numeric(value)))),
      until = case$steps <- c(case$steps, list(list(until_failed = as.numeric(value)))),
      header = case$headers <- c(case$headers, value),
      extensions = case$extensions <- value,
      turns = case$turns <- as.integer(value),
      status = {
        case$status <- as.integer(strsplit(value, " ", fixed = TRUE)[[1]])
        case$ending <- list(kind = "refused")
      },
      close = , fails = , ends = case$ending <- list(kind = key, codes = strsplit(value, " ", fixed = TRUE)[[1]]),
      stop("unknown line: ", line))
  }
  if (is.null(case$ending)) stop("needs close, fails, ends or status")
  case
}

# "text more chop=1: Hello" -> list(kind, fin, rsv, masked, alone, chop, every, fragments, deflate, length, data, bytes)
read_frame <- function(line) {
  colon <- regexpr(":( |$)", line)
  words <- strsplit(if (colon > 0) substr(line, 1, colon - 1) else line, " ", fixed = TRUE)[[1]]
  bytes <- if (colon > 0) unescape(expand(substring(line, colon + 2))) else raw()
  frame <- list(kind = words[1], fin = TRUE, rsv = 0, masked = TRUE, alone = FALSE, every = 0, deflate = FALSE,
    bytes = bytes)
  for (word in words[-1]) {
    number <- suppressWarnings(as.numeric(sub(".*=", "", word)))
    switch(sub("=.*", "", word),
      more = frame$fin <- FALSE,
      unmasked = frame$masked <- FALSE,
      alone = frame$alone <- TRUE,
      deflate = frame$deflate <- TRUE,
      data = frame$data <- sub("data=", "", word),
      rsv = , chop = , every = , fragments = , length = frame[[sub("=.*", "", word)]] <- number,
      # the code of a Close
      if (frame$kind == "close" && !is.na(number)) frame$bytes <- c(be_bytes(number, 2), bytes)
      else stop("unknown word: ", word))
  }
  known <- c(names(opcodes), "raw")
  if (!frame$kind %in% known && !grepl("^op=[0-9]+$", frame$kind)) stop("unknown frame: ", frame$kind)
  if (frame$kind != "raw") {
    by_number <- startsWith(frame$kind, "op=")
    frame$opcode <- if (by_number) as.numeric(sub("op=", "", frame$kind)) else opcodes[[frame$kind]]
  }
  frame
}

# What must come back for the messages that were sent so far and that no `echo` has spoken of yet.
unechoed <- function(case, optional) {
  spoken <- sum(vapply(case$expect, function(expected) isTRUE(expected$echo), NA))
  messages <- list()
  for (step in case$steps) {
    if (!isTRUE(step$kind %in% c("text", "binary", "continue"))) next
    if (step$kind == "continue") {
      last <- length(messages)
      messages[[last]]$of <- c(messages[[last]]$of, list(step))
    } else {
      messages <- c(messages, list(list(kind = step$kind, of = list(step), optional = optional, echo = TRUE)))
    }
  }
  if (length(messages) <= spoken) stop("nothing to echo")
  utils::tail(messages, length(messages) - spoken)
}

# The payload of a frame in a turn: what is written, or repeated to a length, or that much of a kind of data.
payload_of <- function(frame, turn) {
  if (!is.null(frame$data)) return(data_bytes(frame$data, frame$length, turn))
  if (is.null(frame$length)) return(frame$bytes)
  rep_len(frame$bytes, frame$length)
}

payload_expected <- function(expected, turn) unlist_raw(lapply(expected$of, payload_of, turn = turn))

unlist_raw <- function(list) if (length(list) == 1) list[[1]] else as.raw(unlist(list))

# What compresses differently: `length` bytes of a text or a picture that repeats after about 200 kB, from another place
# in each turn.
data_bytes <- function(name, length, turn) {
  if (is.null(made_data[[name]])) made_data[[name]] <- make_data(name)
  all <- made_data[[name]]
  before <- ((turn - 1) * length) %% length(all)
  rep_len(all, before + length)[before + seq_len(length)]
}

made_data <- new.env()

make_data <- function(name) {
  n <- 2000
  words <- c("queue", "worker", "route", "handler", "stream", "socket", "frame", "limit")
  word <- function(i) words[i * i %% 61 %% 8 + 1]
  i <- seq_len(n)
  text <- switch(name,
    json = sprintf("{\"id\": %d, \"name\": \"%s\", \"tags\": [\"%s\", \"%s\"], \"weight\": %.3f, \"ok\": %s}, ",
      i, word(i), word(i + 3), word(7 * i), sin(i) * 100, tolower(i %% 3 == 0)),
    html = sprintf("<tr class=\"%s\"><td>%d</td><td><a href=\"/%s/%d\">%s</a></td><td>%.2f</td></tr>\n",
      word(i), i, word(i + 1), i, word(i + 2), cos(i)),
    prose = sprintf("The %s that has no %s waits %d times for the %s, and the %s goes on.\n",
      word(i), word(3 * i), i, word(i + 5), word(11 * i)),
    picture = return(as.raw(as.vector(outer(1:512, 1:512, function(x, y) (x * y / 512 + 40 * sin(x / 9)) %% 256)))),
    # a sequence of numbers that no compressor shortens: a linear congruential generator, modulo 2^31
    noise = return(as.raw(Reduce(function(state, i) (state * 65539) %% 2147483648, seq_len(20011), 1,
      accumulate = TRUE) %/% 8388608)),
    stop("unknown data: ", name))
  charToRaw(paste(text, collapse = ""))
}
