# Every time of dr_serve(): that it arrives in the server and does its work there. All other times are far away, so that
# what happens can only come from the one that is under test, and none has an upper bound. When exactly it happens:
# timeouts/tests.rs of the crate httpd.

# A call of dr_timeouts() where all that is not given is far away, for local_server().
only <- function(...) {
  far <- list(
    header_timeout = 600, body_timeout = 600, min_body_rate = 0L, write_timeout = 600, keep_alive = 600, timeout = 600,
    queue_timeout = 600, graceful_timeout = 600, kill_after = 600
  )
  as.call(c(quote(dr_timeouts), utils::modifyList(far, list(...))))
}

closes <- function(client) client_closes_within(client, patience(30))

# Sends `bytes` one by one every 0.1 s until the server answers or closes: TRUE when it did before the last of them.
is_cut_short <- function(client, bytes) {
  for (byte in charToRaw(bytes)) {
    if (!client_send(client, byte) || client_fill(client, 0.1) || client$closed) return(TRUE)
  }
  FALSE
}

test_that("header_timeout: a header that does not end is given up, whatever its pace", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/", function(req) "ok")
  }, timeouts = only(header_timeout = 0.5))
  # a client that comes and goes on a machine with much to do may need longer for a header, too
  served <- function(client) {
    client_send(client, request_bytes("/"))
    identical(client_response(client)$text, "ok")
  }
  endless <- paste0("GET / HTTP/1.1\r\nHost: a\r\n", strrep("X-A: b\r\n", 90))
  client <- raw_client(server$port)
  expect_true(is_cut_short(client, endless))
  expect_identical(client_response(client)$status, 408L)
  expect_true(closes(client))
  # the same on a connection that has served a request
  here <- environment()
  expect_true(within(function() served(client <<- raw_client(server$port, here))))
  expect_true(is_cut_short(client, endless))
  expect_identical(client_response(client)$status, 408L)
  expect_true(closes(client))
  # only a start, then silence; and half of an HTTP/2 preface
  for (start in c("GET / HT", "PRI * HTTP/2.0\r\n")) {
    client <- raw_client(server$port)
    client_send(client, start)
    expect_true(closes(client), label = trimws(start))
  }
})

test_that("body_timeout: a body that stops is given up, and R does not see it", {
  server <- local_server({
    app <- dr_app()
    dr_post(app, "/", function(req) mark("called"))
    dr_get(app, "/alive", function(req) "alive")
  }, timeouts = only(body_timeout = 0.5))
  client <- raw_client(server$port)
  client_send(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc")
  expect_identical(client_response(client)$status, 408L)
  expect_true(closes(client))
  expect_identical(fetch(server, "/alive")$text, "alive")
  expect_false(file.exists(file.path(server$marks, "called")))
})

test_that("min_body_rate: a body that dribbles is given up, with a length or in chunks", {
  server <- local_server({
    app <- dr_app()
    dr_post(app, "/", function(req) mark("called"))
    dr_get(app, "/alive", function(req) "alive")
    # 10 bytes a second, which no pause of a second would catch
  }, timeouts = only(body_timeout = 1, min_body_rate = 1000L))
  client <- raw_client(server$port)
  client_send(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
  expect_true(is_cut_short(client, strrep("a", 600)))
  expect_identical(client_response(client)$status, 408L)
  client <- raw_client(server$port)
  client_send(client, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
  expect_true(is_cut_short(client, strrep("1\r\na\r\n", 100)))
  expect_identical(client_response(client)$status, 408L)
  expect_identical(fetch(server, "/alive")$text, "alive")
  expect_false(file.exists(file.path(server$marks, "called")))
})

test_that("write_timeout: a client that never reads a big answer is let go, and holds nothing", {
  skip_without_proc()
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/big", function(req) raw(3e7))
    dr_get(app, "/alive", function(req) "alive")
  }, timeouts = only(write_timeout = 1))
  expect_identical(fetch(server, "/alive")$text, "alive")
  # the server learns a moment later that a client has gone
  expect_true(within(function() open_connections(server$port) == 0))
  idle <- process_measure(server$pid)$fds
  client <- raw_client(server$port)
  client_send(client, request_bytes("/big"))
  expect_true(within(function() process_measure(server$pid)$fds > idle))
  expect_identical(fetch(server, "/alive")$text, "alive")
  server$wait_log("write timeout")
  expect_true(within(function() open_connections(server$port) == 0 && process_measure(server$pid)$fds <= idle))
})

test_that("keep_alive: an idle connection closes, one in use does not", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/", function(req) "ok")
    dr_get(app, "/held", function(req) {
      stand_at("held")
      "held"
    })
  }, timeouts = only(keep_alive = 0.5))
  client <- raw_client(server$port)
  client_send(client, request_bytes("/held"))
  expect_true(marked(server, "held"))
  # one that never sends a byte goes meanwhile
  silent <- raw_client(server$port)
  expect_true(closes(silent), label = "a silent connection closes")
  let_pass(1)
  expect_false(client_fill(client, 0) || client$closed)
  open_gate(server, "held")
  expect_identical(client_response(client)$text, "held")
  expect_true(closes(client))
  # HTTP/2: a connection without streams
  client <- h2_client(server$port)
  client_send(client, h2_headers(1, h2_request_fields("/")))
  expect_false(is.null(h2_until(client, function(frame) frame$type == "HEADERS")))
  expect_true(closes(client), label = "an idle HTTP/2 connection closes")
})

