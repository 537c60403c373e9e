# Routes with dr_batch(): what waits goes to a worker at once. Requests come to wait as the worker is held at a gate.

batch_app <- function(handler, more = NULL, arguments = "body = dr_schema(x = dr_dbl())", batch = "dr_batch(8)") {
  write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/held', function(req) { stand_at('gate'); 'let go' }, timeout = 600)",
    "dr_get(app, '/other', function(req) { note('order', 'other'); 'other' })",
    paste0("dr_post(app, '/batch', ", handler, ", batch = ", batch, ", ", arguments, ")"), more, "app"
  ))
}

ask_row <- function(server, x) ask(server, "/batch", "-H", "Content-Type: application/json", "-d", row_bodies(x))

ask_row_later <- function(server, x) {
  ask_later(server, "/batch", "-H", "Content-Type: application/json", "-d", row_bodies(x))
}

# Has the one worker do something else, while `n` requests come to wait; then it takes them. Their answers, in the order
# in which they were asked.
answers_to_batch <- function(server, bodies, meanwhile = function() NULL, path = "/batch") {
  held <- ask_later(server, "/held")
  expect(marked(server, "gate"), "it does not begin")
  waits <- lapply(seq_along(bodies), function(i) {
    wait <- ask_later(server, path, "-H", "Content-Type: application/json", "-d", bodies[[i]])
    expect_figure(server, i, "drover_queue_requests")
    wait
  })
  meanwhile()
  open_gate(server, "gate")
  expect(held()$body == "let go", "another answer")
  lapply(waits, function(wait) wait())
}

row_bodies <- function(x) sprintf("{\"x\":%s}", format(x, trim = TRUE))

test_every_way("requests that wait are one batch, in order, up to its size; each gets its own answer", function(start) {
  server <- start(batch_app("function(rows) { note('sizes', nrow(rows)); rows$x * 2 }"), timeout = 600, metrics = TRUE)
  expect(ask_row(server, 21)$body == "42", "a lone one")
  answers <- answers_to_batch(server, row_bodies(1:11))
  got <- vapply(answers, function(answer) answer$body, "")
  expect(identical(got, as.character(2 * 1:11)), "others: ", toString(got))
  expect(identical(note_lines(server, "sizes"), c("1", "8", "3")), toString(note_lines(server, "sizes")))
  figures <- scrape(server)
  expect(figure(figures, "drover_batches_total") == 2, "other batches")
  expect(figure(figures, "drover_batched_requests_total") == 11, "other requests")
  ids <- vapply(answers, field, "", name = "x-request-id")
  expect(!anyDuplicated(ids), "one id for several")
})

test_every_worker("one bad row fails alone, and the batch is told in one line", function(start) {
  server <- start(batch_app("function(rows) { if (any(rows$x == 3)) stop('bad row'); rows$x }"), timeout = 600,
    metrics = TRUE)
  answers <- answers_to_batch(server, row_bodies(1:5))
  status <- vapply(answers, function(answer) answer$status, "")
  expect(identical(status, c("200", "200", "500", "200", "200")), toString(status))
  expect(identical(answers[[5L]]$body, "5"), "another answer: ", answers[[5L]]$body)
  expect(sum(grepl("a batch of 5 failed, and is run one by one: bad row", server$log())) == 1L, "not told once")
  expect(sum(grepl("POST /batch 500 bad row", server$log())) == 1L, "the row's error is not logged once")
})

test_every_worker("another number of values is 500 for all, and one line", function(start) {
  server <- start(batch_app("function(rows) if (nrow(rows) > 1) 1:2 else 1"), timeout = 600, metrics = TRUE)
  answers <- answers_to_batch(server, row_bodies(1:4))
  expect(all(vapply(answers, function(answer) answer$status == "500", NA)), "not all are 500")
  lines <- grep("ERROR .*must return 4 values, not 2 values", server$log(), value = TRUE)
  expect(length(lines) == 1L, length(lines), " lines")
  expect(ask_row(server, 1)$body == "1", "it does not go on")
})

