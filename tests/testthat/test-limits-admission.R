# How many may enter: requests waiting for R, connections, streams. What is over is refused at once, the rest is served.

# `n` connections that have asked for this.
ask_from <- function(n, server, path, env = parent.frame()) {
  clients <- raw_clients(n, server$port, env)
  for (client in clients) client_send(client, request_bytes(path))
  clients
}

has_answer <- function(client) {
  while (client_fill(client, 0)) NULL
  length(client$buffer) > 0
}

test_that("max_queue: while R is busy the excess is 503 at once, and what needs no R is served", {
  site <- withr::local_tempdir()
  writeLines("static", file.path(site, "a.txt"))
  server <- local_server(c(
    "app <- dr_app()",
    "dr_get(app, '/held', function(req) { stand_at('held'); 'held' }, timeout = 600)",
    "dr_get(app, '/quick', function(req) 'quick', timeout = 600)",
    sprintf("dr_static(app, '/files', '%s')", site)
  ), max_queue = 3L)
  expect_identical(fetch(server, "/quick")$text, "quick")
  busy <- ask_from(1, server, "/held")[[1L]]
  expect_true(marked(server, "held"))
  waiting <- ask_from(8, server, "/quick")
  # while R stands at the gate
  expect_true(within(function() sum(vapply(waiting, has_answer, NA)) >= 5))
  expect_identical(fetch(server, "/files/a.txt")$text, "static\n")
  expect_identical(fetch(server, "/none")$status, 404L)
  expect_identical(fetch(server, "/quick", "DELETE")$status, 405L)
  refused <- vapply(waiting, has_answer, NA)
  expect_false(has_answer(busy))
  open_gate(server, "held")
  answers <- lapply(waiting, client_response)
  status <- vapply(answers, function(answer) answer$status, 0L)
  # as many wait as max_queue says, besides the one that runs
  expect_identical(sum(refused), 5L)
  expect_identical(status, ifelse(refused, 503L, 200L))
  for (answer in answers[refused]) expect_match(answer$headers[["retry-after"]], "^[0-9]+$")
  expect_identical(client_response(busy)$text, "held")
  expect_identical(fetch(server, "/quick")$text, "quick")
})

test_that("max_queue counts what was let go: a full queue does not stay full", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/held/<round>", function(req) {
      stand_at(req$params$round)
      "held"
    })
    dr_get(app, "/fail", function(req) stop("failed"))
    dr_get(app, "/quick", function(req) "quick")
  }, max_queue = 2L)
  for (round in c("first", "second", "third")) {
    busy <- ask_from(1, server, paste0("/held/", round))[[1L]]
    # requests of several connections come in any order
    expect_true(marked(server, round))
    leaving <- ask_from(5, server, "/quick")
    # the queue is full
    expect_true(within(function() any(vapply(leaving, has_answer, NA))))
    for (client in leaving) client_close(client)
    # and nobody in it waits for an answer any more
    if (file.exists("/proc/net/tcp")) expect_true(within(function() open_connections(server$port) == 1))
    open_gate(server, round)
    expect_identical(client_response(busy)$status, 200L)
    client_close(busy)
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
  expect_identical(client_response(further)$text, "ok")
})

test_that("max_streams: announced, and a stream over it is refused", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/held", function(req) {
      stand_at("held")
      "held"
    })
  }, max_streams = 2L)
  client <- h2_client(server$port)
  settings <- h2_until(client, function(frame) frame$type == "SETTINGS" && frame$flags == 0L)
  values <- split(settings$payload, rep(seq_len(length(settings$payload) / 6), each = 6))
  announced <- Filter(function(value) from_be(value[1:2]) == 3, values)
  expect_identical(from_be(announced[[1]][3:6]), 2)
  for (stream in c(1, 3, 5, 7)) client_send(client, h2_headers(stream, h2_request_fields("/held")))
  # two of them while the others are held, the others once they may
  streams <- function(type) vapply(1:2, function(i) {
    frame <- h2_until(client, function(frame) frame$type %in% c("HEADERS", "RST_STREAM", "GOAWAY"))
    expect_identical(frame$type, type)
    frame$stream
  }, 0)
  expect_setequal(streams("RST_STREAM"), c(5, 7))
  open_gate(server, "held")
  expect_identical(streams("HEADERS"), c(1, 3))
})
