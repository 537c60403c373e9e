# How many may enter: requests waiting for R, connections, streams. What is over is refused at once, the rest is served.

test_that("max_queue: while R is busy the excess is 503 at once, and what needs no R is served", {
  site <- withr::local_tempdir()
  started <- withr::local_tempfile()
  writeLines("static", file.path(site, "a.txt"))
  server <- local_server(c(
    "app <- dr_app()",
    "dr_get(app, '/sleep', function(req) { file.create(Sys.getenv('STARTED')); Sys.sleep(2); 'slept' })",
    "dr_get(app, '/quick', function(req) 'quick')",
    sprintf("dr_static(app, '/files', '%s')", site)
  ), max_queue = 3L, env = c(STARTED = started))
  expect_identical(fetch(server, "/quick")$text, "quick")
  busy <- raw_client(server$port)
  client_send(busy, request_bytes("/sleep"))
  expect_true(within(function() file.exists(started)))
  start <- now()
  waiting <- raw_clients(8, server$port)
  for (client in waiting) client_send(client, request_bytes("/quick"))
  # the ones that were refused have their answer while R still sleeps
  early <- function() {
    vapply(waiting, function(client) {
      while (client_fill(client, 0)) NULL
      length(client$buffer) > 0
    }, NA)
  }
  expect_true(within(function() sum(early()) >= 5, 1.5), label = "the excess is answered at once")
  expect_identical(fetch(server, "/files/a.txt")$text, "static\n")
  expect_identical(fetch(server, "/none")$status, 404L)
  expect_identical(fetch(server, "/quick", "DELETE")$status, 405L)
  expect_lt(now() - start, 2)
  answers <- lapply(waiting, client_response)
  status <- vapply(answers, function(answer) answer$status, 0L)
  # one runs and max_queue bounds waiting and running together
  expect_true(sum(status == 200L) %in% 2:3, label = paste("admitted", sum(status == 200L)))
  expect_true(all(status %in% c(200L, 503L)))
  for (answer in answers[status == 503L]) expect_match(answer$headers[["retry-after"]], "^[0-9]+$")
  expect_identical(client_response(busy)$text, "slept")
  expect_identical(fetch(server, "/quick")$text, "quick")
})

test_that("max_queue counts what was let go: a full queue does not stay full", {
  begun <- withr::local_tempfile()
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/sleep", function(req) {
      file.create(Sys.getenv("BEGUN"))
      Sys.sleep(0.5)
      "slept"
    })
    dr_get(app, "/fail", function(req) stop("failed"))
    dr_get(app, "/quick", function(req) "quick")
  }, max_queue = 2L, env = c(BEGUN = begun))
  for (round in 1:3) {
    unlink(begun)
    busy <- raw_client(server$port)
    client_send(busy, request_bytes("/sleep"))
    # requests of several connections come in any order
    expect_true(within(function() file.exists(begun)))
    leaving <- raw_clients(5, server$port)
    for (client in leaving) client_send(client, request_bytes("/quick"))
    for (client in leaving) client_close(client)
    expect_identical(client_response(busy)$status, 200L)
  }
  expect_true(all(fetch_many(server, "/fail", 20, batch = 1) == 500L))
  expect_true(all(fetch_many(server, "/quick", 20, batch = 1) == 200L))
})

test_that("max_connections: existing connections go on, a further one waits for its turn", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/", function(req) "ok")
  }, max_connections = 4L)
  clients <- raw_clients(4, server$port)
  for (client in clients) {
    client_send(client, request_bytes("/"))
    expect_identical(client_response(client)$text, "ok")
  }
  further <- raw_client(server$port)
  client_send(further, request_bytes("/"))
  # an answer that must not come: the existing ones are served meanwhile
  for (i in 1:5) for (client in clients) {
    client_send(client, request_bytes("/"))
    expect_identical(client_response(client)$text, "ok")
  }
  expect_false(client_fill(further, 0.2))
  client_close(clients[[1]])
  expect_identical(client_response(further, 5)$text, "ok")
})

test_that("max_streams: announced, and a stream over it is refused", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/sleep", function(req) {
      Sys.sleep(0.3)
      "slept"
    })
  }, max_streams = 2L)
  client <- h2_client(server$port)
  settings <- h2_until(client, function(frame) frame$type == "SETTINGS" && frame$flags == 0L)
  values <- split(settings$payload, rep(seq_len(length(settings$payload) / 6), each = 6))
  announced <- Filter(function(value) from_be(value[1:2]) == 3, values)
  expect_identical(from_be(announced[[1]][3:6]), 2)
  for (stream in c(1, 3, 5, 7)) client_send(client, h2_headers(stream, h2_request_fields("/sleep")))
  refused <- character()
  answered <- character()
  while (length(refused) + length(answered) < 4) {
    frame <- h2_until(client, function(frame) frame$type %in% c("HEADERS", "RST_STREAM", "GOAWAY"))
    if (is.null(frame)) break
    if (frame$type == "HEADERS") answered <- c(answered, frame$stream) else refused <- c(refused, frame$stream)
  }
  expect_identical(answered, c("1", "3"))
  expect_setequal(refused, c("5", "7"))
})
