# The opening handshake (RFC 6455, section 4), and what was agreed on compression (RFC 7692, section 7.1).
# Not for frames: client.R goes on with them.

# The request, as text. `headers`: lines that replace those of the same name; "NAME:" alone leaves one out.
handshake_request <- function(server, key, headers = character()) {
  lines <- c(paste0("Host: ", server$host, ":", server$port), "Upgrade: websocket", "Connection: Upgrade",
    paste("Sec-WebSocket-Key:", key), "Sec-WebSocket-Version: 13")
  name <- function(line) tolower(sub(":.*", "", line))
  lines <- c(lines[!name(lines) %in% name(headers)], headers[!grepl(":$", headers)])
  paste0("GET ", server$path, " HTTP/1.1\r\n", paste0(lines, "\r\n", collapse = ""), "\r\n")
}

# list(status, fields = values by lower-case name) of a response's head.
parse_head <- function(text) {
  lines <- strsplit(text, "\r\n", fixed = TRUE)[[1]]
  fields <- lines[-1]
  list(status = as.integer(substring(lines[1], 10, 12)),
    fields = stats::setNames(sub("^[^:]*:[ \t]*", "", fields), tolower(sub(":.*", "", fields))))
}

# What is wrong with an answer of 101 to a request with this key and these headers.
handshake_faults <- function(head, key, headers) {
  field <- function(name) if (name %in% names(head$fields)) head$fields[[name]] else ""
  offered <- tolower(grep("^sec-websocket-(extensions|protocol):", headers, ignore.case = TRUE, value = TRUE))
  unasked <- Filter(function(name) nzchar(field(name)) && !any(startsWith(offered, name)),
    c("sec-websocket-extensions", "sec-websocket-protocol"))
  c(if (tolower(field("upgrade")) != "websocket") "the answer's Upgrade is not websocket",
    if (!grepl("\\bupgrade\\b", field("connection"), ignore.case = TRUE)) "the answer's Connection lacks Upgrade",
    if (field("sec-websocket-accept") != accept_of(key)) "the answer's Sec-WebSocket-Accept does not fit the key",
    sprintf("the answer has %s, which was not asked for", unasked))
}

accept_of <- function(key) base64(sha1(charToRaw(paste0(key, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))))

# The parameters of permessage-deflate in an answer, or NULL when it was not agreed on. `ours`, `theirs`: for the
# messages of the client and of the server, list(takeover, bits).
agreed_deflate <- function(head) {
  if (!"sec-websocket-extensions" %in% names(head$fields)) return(NULL)
  words <- trimws(strsplit(head$fields[["sec-websocket-extensions"]], ";", fixed = TRUE)[[1]])
  if (words[1] != "permessage-deflate") return(NULL)
  side <- function(name) {
    bits <- grep(paste0("^", name, "_max_window_bits="), words, value = TRUE)
    list(takeover = !paste0(name, "_no_context_takeover") %in% words,
      bits = if (length(bits)) as.integer(gsub("\"", "", sub(".*=", "", bits[1]))) else 15L)
  }
  list(ours = side("client"), theirs = side("server"))
}

base64 <- function(bytes) {
  alphabet <- c(LETTERS, letters, 0:9, "+", "/")
  missing <- -length(bytes) %% 3
  groups <- matrix(as.integer(c(bytes, raw(missing))), 3)
  number <- groups[1, ] * 65536 + groups[2, ] * 256 + groups[3, ]
  digits <- rbind(number %/% 262144, number %/% 4096 %% 64, number %/% 64 %% 64, number %% 64)
  text <- paste(alphabet[digits + 1], collapse = "")
  paste0(substr(text, 1, nchar(text) - missing), strrep("=", missing))
}

# SHA-1 (FIPS 180-4), which base R lacks. Words of 32 bits are pairs of 16: R's own integers have a sign.
sha1 <- function(bytes) {
  add <- function(...) {
    sum <- Reduce(`+`, list(...))
    c(sum[1] + sum[2] %/% 65536, sum[2]) %% 65536
  }
  rotate <- function(word, by) {
    if (by >= 16) {
      word <- rev(word)
      by <- by - 16
    }
    (word * 2^by) %% 65536 + rev(word) %/% 2^(16 - by)
  }
  word_of <- function(hex) strtoi(c(substr(hex, 1, 4), substr(hex, 5, 8)), 16L)
  padding <- (55 - length(bytes)) %% 64
  bytes <- c(bytes, as.raw(0x80), raw(padding), be_bytes(length(bytes) * 8, 8))
  halves <- matrix(as.integer(bytes), 2)
  halves <- halves[1, ] * 256 + halves[2, ]
  state <- lapply(c("67452301", "efcdab89", "98badcfe", "10325476", "c3d2e1f0"), word_of)
  constants <- lapply(c("5a827999", "6ed9eba1", "8f1bbcdc", "ca62c1d6"), word_of)
  for (block in split(halves, (seq_along(halves) - 1) %/% 32)) {
    w <- split(block, (seq_along(block) - 1) %/% 2)
    for (t in 17:80) {
      w[[t]] <- rotate(Reduce(bitwXor, list(w[[t - 3]], w[[t - 8]], w[[t - 14]], w[[t - 16]])), 1)
    }
    v <- state
    for (t in 1:80) {
      f <- switch((t - 1) %/% 20 + 1, bitwOr(bitwAnd(v[[2]], v[[3]]), bitwAnd(65535L - v[[2]], v[[4]])),
        Reduce(bitwXor, v[2:4]), Reduce(bitwOr, Map(bitwAnd, v[2:4], v[c(3, 4, 2)])), Reduce(bitwXor, v[2:4]))
      first <- add(rotate(v[[1]], 5), f, v[[5]], w[[t]], constants[[(t - 1) %/% 20 + 1]])
      v <- list(first, v[[1]], rotate(v[[2]], 30), v[[3]], v[[4]])
    }
    state <- Map(add, state, v)
  }
  unlist(lapply(state, function(word) as.raw(c(word[1] %/% 256, word[1] %% 256, word[2] %/% 256, word[2] %% 256))))
}