test_that("what comes in pieces, with pauses in between, is a request", {
  server <- local_server({
    app <- dr_app()
    dr_post(app, "/", function(req) as.character(length(req$raw)))
  }, timeouts = only())
  client <- raw_client(server$port)
  for (piece in c("POST / HTTP/1.1\r\nHo", "st: a\r\nContent-Length: 1000\r\n\r\n", strrep("a", 500))) {
    client_send(client, piece)
    expect_false(client_fill(client, 0.3) || client$closed)
  }
  client_send(client, strrep("a", 500))
  expect_identical(client_response(client)$text, "1000")
})

test_that("timeout: 504 while R is still busy, and R serves on", {
  server <- local_server({
    app <- dr_app()
    late <- 0L
    dr_get(app, "/held", function(req) {
      stand_at("held")
      late <<- late + 1L
      "held"
    })
    dr_get(app, "/never", function(req) promises::promise(function(resolve, reject) NULL))
    dr_get(app, "/late", function(req) as.character(late), timeout = 600)
  }, timeouts = only(timeout = 0.5))
  client <- raw_client(server$port)
  client_send(client, request_bytes("/held"))
  expect_identical(client_response(client)$status, 504L)
  expect_identical(fetch(server, "/none")$status, 404L)
  # R is free again: the late answer went nowhere
  expect_true(marked(server, "held"))
  open_gate(server, "held")
  expect_identical(fetch(server, "/late")$text, "1")
  client_send(client, request_bytes("/late"))
  expect_identical(client_response(client)$text, "1")
  server$wait_log(" 504 ")
  skip_if_not_installed("promises")
  expect_identical(fetch(server, "/never")$status, 504L)
})

test_that("queue_timeout: a request that waits too long for R is 503 and never run", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/held", function(req) {
      stand_at("held")
      "held"
    })
    dr_get(app, "/count", function(req) mark("counted"))
    dr_get(app, "/calls", function(req) if (is_open("held")) "free" else "not free")
  }, timeouts = only(queue_timeout = 1))
  # R may be slow to take a request, too
  here <- environment()
  busy <- NULL
  expect_true(within(function() {
    busy <<- raw_client(server$port, here)
    client_send(busy, request_bytes("/held"))
    within(function() file.exists(file.path(server$marks, "held")) || client_fill(busy, 0))
    file.exists(file.path(server$marks, "held"))
  }))
  waited <- fetch(server, "/count")
  expect_identical(waited$status, 503L)
  expect_false(is.na(waited$headers["retry-after"]))
  open_gate(server, "held")
  expect_identical(client_response(busy)$text, "held")
  expect_true(within(function() identical(fetch(server, "/calls")$text, "free")))
  expect_false(file.exists(file.path(server$marks, "counted")))
})

test_that("graceful_timeout: dr_stop() waits that long for a request in flight, no longer", {
  skip_if_not_installed("promises")
  ran <- run_script(c(
    "app <- dr_app()", "asked <- FALSE",
    "dr_get(app, '/never', function(req) { asked <<- TRUE; promises::promise(function(resolve, reject) NULL) })",
    "dr_serve(app, port = 0L, block = FALSE, timeouts = dr_timeouts(timeout = 600, graceful_timeout = 1))",
    "ask <- processx::process$new('curl',",
    "  c('-s', '-o', '/dev/null', '-w', '%{http_code}', paste0(dr_url(), '/never')), stdout = '|')",
    "while (!asked) later::run_now(600)",
    "took <- system.time(dr_stop())[['elapsed']]",
    "ask$wait()",
    "cat('took', took >= 0.9, '\\n')",
    "cat('answer', ask$read_all_output(), '\\n')"
  ))
  expect_identical(ran$status, 0L)
  expect_identical(ran$stdout[[1]], "took TRUE ")
  # nobody answers it any more
  expect_identical(ran$stdout[[2]], "answer 000 ")
})
