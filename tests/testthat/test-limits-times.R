# Every time of dr_serve(), set to a second and exceeded: the client that dawdles is let go, the others are served.
# A deadline here is an upper bound with slack, never an exact time.

# Sends `bytes` one by one every 0.1 s until the server closes or answers; seconds that took, Inf when it took more than
# `limit`.
dribble <- function(client, bytes, limit = 6) {
  start <- now()
  for (i in seq_along(bytes)) {
    if (!client_send(client, bytes[i]) || client_fill(client, 0.1) || client$closed) return(now() - start)
    if (now() - start > limit) return(Inf)
  }
  if (client_closes_within(client, max(limit - (now() - start), 0))) now() - start else Inf
}

test_that("header_timeout: a header that dribbles is closed in time, whatever its pace", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/", function(req) "ok")
  }, header_timeout = 1, keep_alive = 30)
  client <- raw_client(server$port)
  expect_lt(dribble(client, charToRaw(paste0("GET / HTTP/1.1\r\nHost: a\r\n", strrep("X-A: b\r\n", 100)))), 4)
  # the same on a connection that has served a request
  client <- raw_client(server$port)
  client_send(client, request_bytes("/"))
  expect_identical(client_response(client)$text, "ok")
  expect_lt(dribble(client, charToRaw(paste0("GET / HTTP/1.1\r\nHost: a\r\n", strrep("X-A: b\r\n", 100)))), 4)
  # only a start, then silence; and half of an HTTP/2 preface
  for (start in c("GET / HT", "PRI * HTTP/2.0\r\n")) {
    client <- raw_client(server$port)
    client_send(client, start)
    expect_true(client_closes_within(client, 4), label = trimws(start))
  }
  # a pause within the time is fine
  client <- raw_client(server$port)
  client_send(client, "GET / HTTP/1.1\r\n")
  Sys.sleep(0.3)
  client_send(client, "Host: a\r\n\r\n")
  expect_identical(client_response(client)$text, "ok")
})

test_that("body_timeout and min_body_rate: a body that stops or dribbles is let go", {
  server <- local_server({
    app <- dr_app()
    calls <- 0L
    dr_post(app, "/", function(req) {
      calls <<- calls + 1L
      as.character(length(req$raw))
    })
    dr_get(app, "/calls", function(req) as.character(calls))
  }, body_timeout = 1, min_body_rate = 1000L)
  head <- charToRaw("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
  # stops
  client <- raw_client(server$port)
  client_send(client, c(head, charToRaw("abc")))
  start <- now()
  expect_true(client_closes_within(client, 5), label = "a body that stops is closed")
  if (length(client$buffer)) expect_true(client_response(client, 1)$status %in% c(400L, 408L))
  # dribbles: 10 bytes a second, which no pause of a second would catch
  client <- raw_client(server$port)
  client_send(client, head)
  expect_lt(dribble(client, charToRaw(strrep("a", 1000)), 8), 7)
  # dribbles in chunks
  client <- raw_client(server$port)
  client_send(client, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
  expect_lt(dribble(client, charToRaw(strrep("1\r\na\r\n", 200)), 8), 7)
  expect_identical(fetch(server, "/calls")$text, "0")
  # arrives in pieces, but in time
  client <- raw_client(server$port)
  client_send(client, c(head, charToRaw(strrep("a", 500))))
  Sys.sleep(0.3)
  client_send(client, strrep("a", 500))
  expect_identical(client_response(client)$text, "1000")
})

test_that("write_timeout: a client that never reads a big answer is let go, and holds nothing", {
  skip_without_proc()
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/big", function(req) raw(5e7))
    dr_get(app, "/long", function(req) raw(3e7))
    dr_get(app, "/alive", function(req) "alive")
  }, write_timeout = 4)
  expect_identical(fetch(server, "/alive")$text, "alive")
  # the server learns a moment later that a client has gone
  expect_true(within(function() open_connections(server$port) == 0))
  idle <- process_measure(server$pid)$fds
  client <- raw_client(server$port)
  client_send(client, request_bytes("/big"))
  expect_true(within(function() process_measure(server$pid)$fds > idle))
  expect_identical(fetch(server, "/alive")$text, "alive")
  expect_true(within(function() process_measure(server$pid)$fds <= idle, 16))
  # one that reads slowly, for longer than that, but reads, gets all of it. More than 32 MB would leave it a fifth of
  # the time (HURRIED in timeouts.rs), which a busy machine may use up by itself
  slow <- raw_client(server$port)
  client_send(slow, request_bytes("/long"))
  got <- 0
  for (i in 1:25) {
    # what a system has buffered for its programs may be megabytes, and it asks for more when a 16th of that was read
    while (length(slow$buffer) < 5e5 && client_fill(slow, 2)) NULL
    got <- got + length(slow$buffer)
    slow$buffer <- raw()
    Sys.sleep(0.2)
  }
  expect_false(slow$closed)
  while (!slow$closed && got < 3e7 && client_fill(slow, 5)) {
    got <- got + length(slow$buffer)
    slow$buffer <- raw()
  }
  expect_gt(got, 3e7)
})

