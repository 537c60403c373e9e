# Slow clients of slowhttptest, as many as one address brings: headers and bodies at a trickle, responses that are not
# read. The server answers others all the time, and the slow ones are ended in time. Not for what others feel of them
# under load: that is the trial slow_clients of benchmarks/.

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
# How many of them connect in a second.
RATE <- 150L
# The timeouts of the server that is to end them, in seconds.
TIMEOUT <- 2

# Each way to be slow: a path, and options of slowhttptest.
slow_ways <- list(
  heads = list("/", "-H"),
  bodies = list("/", c("-B", "-s", "100000", "-x", "10")),
  readers = list("/files/long", c("-X", "-n", "1", "-w", "512", "-y", "1024", "-z", "32"))
)

# Starts slow clients that stay for ten minutes: their process, and what it has written.
attack_slowly <- function(server, way) {
  if (!nzchar(Sys.which("slowhttptest"))) skip("there is no slowhttptest")
  output <- tempfile("slow-output-")
  client <- start_client("slowhttptest", c(way[[2L]], "-c", SLOW, "-r", RATE, "-i", 1, "-l", 600, "-p", 300, "-u",
    paste0(server$url, way[[1L]])), stdout = output, stderr = "2>&1")
  list(process = client, said = function() readLines(output, warn = FALSE))
}

# `start` starts a server with these timeouts.
expect_slow_ones_end <- function(start) {
  may_take(120)
  server <- start(600)
  before <- descriptors(server$pid)
  for (name in names(slow_ways)) {
    slow <- attack_slowly(server, slow_ways[[name]])
    are_there <- function() descriptors(server$pid) >= before + SLOW / 2
    expect(within(are_there), "slow ", name, " do not come")
    for (i in 1:5) expect(ask(server, "/", "-k")$body == "hello", "others wait for slow ", name)
    expect(are_there(), "slow ", name, " were not there all the time")
    slow$process$kill()
    expect(within(function() descriptors(server$pid) <= before + 5L), "slow ", name, " have gone, and are kept")
  }
  server <- start(TIMEOUT)
  before <- descriptors(server$pid)
  for (name in c("heads", "bodies")) {
    slow <- attack_slowly(server, slow_ways[[name]])
    expect(within(function() !slow$process$is_alive()), "slow ", name, " are not ended:\n    ",
      paste(utils::tail(slow$said(), 20L), collapse = "\n    "))
    expect(any(grepl("No open connections left", slow$said())), "slow ", name, " have ended by themselves")
  }
  # these never look whether the server has gone
  slow <- attack_slowly(server, slow_ways$readers)
  expect(within(function() descriptors(slow$process$get_pid()) >= SLOW), "slow readers do not come")
  gone <- within(function() descriptors(server$pid) <= before + 5L)
  expect(gone, "slow readers keep ", descriptors(server$pid) - before, " descriptors")
  expect(slow$process$is_alive(), "slow readers have ended by themselves")
  expect(logged(server, "write timeout"), "the log does not say why")
}

slow_timeouts <- function(seconds) {
  list(header_timeout = seconds, body_timeout = seconds, write_timeout = seconds, workers = "1-1")
}

test("slow clients are ended in time, and others are answered meanwhile", function() {
  expect_slow_ones_end(function(seconds) do.call(serve, c(list(slow_app()), slow_timeouts(seconds))))
}, ways = 1)

test("slow clients with TLS are ended in time, and others are answered meanwhile", function() {
  expect_slow_ones_end(function(seconds) do.call(serve_tls, c(slow_timeouts(seconds), list(app = slow_app()))))
}, ways = 1)
