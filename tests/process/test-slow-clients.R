# Slow clients of slowhttptest, as many as one address brings: headers and bodies at a trickle, responses that are not
# read. The server stays there for others, which slowhttptest asks for every second, and the slow ones are ended in
# time. Not for what others feel of them under load: that is the trial slow_clients of benchmarks/.

# With a file that no buffer of the kernel has room for.
slow_app <- function() {
  folder <- tempfile("www-")
  dir.create(folder)
  writeBin(raw(2e7), file.path(folder, "long"))
  write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/', function(req) 'hello')",
    "dr_post(app, '/', function(req) format(length(req$raw)))",
    sprintf("dr_static(app, '/files', %s)", encodeString(folder, quote = "'")),
    "app"
  ))
}

SLOW <- 300L
# How many of them connect in a second: with more, slowhttptest writes no account of each second.
RATE <- 150L
# The timeouts of the server, in seconds: longer than they take to come.
TIMEOUT <- 5

# Runs slowhttptest against a path: a function that waits for its end and gives its account of each second, a data frame
# with second, closed, pending, connected and available, and its attribute "closed": whether all were closed.
attack_slowly <- function(server, path, ..., seconds) {
  if (!nzchar(Sys.which("slowhttptest"))) skip("there is no slowhttptest")
  report <- tempfile("slow-")
  output <- tempfile("slow-output-")
  client <- start_client("slowhttptest", c(..., "-c", SLOW, "-r", RATE, "-i", 1, "-l", seconds, "-p", 5, "-g",
    "-o", report, "-u", paste0(server$url, path)), stdout = output, stderr = "2>&1")
  function() {
    expect(within(function() !client$is_alive(), seconds + 60), "slowhttptest does not end")
    account <- utils::read.csv(paste0(report, ".csv"))
    names(account) <- c("second", "closed", "pending", "connected", "available")
    structure(account, closed = any(grepl("No open connections left", readLines(output, warn = FALSE))))
  }
}

# Fails unless most of them have been there at once, and others were answered all the time.
expect_available <- function(account) {
  told <- paste(utils::capture.output(account), collapse = "\n    ")
  expect(any(account$connected >= SLOW / 2), "not even half of them were there at once:\n    ", told)
  expect(all(account$available > 0), "it was not available:\n    ", told)
}

expect_slow_ones_end <- function(server) {
  before <- descriptors(server$pid)
  for (way in list("-H", c("-B", "-s", "100000", "-x", "10"))) {
    account <- attack_slowly(server, "/", way, seconds = 30)()
    expect_available(account)
    last <- utils::tail(account, 1L)
    expect(attr(account, "closed"), "after ", last$second, " s, ", last$connected, " of ", way[[1L]], " are not closed")
  }
  # these never look whether the server has gone: the server's own descriptors tell
  end <- attack_slowly(server, "/files/long", "-X", "-n", 1, "-w", 512, "-y", 1024, "-z", 32, seconds = 18)
  expect(within(function() descriptors(server$pid) >= before + SLOW / 2), "they do not come")
  gone <- within(function() descriptors(server$pid) <= before + 5L, 14)
  expect(gone, "slow readers keep ", descriptors(server$pid) - before, " descriptors")
  expect(logged(server, "write timeout"), "the log does not say why")
  expect_available(end())
}

slow_timeouts <- list(header_timeout = TIMEOUT, body_timeout = TIMEOUT, write_timeout = TIMEOUT, workers = "1-1")

test("slow clients are ended in time, and others are answered meanwhile", function() {
  expect_slow_ones_end(do.call(serve, c(list(slow_app()), slow_timeouts)))
}, ways = 1)

test("slow clients with TLS are ended in time, and others are answered meanwhile", function() {
  expect_slow_ones_end(do.call(serve_tls, c(slow_timeouts, list(app = slow_app()))))
}, ways = 1)