test_that("keep_alive: an idle connection closes, one in use does not", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/", function(req) "ok")
  }, keep_alive = 1)
  client <- raw_client(server$port)
  for (i in 1:4) {
    client_send(client, request_bytes("/"))
    expect_identical(client_response(client)$text, "ok")
    expect_false(client_closes_within(client, 0.5))
  }
  expect_true(client_closes_within(client, 4))
  # one that never sends a byte
  client <- raw_client(server$port)
  expect_true(client_closes_within(client, 4), label = "a silent connection closes")
  # HTTP/2: a connection without streams
  client <- h2_client(server$port)
  client_send(client, h2_headers(1, h2_request_fields("/")))
  expect_false(is.null(h2_until(client, function(frame) frame$type == "HEADERS")))
  expect_true(client_closes_within(client, 5), label = "an idle HTTP/2 connection closes")
})

test_that("timeout: 504 while R is still busy, and R serves on", {
  server <- local_server({
    app <- dr_app()
    late <- 0L
    dr_get(app, "/sleep", function(req) {
      Sys.sleep(2.5)
      late <<- late + 1L
      "slept"
    })
    dr_get(app, "/never", function(req) promises::promise(function(resolve, reject) NULL))
    dr_get(app, "/late", function(req) as.character(late))
  }, timeout = 1)
  client <- raw_client(server$port)
  start <- now()
  client_send(client, request_bytes("/sleep"))
  response <- client_response(client)
  expect_identical(response$status, 504L)
  expect_lt(now() - start, 2.4)
  expect_identical(fetch(server, "/none")$status, 404L)
  # R is free again: the late answer went nowhere
  expect_true(within(function() identical(fetch(server, "/late")$text, "1")))
  if (!client$closed) {
    client_send(client, request_bytes("/late"))
    again <- client_response(client, 3)
    if (!is.null(again)) expect_identical(again$text, "1")
  }
  skip_if_not_installed("promises")
  expect_identical(fetch(server, "/never")$status, 504L)
  expect_true(within(function() any(grepl(" 504 ", server$log()))))
})

test_that("queue_timeout: a request that waits too long for R is 503 and never run", {
  started <- withr::local_tempfile()
  server <- local_server({
    app <- dr_app()
    calls <- 0L
    dr_get(app, "/sleep", function(req) {
      file.create(Sys.getenv("STARTED"))
      Sys.sleep(2.5)
      "slept"
    })
    dr_get(app, "/count", function(req) {
      calls <<- calls + 1L
      "counted"
    })
    dr_get(app, "/calls", function(req) as.character(calls))
  }, queue_timeout = 1, env = c(STARTED = started))
  busy <- raw_client(server$port)
  client_send(busy, request_bytes("/sleep"))
  expect_true(within(function() file.exists(started)))
  start <- now()
  waited <- fetch(server, "/count")
  expect_identical(waited$status, 503L)
  expect_false(is.na(waited$headers["retry-after"]))
  expect_lt(now() - start, 2.2)
  expect_identical(client_response(busy)$text, "slept")
  expect_identical(fetch(server, "/calls")$text, "0")
})

test_that("graceful_timeout: dr_stop() waits that long for a request in flight, no longer", {
  skip_if_not_installed("promises")
  ran <- run_script(c(
    "app <- dr_app()",
    "dr_get(app, '/never', function(req) promises::promise(function(resolve, reject) NULL))",
    "dr_serve(app, port = 0L, block = FALSE, graceful_timeout = 1)",
    "ask <- processx::process$new('curl', c('-s', '-o', '/dev/null', '-w', '%{http_code}', paste0(dr_url(), '/never')), stdout = '|')",
    "until <- Sys.time() + 1",
    "while (Sys.time() < until) later::run_now(0.05)",
    "stopifnot(ask$is_alive())",
    "took <- system.time(dr_stop())[['elapsed']]",
    "ask$wait(5000)",
    "cat('took', took > 0.8 && took < 4, '\\n')",
    "cat('answer', ask$read_all_output(), '\\n')"
  ))
  expect_identical(ran$status, 0L)
  expect_identical(ran$stdout[[1]], "took TRUE ")
  expect_match(ran$stdout[[2]], "answer (503|504|000)")
})
