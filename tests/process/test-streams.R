# Streams of R handlers, in every way of starting: they hold no worker, their clients leave and are slow, workers die,
# servers end, generators fail.

streams_app <- file.path(here, "streams-app.R")

# A client that reads a stream until it ends: list(body(), end(seconds), process). `end` is curl's exit status: 0 for a
# whole body, 18 (HTTP/1.1) or 92 (HTTP/2) for one that was broken off, NA while it goes on.
read_stream <- function(server, path, ...) {
  out <- tempfile("stream-")
  client <- start_client("curl", c("-s", "-N", "--max-time", "300", "-o", out, ..., paste0(server$url, path)))
  list(
    process = client,
    body = function() if (file.exists(out)) readChar(out, file.size(out), useBytes = TRUE) else "",
    end = function(seconds = patience()) {
      client$wait(seconds * 1000)
      if (client$is_alive()) NA_integer_ else client$get_exit_status()
    }
  )
}

# A connection that has asked for something, and reads nothing by itself.
open_stream <- function(server, path, method = "GET") {
  connection <- socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE, timeout = 120)
  writeBin(charToRaw(paste0(method, " ", path, " HTTP/1.1\r\nHost: localhost\r\n\r\n")), connection)
  connection
}

test_every_worker("streams arrive whole, over both versions of HTTP, with status and fields of the handler", function(start) {
  server <- start(streams_app)
  answer <- ask(server, "/count/2000")
  expect(answer$body == paste(1:2000, collapse = "\n"), "another body")
  expect(answer$status == "201" && field(answer, "x-count") == "2000", "another head")
  expect(field(answer, "content-type") == "text/plain", "another type")
  second <- ask(server, "/count/2000", "--http2-prior-knowledge")
  expect(second$body == answer$body && second$status == "201", "HTTP/2: another answer")
  sizes <- read_stream(server, "/sizes")
  expect(sizes$end() == 0L, "chunks of no bytes and of 10 MB: not whole")
  body <- sizes$body()
  expect(nchar(body, "bytes") == 1e7 + 3, nchar(body, "bytes"), " bytes")
  expect(identical(charToRaw(body), c(rep(as.raw(1:250), 4e4), charToRaw(enc2utf8("h\u00e9")))), "other bytes")
  expect(noted(server, "cancelled") == 0L, "a stream that was done was told that it was cancelled")
  lines <- ask(server, "/json-lines")$body
  expect(lines == "{\"n\":1}\n{\"n\":2}\n{\"n\":3}", "lines of JSON: ", lines)
  beats <- read_stream(server, "/beats")
  expect(within(function() startsWith(beats$body(), "data: x\n\n:\n\n:\n\n")), "heartbeats: ", beats$body())
  beats$process$kill()
})

test_every_worker("fields are sent behind the body, and none that a client needs before it", function(start) {
  server <- start(streams_app)
  # after the empty line behind the head: the body and what follows it
  behind <- function(path, ...) {
    text <- processx::run("curl", c("-s", "-i", ..., paste0(server$url, path)), timeout = 120)$stdout
    sub("^(.|\n)*?\r?\n\r?\n", "", text, perl = TRUE)
  }
  for (version in c("--http1.1", "--http2-prior-knowledge")) {
    expect(behind("/trailers", version) == "abcabcabcx-bytes: 9\r\n", version, ": ", behind("/trailers", version))
    expect(behind("/written-trailers", version) == "abcdefx-bytes: 6\r\nx-parts: 1\r\nx-parts: 2\r\n",
      version, ", written: ", behind("/written-trailers", version))
    answer <- ask(server, "/trailers", version)
    expect(field(answer, "trailer") == "X-Bytes", version, ": they are not announced")
  }
  expect(behind("/trailers", "--http1.0") == "abcabcabc", "HTTP/1.0: ", behind("/trailers", "--http1.0"))
  raw <- behind("/trailers", "--raw")
  expect(endsWith(raw, "3\r\nabc\r\n0\r\nx-bytes: 9\r\n\r\n"), "as bytes: ", raw)
  wrong <- c(name = "must consist of", value = "line breaks", early = "Set-Cookie cannot be sent behind the body",
    length = "longer than 4096 bytes", names = "a named list of strings", type = "must be a string")
  for (what in names(wrong)) {
    for (end in list(c("--http1.1", "18"), c("--http2-prior-knowledge", "92"))) {
      stream <- read_stream(server, paste0("/no-trailers/", what), end[[1L]])
      expect(stream$end() == as.integer(end[[2L]]), what, ": ends with ", stream$end(), ", ", end[[1L]])
    }
    expect(logged(server, wrong[[what]]), what, ": not in the log")
  }
  expect(ask(server, "/text")$body == "text", "it does not go on")
})

