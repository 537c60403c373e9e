# Floods of R's string cache: strings that collide in it, and many requests of them. Also for the trial of the
# benchmark.

# `n` different strings of equal length and equal hash (h * 33 + c): every choice of "Ab" or "BA" for each pair of
# letters.
colliding <- function(n) {
  strings <- ""
  while (length(strings) < n) strings <- as.vector(outer(strings, c("Ab", "BA"), paste0))
  strings[seq_len(n)]
}

# `n` different strings of six letters whose hashes differ but agree in their lowest 16 bits, so that they share a
# bucket of a cache that has not grown.
same_bucket <- function(n) {
  alphabet <- c(48:57, 65:90, 97:122)
  triples <- as.matrix(expand.grid(alphabet, alphabet, alphabet))
  value <- as.vector(triples %*% c(33^2, 33, 1)) %% 65536
  shifted <- (value * 33^3) %% 65536
  found <- character()
  by_value <- split(seq_along(value), value)
  for (i in seq_along(shifted)) {
    matching <- by_value[[as.character((4711 - shifted[[i]]) %% 65536)]]
    if (length(matching)) {
      first <- intToUtf8(triples[i, ])
      found <- c(found, vapply(matching, function(j) paste0(first, intToUtf8(triples[j, ])), ""))
    }
    if (length(found) >= n) return(found[seq_len(n)])
  }
}

benign <- function(n, size) {
  set.seed(1)
  apply(matrix(sample(letters, n * size, TRUE), n), 1, paste, collapse = "")
}

json_of_strings <- function(x) paste0("[\"", paste(x, collapse = "\",\""), "\"]")
json_of_names <- function(x) paste0("{\"", paste(x, collapse = "\":1,\""), "\":1}")

# Seconds of CPU for many requests over one connection, and how many were refused.
spent <- function(server, path, bodies, type = NULL, header = NULL) {
  socket <- socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE, timeout = 60)
  on.exit(close(socket))
  before <- process_measure(server$pid)$cpu
  refused <- 0L
  for (body in bodies) {
    target <- if (is.null(type) && is.null(header)) paste0(path, "?", body) else path
    fields <- if (!is.null(header)) paste0(header, ": ", body, "\r\n") else ""
    if (!is.null(type)) fields <- paste0("Content-Type: ", type, "\r\nContent-Length: ", nchar(body, "bytes"), "\r\n")
    writeBin(charToRaw(paste0(
      if (is.null(type)) "GET " else "POST ", target, " HTTP/1.1\r\nHost: a\r\n", fields, "\r\n", if (!is.null(type)) body
    )), socket)
    head <- character()
    while (nzchar(line <- readLines(socket, 1L))) head <- c(head, line)
    length <- as.integer(sub("^content-length: *", "", grep("^content-length", head, ignore.case = TRUE, value = TRUE), ignore.case = TRUE))
    readBin(socket, "raw", length)
    refused <- refused + !grepl("^HTTP/1.1 200", head[[1L]])
  }
  c(cpu = process_measure(server$pid)$cpu - before, refused = refused)
}

# `n` requests of `each` strings, colliding with one another and over all requests, or not. Not too many: this session's
# own string cache is no better than the server's.
requests_of <- function(make, n, each, write) {
  all <- make(n * each)
  vapply(seq_len(n), function(i) write(all[(i - 1L) * each + seq_len(each)]), "")
}

# JSON of `n` colliding strings, those from number `from` on: made of bytes, so that this session does not make them.
colliding_json <- function(from, n, blocks = 16L) {
  bits <- outer(from + seq_len(n) - 1L, 2^(seq_len(blocks) - 1L), function(i, place) i %/% place %% 2) == 1
  text <- matrix(raw(1L), n, 2L * blocks)
  text[, seq(1L, 2L * blocks, 2L)] <- charToRaw("BA")[bits + 1L]
  text[, seq(2L, 2L * blocks, 2L)] <- charToRaw("Ab")[bits + 1L]
  text <- as.vector(rbind(t(text), matrix(charToRaw("\",\""), 3L, n)))
  rawToChar(c(charToRaw("[\""), utils::head(text, -3L), charToRaw("\"]")))
}