test_every_worker("without a type it is a list of requests, each answered under its own id", function(start) {
  server <- start(batch_app("function(reqs) lapply(reqs, function(req) list(at = req$params$at, id = req$id))",
    arguments = "timeout = 600"), timeout = 600, metrics = TRUE)
  expect(ask(server, "/other")$body == "other", "no answer")
  answers <- answers_to_batch(server, row_bodies(1:3))
  ids <- vapply(answers, function(answer) json(answer$body)$id, "")
  expect(identical(ids, vapply(answers, field, "", name = "x-request-id")), "another request's id")
})

test_every_worker("what is not wanted any more when the batch begins is not in it", function(start) {
  handler <- "function(rows) { note('rows', paste(rows$x, collapse = ' ')); rows$x }"
  server <- start(batch_app(handler), timeout = 600, metrics = TRUE)
  held <- ask_later(server, "/held")
  expect(marked(server, "gate"), "it does not begin")
  words <- c("-s", "-H", "Content-Type: application/json", "-d", row_bodies(1), paste0(server$url, "/batch"))
  gone <- start_client("curl", words)
  expect_figure(server, 1, "drover_queue_requests")
  stays <- lapply(2:3, function(x) {
    wait <- ask_row_later(server, x)
    expect_figure(server, x, "drover_queue_requests")
    wait
  })
  gone$kill()
  expect_figure(server, 2, "drover_queue_requests")
  open_gate(server, "gate")
  held()
  expect(identical(vapply(stays, function(wait) wait()$body, ""), c("2", "3")), "others")
  expect(identical(note_lines(server, "rows"), "2 3"), "in it: ", toString(note_lines(server, "rows")))
})

test_every_worker("the first of a batch waits for others, until they are enough or its time is over", function(start) {
  server <- start(batch_app("function(rows) { note('sizes', nrow(rows)); rows$x }", batch = "dr_batch(3, max_wait = '60s')",
    more = "dr_get(app, '/soon', function(reqs) length(reqs), batch = dr_batch(9, max_wait = '20ms'))"),
    timeout = 600, metrics = TRUE)
  waits <- lapply(1:2, function(x) {
    wait <- ask_row_later(server, x)
    expect_figure(server, x, "drover_queue_requests")
    wait
  })
  # others pass meanwhile
  expect(ask(server, "/other")$body == "other", "no answer")
  expect(!length(note_lines(server, "sizes")), "a batch has begun")
  waits <- c(waits, list(ask_row_later(server, 3)))
  expect(identical(vapply(waits, function(wait) wait()$body, ""), c("1", "2", "3")), "other answers")
  expect(identical(note_lines(server, "sizes"), "3"), toString(note_lines(server, "sizes")))
  expect(ask(server, "/soon")$body == "1", "a lone one is not answered")
})

test("a worker that dies in a batch costs that, and the next one is answered", function() {
  server <- serve(batch_app("function(rows) { if (any(rows$x == 2)) tools::pskill(Sys.getpid(), 9); rows$x }"),
    workers = 1, timeout = 600, metrics = TRUE)
  answers <- answers_to_batch(server, row_bodies(1:3))
  expect(all(vapply(answers, function(answer) answer$status == "502", NA)), "other statuses")
  expect(ask_row(server, 1)$body == "1", "it does not go on")
})

test("a batch that is late is interrupted: its clients get errors, and the worker is replaced", function() {
  server <- serve(batch_app("function(rows) { if (any(rows$x == 2)) repeat Sys.time(); rows$x }",
    arguments = "body = dr_schema(x = dr_dbl()), timeout = 1"), workers = 1, timeout = 600, metrics = TRUE)
  # all of them wait for less than their time
  answers <- list()
  expect(within(function() {
    answers <<- lapply(list(2, 1, 1), function(x) ask_row_later(server, x))
    answers <<- lapply(answers, function(wait) wait()$status)
    any(answers == "504")
  }), "none is late: ", toString(answers))
  expect(within(function() ask_row(server, 1)$body == "1"),
    "it does not go on")
})

test("all of a load are answered, each with its own, however many workers there are", function() {
  server <- serve(write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/n/:n', function(reqs) vapply(reqs, function(req) req$params$n, ''), batch = dr_batch(16))", "app"
  )), workers = "2-2")
  wait_for_workers(server, 2)
  expect_account(load(server, "/n/{n}", echo = TRUE, connections = 64, requests = 5000))
})
