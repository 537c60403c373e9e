# Streams that functions write, in every way of starting: they hold their worker, and nothing that they do not need.

test_every_worker("what a function writes arrives whole, over both versions of HTTP", function(start) {
  server <- start(streams_app)
  lines <- "h\u00e9\n{\"n\":1,\"text\":\"a\\nb\"}\n{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":null}\n"
  wanted <- c(charToRaw(enc2utf8(lines)), rep(as.raw(1:250), 4e4), charToRaw("event: tick\nid: 7\ndata: {\"n\":2}\n\n"))
  for (version in versions) {
    head <- ask(server, "/write/fail/none", version)
    expect(head$status == "200" && field(head, "content-type") == "text/plain", version, ": another head")
    out <- tempfile("body-")
    client <- start_client("curl", c("-s", version, "-o", out, "-w", "%{http_code} %header{x-writer} %{content_type}",
      paste0(server$url, "/write/all")), stdout = "|")
    client$wait(patience() * 1000)
    said <- paste(client$read_all_output_lines(), collapse = "")
    expect(said == "201 yes application/x-ndjson", version, ": ", said)
    expect(identical(readBin(out, "raw", 2e7), wanted), version, ": other bytes")
  }
  expect(noted(server, "written") == 4L, "not each function was left once")
})

test_every_worker("a function that writes is slowed by its client, in bounded memory", function(start) {
  server <- start(streams_app)
  pids <- c(server$pid, as.integer(ask(server, "/pid")$body))
  for (version in versions) {
    used <- sapply(pids, resident)
    since <- noted(server, "flood")
    client <- read_stream(server, "/write/flood", version, "--limit-rate", "100")
    calls <- calls_until_blocked(server, since)
    expect(calls * 65536 < 24e6, version, ": it wrote ", calls, " times")
    grown <- sapply(pids, resident) - used
    expect(all(grown < 16e6), version, ": server and worker grew by ", toString(grown), " bytes")
    written <- noted(server, "written")
    client$process$kill()
    expect(within(function() noted(server, "written") == written + 1L), version, ": it goes on without a client")
  }
  expect(ask(server, "/pid")$body == pids[2L], "another worker")
})

test_every_worker("a function that writes ends when its client has gone, whatever it catches", function(start) {
  server <- start(streams_app)
  for (path in c("/write/endless", "/write/open")) {
    stream <- read_stream(server, path)
    expect(within(function() nchar(stream$body()) > 0L), path, ": it does not begin")
    before <- noted(server, "written")
    stream$process$kill()
    # neither ends by itself
    expect(within(function() noted(server, "written") == before + 1L), path, ": it goes on")
  }
  expect(ask(server, "/text")$body == "text", "the worker is not free again")
  expect(!any(grepl("broken off", server$log())), "the log complains")
})

test_every_worker("requests and other streams go on when the function has returned", function(start) {
  server <- start(streams_app, timeout = 600)
  pid <- ask(server, "/pid")$body
  other <- read_stream(server, "/count/20000")
  events <- read_stream(server, "/tick")
  held <- read_stream(server, "/write/held")
  # its chunks come as they are written
  for (n in 1:3) {
    gate <- c("first", "second", "last")[[n]]
    expect(marked(server, gate), "it does not go on to the ", gate, " gate")
    expect(within(function() held$body() == strrep("x", n)), "what it has written is kept: ", held$body())
    if (n == 1L) waiting <- lapply(1:5, function(i) ask_later(server, "/pid"))
    open_gate(server, gate)
  }
  expect(held$end() == 0L && held$body() == "xxx", "it is not whole")
  answers <- vapply(waiting, function(answer) answer()$body, "")
  expect(all(answers == pid), "requests are lost: ", toString(answers))
  expect(other$end() == 0L, "another stream is not whole")
  seen <- nchar(events$body())
  expect(within(function() nchar(events$body()) > seen), "events do not go on")
  events$process$kill()
})

test_every_worker("a function that fails while it writes breaks off its stream, and says why in the log", function(start) {
  server <- start(streams_app)
  pid <- ask(server, "/pid")$body
  for (how in c("stop", "type", "event", "jump")) {
    for (i in seq_along(versions)) {
      stream <- read_stream(server, paste0("/write/fail/", how), versions[i])
      expect(stream$end() == c(18L, 92L)[i], how, " ", versions[i], ": it ends with ", stream$end(0))
      expect(stream$body() == "one", how, ": ", stream$body())
    }
  }
  expect(logged(server, "GET /write/fail/stop the stream is broken off: on purpose"), "the log does not say why")
  expect(logged(server, "/write/fail/type .*`x` must be a single string, a raw vector or a list"), "nor what was wrong")
  expect(logged(server, "/write/fail/event .*the `id` of an event must be"), "nor about an event")
  ask(server, "/write/keep")
  expect(grepl("this stream is over", ask(server, "/write/late")$body), "a stream that is over can be written")
  body <- ask(server, "/write/fork")$body
  expect(body == "one a stream is written by its own process, and not by a fork of it", "a fork: ", body)
  expect(ask(server, "/pid")$body == pid, "the worker was replaced")
})

test_every_worker("a server that ends: a function that writes events ends, another finishes", function(start) {
  server <- start(streams_app, threads = 2L)
  for (i in seq_along(versions)) {
    server <- if (i == 1L) server else start(streams_app)
    events <- read_stream(server, "/write/tick", versions[i])
    expect(within(function() nchar(events$body()) > 30L), "it does not begin")
    send_signal(server$pid, tools::SIGTERM)
    expect(identical(events$end(), 0L), versions[i], ": the events end with ", events$end(0))
    expect(identical(exit_status(server), 0L), "status ", exit_status(server))
    expect(noted(server, "written") == 1L, "the function was not left")
  }
  server <- start(streams_app, graceful_timeout = 600)
  held <- read_stream(server, "/write/held")
  expect(marked(server, "first"), "it does not begin")
  send_signal(server$pid, tools::SIGTERM)
  expect(never(function() !is.na(held$end(0)), 0.3), "it is not waited for: ", held$end(0))
  for (gate in c("first", "second", "last")) open_gate(server, gate)
  expect(identical(held$end(), 0L) && held$body() == "xxx", "the other ends with ", held$end(0))
  expect(identical(exit_status(server), 0L), "status ", exit_status(server))
})

test_every_worker("a server that ends: a function without an end is broken off after graceful_timeout", function(start) {
  server <- start(streams_app, graceful_timeout = 1)
  stream <- read_stream(server, "/write/endless")
  expect(within(function() nchar(stream$body()) > 2L), "it does not begin")
  send_signal(server$pid, tools::SIGTERM)
  expect(stream$end() %in% c(18L, 56L), "it ends with ", stream$end(0))
  expect(!is.na(exit_status(server)), "the server does not end")
  expect(noted(server, "written") == 1L, "the function was not left")
})

test("a client that reads slowly costs no worker, though requests have waited in vain", function() {
  # only requests for /brief run out of time
  server <- serve(streams_app, workers = "1-1", timeout = 600, kill_after = 0.5)
  wait_for_workers(server, 1)
  pid <- ask(server, "/pid")$body
  stream <- read_stream(server, "/write/flood", "--limit-rate", "100")
  calls_until_blocked(server)
  for (i in 1:3) expect(ask(server, "/brief")$status %in% c("503", "504"), "it was answered")
  stream$process$kill()
  expect(within(function() ask(server, "/text")$status == "200"), "nobody answers")
  expect(ask(server, "/pid")$body == pid, "the worker was replaced")
}, ways = 1:2)