test_every_worker("many streams and requests share one worker", function(start) {
  server <- start(streams_app)
  pid <- ask(server, "/pid")$body
  streams <- lapply(1:40, function(i) open_stream(server, "/tick"))
  on.exit(for (stream in streams) close(stream))
  expect(within(function() noted(server, "opened") == 40L), "they were not all opened")
  # none of the streams has an end
  for (i in 1:20) expect(ask(server, "/pid")$body == pid, "a request has another answer")
  for (stream in streams) {
    text <- rawToChar(readBin(stream, "raw", 700L))
    expect(grepl("\ndata: 1\n\n", text) && grepl("\ndata: 5\n\n", text), "a stream has only: ", text)
  }
})

test_every_worker("a client that leaves is told to the generator, once", function(start) {
  server <- start(streams_app)
  stream <- open_stream(server, "/tick")
  readBin(stream, "raw", 300L)
  close(stream)
  expect(within(function() noted(server, "cancelled") == 1L), "it was not told")
  # one that is not due for an hour
  stream <- open_stream(server, "/seldom")
  readBin(stream, "raw", 200L)
  close(stream)
  expect(within(function() noted(server, "missed") == 1L), "one that is not due was not told")
  # one that a slow client holds up
  stream <- open_stream(server, "/flood")
  calls_until_blocked(server)
  close(stream)
  expect(within(function() noted(server, "cancelled") == 2L), "one that waits was not told")
  # HEAD: nobody wants a body
  stream <- open_stream(server, "/tick", "HEAD")
  on.exit(close(stream))
  writeBin(charToRaw("GET /text HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), stream)
  text <- rawToChar(readBin(stream, "raw", 10000L))
  expect(grepl("text/event-stream.*\r\n\r\nHTTP/1.1 200 OK.*\r\n\r\ntext$", text), "HEAD: ", text)
  expect(within(function() noted(server, "cancelled") == 3L), "HEAD: it was not told")
  expect(never(function() noted(server, "cancelled") != 3L, 0.3), "one was told twice")
})

# Waits until a generator of /flood is not called any more, and says how often it was since it had been `since` times.
calls_until_blocked <- function(server, since = 0L) {
  before <- since
  expect(within(function() {
    before <<- noted(server, "flood")
    before > since && never(function() noted(server, "flood") > before, 0.5)
  }), "the generator is called for ever")
  before - since
}

test_every_worker("a slow client slows its own stream, and memory stays bounded", function(start) {
  server <- start(streams_app)
  pids <- c(server$pid, as.integer(ask(server, "/pid")$body))
  ask(server, "/count/2000")
  used <- sapply(pids, resident)
  stream <- open_stream(server, "/flood")
  on.exit(close(stream))
  before <- calls_until_blocked(server)
  # what the system's sockets hold is most of it
  expect(before * 65536 < 24e6, "the generator was called ", before, " times")
  # HTTP/2 has windows of its own; the client takes next to nothing of it
  second <- read_stream(server, "/flood", "--http2-prior-knowledge", "--limit-rate", "100")
  more <- calls_until_blocked(server, before)
  expect(more * 65536 < 24e6, "HTTP/2: the generator was called ", more, " times")
  grown <- sapply(pids, resident) - used
  expect(all(grown < 16e6), "server and worker grew by ", toString(grown), " bytes")
  second$process$kill()
  before <- noted(server, "flood")
  expect(ask(server, "/count/100")$status == "201", "another stream waits for it")
  for (i in 1:200) readBin(stream, "raw", 65536L)
  expect(within(function() noted(server, "flood") > before + 50L), "it does not go on")
})

test_every_worker("a generator that fails ends its own stream, and nothing else", function(start) {
  server <- start(streams_app)
  pid <- ask(server, "/pid")$body
  other <- read_stream(server, "/count/60000")
  for (flag in c("--http1.1", "--http2-prior-knowledge")) {
    stream <- read_stream(server, "/fail/3", flag)
    expect(stream$end() == if (flag == "--http1.1") 18L else 92L, flag, ": it ends with ", stream$end())
    expect(stream$body() == "oneone", flag, ": ", stream$body())
  }
  for (path in c("/fail/1", "/jump", paste0("/returns/", c("list", "chunk", "done", "names")))) {
    expect(read_stream(server, path)$end() == 18L, path, ": it is whole")
  }
  expect(logged(server, "GET /fail/3 the stream is broken off: on purpose"), "the log does not say why")
  expect(logged(server, "GET /returns/chunk .*a `chunk` that is no string"), "nor what was wrong with a chunk")
  expect(sum(grepl("GET /fail/3", server$log())) == 2L, "not one line for each")
  expect(other$end() == 0L && noted(server, "wrongly") == 0L, "another stream, or a call after the failure")
  expect(ask(server, "/pid")$body == pid, "the worker was replaced")
})

# Streams over both versions of HTTP: of events, and ones that go on until their gate is open.
versions <- c("--http1.1", "--http2-prior-knowledge")
open_both <- function(server) {
  streams <- list(
    events = lapply(versions, function(version) read_stream(server, "/tick", version)),
    steady = lapply(versions, function(version) read_stream(server, "/steady", version))
  )
  have_begun <- function() all(vapply(unlist(streams, FALSE), function(stream) nchar(stream$body()) > 2L, NA))
  expect(within(have_begun), "they do not begin")
  streams
}

# The events end whole, while the others go on; these are finished, after `between()`.
expect_both_end <- function(server, streams, between = function() NULL) {
  for (i in seq_along(versions)) {
    events <- streams$events[[i]]
    expect(identical(events$end(), 0L), versions[i], ": the events end with ", events$end(0))
    expect(is.na(streams$steady[[i]]$end(0)), versions[i], ": the other has ended with ", streams$steady[[i]]$end(0))
  }
  between()
  open_gate(server, "steady")
  for (i in seq_along(versions)) {
    steady <- streams$steady[[i]]
    whole <- identical(steady$end(), 0L) && grepl("^x+$", steady$body())
    expect(whole, versions[i], ": the other ends with ", steady$end(0))
  }
}

test_every_worker("a field that no stream has is an error that names it, not an empty body", function(start) {
  server <- start(write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/chunk', function(req) dr_stream(function(state, cancelled) list(chnk = 'x', done = TRUE)))",
    "dr_get(app, '/done', function(req) dr_stream(function(state, cancelled) list(chunk = 'x', dne = TRUE)))",
    "dr_get(app, '/event', function(req) dr_stream_sse(function(state, cancelled) list(dta = 'x', done = TRUE)))", "app"
  )))
  wrong <- c(chunk = "`chnk`: did you mean `chunk`", done = "`dne`: did you mean `done`", event = "`dta`: did you mean `data`")
  for (path in names(wrong)) {
    stream <- read_stream(server, paste0("/", path))
    expect(stream$end() == 18L, path, " ends as if it were whole: ", stream$end())
    expect(logged(server, paste0("GET /", path, ".*returned a list with ", wrong[[path]])), server$log())
  }
})

