# Shows that the cases can fail: an echo server that keeps the RFCs (echo.py) passes all of them, and for each rule that
# it breaks, a case that is about this rule fails. Also what the client does by itself: deflate, SHA-1 and frames.
#   Rscript tests/websocket/prove.R [PATTERN of rules]
# Needs Python 3, without packages. Not for the server of this project: run.R.

here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])))
for (file in c("wait.R", "start.R")) source(file.path(dirname(here), "lib", file))
for (file in c("frames.R", "deflate.R", "handshake.R")) source(file.path(here, file))

# A case that must fail, for each rule. What a broken rule leaves without an answer takes all of --patience.
rules <- c(
  "accept" = "0.2", "version" = "0.4", "key" = "0.5", "unasked-extension" = "0.1",
  "echo-letters" = "5.3", "echo-length" = "1.1.2", "echo-kind" = "1.2.1", "echo-twice" = "1.1.2",
  "no-pong" = "2.2", "pong-payload" = "2.2", "masked" = "1.1.2", "length" = "1.1.2",
  "rsv1-set" = "1.1.2", "reserved-bits" = "3.2", "opcodes" = "4.1.3", "control-fragments" = "5.1",
  "control-length" = "2.5", "unmasked" = "20.1", "continuation" = "5.9", "interleaved" = "5.18",
  "length-sign" = "20.3", "utf-8" = "6.3.1",
  "close-code" = "7.9.3", "close-reason" = "7.5.1", "close-unanswered" = "7.3.3", "close-other" = "7.3.3",
  "after-close" = "7.1.1", "no-end" = "7.3.3", "fails-other" = "3.1", "fails-silently-open" = "4.2.1",
  "rsv1-unset" = "12.1.5", "tail" = "12.1.5", "takeover" = "13.2.6", "window-bits" = "13.3.6", "parameters" = "20.17"
)

# Starts echo.py, and ends it when `use(url)` has returned.
with_echo <- function(rule, use) {
  is_port <- function(lines) grepl("^[0-9]+$", lines)
  command <- c("python3", file.path(here, "echo.py"), "0", rule)
  echo <- start_program(command, ready = function(lines) any(is_port(lines)))
  on.exit(echo$process$kill())
  port <- Filter(is_port, echo$log())
  if (!length(port)) stop("echo.py has not started:\n", paste(echo$log(), collapse = "\n"))
  use(paste0("ws://127.0.0.1:", port, "/echo"))
}

play_cases <- function(url, pattern, patience) {
  words <- c("--vanilla", file.path(here, "run.R"), "--url", url, "--patience", patience, pattern)
  suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), shQuote(words), stdout = TRUE, stderr = TRUE))
}

# Whether the named case fails when this rule is broken: NULL, or what is wrong.
check_rule <- function(rule) {
  case <- rules[[rule]]
  pattern <- paste0("^", gsub(".", "\\.", case, fixed = TRUE), " ")
  output <- with_echo(rule, function(url) play_cases(url, pattern, patience = 2))
  last <- output[length(output)]
  if (last != "0 passed, 1 failed") paste0("with ", rule, " broken, case ", case, " should fail: ", last)
}

check_deflate <- function() {
  set.seed(6455)
  wrong <- NULL
  for (size in c(0:20, 255:257, 15999:16001, 32767:32769, 200000)) {
    for (bytes in list(random_bytes(size), rep_len(charToRaw("again and "), size), raw(size))) {
      for (bits in c(8, 15)) {
        if (!identical(inflate(deflate(bytes, bits)), bytes)) wrong <- paste("deflate does not come back:", size, bits)
      }
    }
  }
  text <- charToRaw("Hello")
  # RFC 7692, sections 7.2.3.1 and 7.2.3.2
  hello <- as.raw(c(0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00))
  again <- as.raw(c(0xf2, 0x00, 0x11, 0x00, 0x00))
  c(wrong,
    if (!identical(inflate(hello), text)) "the RFC's Hello is not inflated",
    if (!identical(inflate(again, text), text)) "the RFC's second Hello is not inflated",
    if (!is.null(inflate(again))) "a reference to a message before the first is inflated",
    if (!is.null(inflate(hello[1:4]))) "half a message is inflated",
    if (!is.null(inflate(deflate(raw(2^20)), most = 1000))) "more than the limit is inflated")
}

check_handshake <- function() {
  c(if (paste(sha1(charToRaw("abc")), collapse = "") != "a9993e364706816aba3e25717850c26c9cd0d89d") "SHA-1 of abc",
    if (accept_of("dGhlIHNhbXBsZSBub25jZQ==") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") "the accept of RFC 6455, section 1.3",
    if (base64(charToRaw("Ma")) != "TWE=" || base64(charToRaw("M")) != "TQ==") "the padding of base64")
}

check_frames <- function() {
  set.seed(6455)
  wrong <- NULL
  for (size in c(0, 1, 125, 126, 65535, 65536)) {
    payload <- random_bytes(size)
    bytes <- frame_bytes(2, payload)
    frame <- take_frame(c(as.raw(1:3), bytes), 4)
    right <- identical(frame$payload, payload) && frame$size == length(bytes) && frame$masked && frame$short
    if (!right) wrong <- c(wrong, paste("a frame of", size, "bytes"))
    if (is.list(take_frame(bytes[-length(bytes)], 1))) wrong <- c(wrong, paste("a frame that is cut short:", size))
    for (fragment in c(1, 64, 1000)) {
      if (size / fragment > 2000) next
      bytes <- fragment_bytes(1, payload, fragment)
      at <- 1
      parts <- list()
      while (at <= length(bytes)) {
        frame <- take_frame(bytes, at)
        at <- at + frame$size
        parts <- c(parts, list(frame$payload))
      }
      if (!identical(as.raw(unlist(parts)), payload)) wrong <- c(wrong, paste("fragments of", fragment, "of", size))
    }
  }
  wrong
}

# Each is one test: what is wrong, or nothing.
main <- function(pattern) {
  tests <- c(
    list("deflate" = check_deflate, "the handshake" = check_handshake, "frames" = check_frames,
      "no rule broken" = function() {
        output <- with_echo("none", function(url) play_cases(url, "", patience = 30))
        if (!grepl("passed, 0 failed$", output[length(output)])) output
      }),
    lapply(stats::setNames(names(rules), names(rules)), function(rule) function() check_rule(rule)))
  tests <- tests[grepl(pattern, names(tests))]
  failed <- 0
  for (name in names(tests)) {
    wrong <- tests[[name]]()
    if (!length(wrong)) next
    failed <- failed + 1
    cat(name, ": ", paste(wrong, collapse = "\n  "), "\n", sep = "")
  }
  cat(length(tests) - failed, " passed, ", failed, " failed\n", sep = "")
  failed == 0
}

if (!main(c(commandArgs(trailingOnly = TRUE), "")[1])) quit(status = 1)
