# C handlers of a session that answer piece by piece, over sockets.

# Sends a request and hangs up once something of the answer is there. What is unread then makes it a reset.
leave_early <- function(path, server) {
  client <- raw_client(server$port)
  client_send(client, request_bytes(path))
  deadline <- now() + patience()
  # a signal may end a wait early
  while (!client_fill(client, 1) && !client$closed && now() < deadline) NULL
  expect_gt(length(client$buffer), 0)
  client_close(client)
}

for (place in cpp_places) {
  server <- local_cpp_server(place, frame = testthat::teardown_env())

  test_that(paste0(place, ": pieces arrive in order and make one body"), {
    response <- http(server, "/h_stream?n=3")
    expect_identical(response[c("status", "body")], list(status = 200L, body = "line 1\nline 2\nline 3\n"))
    expect_identical(response$headers[["x-stream"]], "yes")
    expect_identical(response$headers[["transfer-encoding"]], "chunked")
    expect_identical(http(server, "/old_stream?n=2")$body, "data: 1\n\ndata: 2\n\n")
    expect_identical(http(server, "/h_stream_later?n=3")$body, "line 1\nline 2\nline 3\n")
    expect_identical(http(server, "/inline/h_stream_later?n=3")$body, "line 1\nline 2\nline 3\n")
    expect_identical(http(server, "/inline/h_stream?n=2")$body, "line 1\nline 2\n")
    expect_identical(http(server, "/h_stream?n=2", "--http2-prior-knowledge")$body, "line 1\nline 2\n")
    # without end(), its return is the end
    open <- http(server, "/h_stream_open")
    expect_identical(open[c("status", "body")], list(status = 201L, body = "line 1\n"))
    expect_false("content-type" %in% names(open$headers))
  })

  test_that(paste0(place, ": pieces are there when they are sent, not at the end"), {
    client <- raw_client(server$port)
    client_send(client, request_bytes("/h_stream?n=2&at=between"))
    expect_false(is.null(take_until(client, charToRaw("line 1\n"), now() + patience())))
    expect_identical(find_bytes(client$buffer, charToRaw("line 2")), NA_integer_)
    open_gate(server, "between")
    expect_false(is.null(take_until(client, charToRaw("line 2\n"), now() + patience())))
  })

  test_that(paste0(place, ": the content type is the handler's, or that of the route"), {
    type <- function(path) http(server, path)$headers[["content-type"]]
    expect_identical(type("/old_stream"), "text/event-stream")
    expect_identical(type("/old_stream?type=text/csv"), "text/csv")
    expect_identical(type("/typed"), "application/x-ndjson")
    expect_identical(type("/typed?type=text/csv"), "text/csv")
    expect_identical(type("/old_stream_empty"), "text/csv")
    expect_identical(http(server, "/old_stream_empty")$raw, raw())
    expect_identical(type("/h_stream?type=text/csv"), "text/csv")
    expect_identical(type("/h_stream"), "application/octet-stream")
  })

  test_that(paste0(place, ": HEAD of a stream has no body, and the connection goes on"), {
    client <- raw_client(server$port)
    client_send(client, c(request_bytes("/old_stream", "HEAD"), request_bytes("/h_text")))
    expect_identical(client_response(client, head = TRUE)$status, 200L)
    expect_identical(client_response(client)$text, "Hello, World!")
  })

  test_that(paste0(place, ": a stream that fails before its first piece is 500, and later one that is broken off"), {
    expect_identical(http(server, "/old_stream_fail_first")$status, 500L)
    for (path in c("/old_stream_fail", "/old_stream_throw", "/h_stream_fail", "/h_stream_throw", "/h_stream_break")) {
      # curl: 18 is a partial transfer
      ran <- processx::run("curl", c("-s", paste0(server$url, path)), error_on_status = FALSE)
      expect_identical(ran$status, 18L, info = path)
      expect_match(ran$stdout, "^(one|line 1\n)$", info = path)
    }
    server$wait_log("in the middle")
    expect_identical(http(server, "/old_stream_bad_type")$status, 500L)
  })

  test_that(paste0(place, ": closing twice and sending after it do no harm"), {
    expect_identical(http(server, "/old_stream_close")$body, "one")
    expect_identical(codes(server), c(0L, -1L))
    expect_identical(http(server, "/h_stream_order")$body, "yes")
    expect_identical(codes(server), unname(DROVER[c(
      "invalid", "invalid", "ok", "done", "done", "done", "ok", "invalid", "ok", "done", "done"
    )]))
  })

  test_that(paste0(place, ": a handler is told that its client has gone"), {
    leave_early("/h_stream_endless", server)
    expect_true(within(function() identical(codes(server), c(DROVER[["gone"]], 1L))))
    leave_early("/old_stream_endless", server)
    expect_true(within(function() identical(codes(server), 1L)))
  })

  test_that(paste0(place, ": what a slow client has not taken is bounded, and the handler waits for it"), {
    skip_without_proc()
    http(server, "/h_text")
    # also of the worker, where it has one
    held <- function() {
      sum(vapply(c(server$pid, children_of(server$pid)), function(pid) process_measure(pid)$rss_kb, 0))
    }
    before <- held()
    client <- raw_client(server$port)
    client_send(client, request_bytes("/h_stream_endless?n=100000"))
    # a handler that has not begun would never hear of a client that leaves
    expect_true(client_fill(client, patience()))
    expect_true(never(function() held() - before > 20000, 1), label = paste("kB of memory more:", held() - before))
    client_close(client)
    expect_true(within(function() identical(codes(server), c(DROVER[["gone"]], 1L))))
    # there is room until there is none; waiting for it helps
    response <- http(server, "/h_stream_full")
    expect_identical(response$status, 200L)
    expect_match(substring(response$body, nchar(response$body)), "!", fixed = TRUE)
    expect_identical(codes(server), unname(DROVER[c("ok", "full", "ok")]))
  })

  test_that(paste0(place, ": clients that reset in the middle of a large answer do no harm"), {
    server <- local_cpp_server(place, more = "dr_get(app, '/r/large', function(req) raw(5e6))")
    for (path in c("/h_static?n=8000000", "/h_owned?n=8000000", "/h_stream_endless?n=100000", "/old_stream_endless", "/r/large")) {
      for (i in 1:20) leave_early(path, server)
      expect_identical(http(server, "/h_text")$status, 200L, info = path)
      expect_identical(http(server, "/r")$status, 200L, info = path)
    }
    expect_length(grep("C stack usage|panicked", server$log()), 0L)
  })
}