test_every_worker("a server that ends: events end whole, other streams are finished", function(start) {
  server <- start(streams_app, graceful_timeout = 600)
  streams <- open_both(server)
  send_signal(server$pid, tools::SIGTERM)
  expect_both_end(server, streams)
  expect(identical(exit_status(server), 0L), "status ", exit_status(server))
  expect(noted(server, "cancelled") == 2L, "not the two generators of events were told")
})

test_every_worker("a server that ends: what has no end is broken off after graceful_timeout, and told", function(start) {
  server <- start(streams_app, graceful_timeout = 1)
  stream <- read_stream(server, "/endless")
  expect(within(function() nchar(stream$body()) > 2L), "it does not begin")
  send_signal(server$pid, tools::SIGTERM)
  expect(stream$end() %in% c(18L, 56L), "it ends with ", stream$end(0))
  expect(!is.na(exit_status(server)), "the server does not end")
  expect(noted(server, "cancelled") == 1L, "its generator was told ", noted(server, "cancelled"), " times")
})

test_every_worker("a reload ends events, which come back to the new app, and finishes other streams", function(start) {
  server <- start(streams_app, graceful_timeout = 600)
  streams <- open_both(server)
  send_signal(server$pid, 1L)
  expect_both_end(server, streams)
  expect(ask(server, "/count/3")$body == "1\n2\n3", "the new app does not stream")
})

test_every_worker("TERM while a reload waits for a stream: it is whole, and then the server ends", function(start) {
  server <- start(streams_app, graceful_timeout = 600)
  streams <- open_both(server)
  send_signal(server$pid, 1L)
  expect_both_end(server, streams, function() send_signal(server$pid, tools::SIGTERM))
  status <- exit_status(server)
  expect(identical(status, 0L), "exit status ", status)
})

test_every_worker("a worker that is killed breaks off its own streams", function(start) {
  server <- start(streams_app)
  streams <- lapply(c("--http1.1", "--http2-prior-knowledge"), function(flag) read_stream(server, "/endless", flag))
  expect(within(function() all(vapply(streams, function(s) nchar(s$body()) > 2L, NA))), "they do not begin")
  send_signal(as.integer(ask(server, "/pid")$body), tools::SIGKILL)
  ends <- vapply(streams, function(stream) stream$end(), 0L)
  expect(identical(ends, c(18L, 92L)), "they end with ", toString(ends))
  expect(within(function() ask(server, "/count/3")$body == "1\n2\n3"), "the next worker does not stream")
}, of = setdiff(names(starts), "the session"))

