# Reads a case file into what to send and what to expect. The format is in README.md.
# Not for playing it (client.R) or judging the answers (run.R).

read_case <- function(file) {
  lines <- readLines(file, warn = FALSE)
  case <- list(file = file, header = character(), no_header = character(), log = character(), close = "either",
               status = NULL, runs = NA, body = NA, hang_up = FALSE)
  steps <- list()
  text <- character()
  flush <- function(step = NULL) {
    steps <<- c(steps, if (length(text)) list(list(send = paste(text, collapse = ""))), list(step)[!is.null(step)])
    text <<- character()
  }
  for (line in lines) {
    if (grepl("^(#|$)", line)) next
    if (grepl("^> ", line)) { text <- c(text, substring(line, 3)); next }
    if (line == "hang up") { case$hang_up <- TRUE; next }
    key <- sub(":.*", "", line)
    value <- sub("^[a-z-]+: ", "", line)
    switch(key,
      pause = flush(list(pause = as.numeric(value))),
      until = flush(list(until = value)),
      status = case$status <- statuses(value),
      close = case$close <- match.arg(value, c("yes", "no", "either")),
      header = , "no-header" = , log = {
        key <- sub("-", "_", key)
        case[[key]] <- c(case[[key]], value)
      },
      body = case$body <- value,
      runs = case$runs <- as.integer(value),
      stop(file, ": unknown line: ", line))
  }
  flush()
  if (!grepl("^# ", lines[1])) stop(file, ": the first line must say what the case is about")
  if (!case$hang_up && is.null(case$status)) stop(file, ": needs status")
  if (is.list(case$status) && case$close == "either") stop(file, ": needs close: yes or no")
  case$steps <- encode_steps(steps)
  case
}

# "200 200/head 204*2" -> list of list(code, head)
statuses <- function(value) {
  if (value %in% c("any", "none")) return(value)
  words <- strsplit(value, " ", fixed = TRUE)[[1]]
  times <- ifelse(grepl("*", words, fixed = TRUE), sub(".*\\*", "", words), "1")
  lapply(rep(sub("\\*.*", "", words), as.integer(times)), function(word) {
    list(code = sub("/head", "", word, fixed = TRUE), head = grepl("/head", word))
  })
}

encode_steps <- function(steps) {
  texts <- vapply(steps, function(step) if (is.null(step$send)) "" else expand(step$send), "")
  for (i in grep("{{length}}", texts, fixed = TRUE)) {
    tail <- sub(".*?\\{\\{length\\}\\}", "", paste(texts[i:length(texts)], collapse = ""), perl = TRUE)
    at <- regexpr("\\r\\n\\r\\n", tail, fixed = TRUE)
    length <- length(unescape(substr(tail, at + 8, nchar(tail))))
    texts[i] <- sub("{{length}}", length, texts[i], fixed = TRUE)
  }
  for (i in which(nzchar(texts))) steps[[i]]$send <- unescape(texts[i])
  steps
}

# {{TEXT*COUNT}} -> TEXT, COUNT times
expand <- function(text) {
  repeat {
    expanded <- expand_innermost(text)
    if (expanded == text) return(text)
    text <- expanded
  }
}

expand_innermost <- function(text) {
  found <- gregexpr("\\{\\{(?:(?!\\{\\{|\\}\\}).)+\\*[0-9]+\\}\\}", text, perl = TRUE)
  regmatches(text, found) <- list(vapply(regmatches(text, found)[[1]], function(item) {
    count <- as.integer(sub(".*\\*([0-9]+)\\}\\}$", "\\1", item))
    item <- sub("^\\{\\{(.*)\\*[0-9]+\\}\\}$", "\\1", item)
    fill <- c("<n>" = "n", "<c>" = "c", "<l>" = "l")
    used <- fill[vapply(names(fill), grepl, NA, item, fixed = TRUE)]
    if (!length(used)) return(strrep(item, count))
    different <- switch(used, n = format(seq_len(count), scientific = FALSE, trim = TRUE),
                        c = colliding(count), l = colliding_low(count))
    paste(vapply(different, function(one) gsub(names(used), one, item, fixed = TRUE), ""), collapse = "")
  }, "", USE.NAMES = FALSE))
  text
}

# `count` different strings with one hash: blocks of "Ab" and "BA", which weigh the same.
colliding <- function(count) {
  strings <- ""
  while (length(strings) < count) strings <- c(paste0(strings, "Ab"), paste0(strings, "BA"))
  strings[seq_len(count)]
}

# `count` different strings whose hashes agree in their low 16 bits: a number, then four digits to the base of
# 33 that make up the difference. Those with characters that JSON would escape are left out.
colliding_low <- function(count) {
  strings <- as.character(seq_len(2 * count))
  weigh <- function(string) Reduce(function(hash, byte) (hash * 33 + byte) %% 65536, utf8ToInt(string), 5381)
  differences <- (77 - vapply(paste0(strings, "@@@@"), weigh, 0)) %% 65536
  digits <- vapply(differences, function(d) intToUtf8(64 + d %/% 33^(3:0) %% 33), "")
  strings <- paste0(strings, digits)
  strings[!grepl("\\", strings, fixed = TRUE)][seq_len(count)]
}

unescape <- function(text) {
  found <- gregexpr("\\\\(x[0-9a-fA-F]{2}|.)", text, perl = TRUE)
  escapes <- regmatches(text, found)[[1]]
  plain <- lapply(regmatches(text, found, invert = TRUE)[[1]], charToRaw)
  known <- c("\\r" = 0x0d, "\\n" = 0x0a, "\\t" = 0x09, "\\0" = 0x00, "\\\\" = 0x5c)
  bytes <- lapply(escapes, function(escape) {
    if (startsWith(escape, "\\x")) return(as.raw(strtoi(substring(escape, 3), 16L)))
    if (is.na(known[escape])) stop("unknown escape: ", escape)
    as.raw(known[[escape]])
  })
  all <- vector("list", length(plain) + length(bytes))
  all[seq(1, length(all), 2)] <- plain
  all[seq_along(bytes) * 2] <- bytes
  as.raw(unlist(all))
}