test_every_worker("a thousand streams opened at once, and left at once", function(start) {
  server <- start(streams_app)
  many <- lapply(1:4, function(i) {
    start_client("curl", c("-s", "--parallel", "--parallel-immediate", "--parallel-max", "250", "-o", "/dev/null",
      paste0(server$url, "/tick?n=[1-250]")))
  })
  expect(within(function() noted(server, "opened") == 1000L), noted(server, "opened"), " were opened")
  expect(ask(server, "/text")$body == "text", "no request goes through")
  for (client in many) client$kill()
  expect(within(function() noted(server, "cancelled") == 1000L), noted(server, "cancelled"), " were told")
  expect(never(function() noted(server, "cancelled") != 1000L, 0.3), "some were told twice")
  expect(ask(server, "/text")$body == "text", "the server is not well")
})

test("a generator that takes its time holds up no request that another worker can take", function() {
  server <- serve(streams_app, workers = "2-2", timeout = 600)
  wait_for_workers(server, 2)
  held <- read_stream(server, "/held")
  expect(marked(server, "held"), "it does not begin")
  for (i in 1:10) expect(ask(server, "/text")$body == "text", "a request is not answered")
  expect(is.na(held$end(0)), "it has not waited")
  open_gate(server, "held")
  expect(held$end() == 0L && held$body() == strrep("held\n", 3L), "the stream is not whole")
})

test("a generator that does not return ends with its worker, once a request has waited for it in vain", function() {
  server <- serve(streams_app, workers = "1-1", timeout = 600, kill_after = 0.5)
  wait_for_workers(server, 1)
  stream <- read_stream(server, "/hang")
  expect(within(function() stream$body() == "one"), "no first chunk")
  expect(ask(server, "/brief")$status %in% c("503", "504"), "it was answered")
  expect(stream$end() == 18L, "the stream did not break off")
  expect(within(function() ask(server, "/text")$status == "200"), "nobody answers")
  expect(logged(server, "for a stream or a promise, did not return"), "the log does not say why")
})

# The first block of a page of documentation in this language that has `text`.
block_of_page <- function(page, language, text) {
  lines <- readLines(file.path(root, "docs", page), encoding = "UTF-8")
  fences <- grep("^```", lines)
  starts <- fences[lines[fences] == paste0("```", language)]
  blocks <- lapply(starts, function(start) lines[seq(start + 1L, fences[fences > start][[1L]] - 1L)])
  Filter(function(block) any(grepl(text, block, fixed = TRUE)), blocks)[[1L]]
}

# A program of a page, for EventSource as browsers have it: the process.
start_page <- function(lines) {
  node <- Sys.which("node")
  flags <- "--experimental-eventsource"
  there <- nzchar(node) && processx::run(node, c(flags, "-e", "EventSource"), error_on_status = FALSE)$status == 0L
  if (!there) skip("there is no node with EventSource")
  file <- tempfile("page-", fileext = ".mjs")
  writeLines(lines, file)
  start_client(node, c(flags, "--no-warnings", file), stdout = "|", stderr = "2>&1")
}

test("the stream of the documentation ends for good: by the handler, and by the page", function() {
  log <- tempfile("access-")
  sample <- write_app(c("app <- dr_app()", block_of_page("streams.md", "r", "\"/progress\""), "app"))
  server <- serve(sample, access_log = log)
  asked <- function() sum(grepl("GET /progress", readLines(log)))
  page <- start_page(c(
    sprintf("const source = new EventSource('%s/progress');", server$url), "const seen = [];",
    "source.addEventListener('progress', (event) => seen.push(event.lastEventId));",
    # node would end while it waits to come back
    "const stays = setInterval(() => {", "  if (source.readyState !== EventSource.CLOSED) return;",
    "  console.log('closed after ' + seen);", "  clearInterval(stays);", "}, 100);"
  ))
  page$wait(patience() * 1000)
  expect(!page$is_alive(), "a browser comes back for ever")
  said <- trimws(page$read_all_output())
  expect(said == "closed after 1,2", said)
  expect(within(function() asked() == 2L), asked(), " requests")
  page <- start_page(c(
    "const document = {};", "const Source = globalThis.EventSource;", "globalThis.EventSource = class extends Source {",
    sprintf("  constructor(path) { super('%s' + path); }", server$url), "};",
    block_of_page("streams.md", "js", "EventSource"), "const stays = setInterval(() => {",
    "  if (source.readyState !== EventSource.CLOSED) return;", "  console.log(document.title);", "  clearInterval(stays);",
    "}, 100);"
  ))
  page$wait(patience() * 1000)
  expect(!page$is_alive() && trimws(page$read_all_output()) == "100 %", "the page does not end")
  expect(within(function() asked() == 3L) && never(function() asked() > 3L, 0.5), "it has come back")
}, ways = 1)
