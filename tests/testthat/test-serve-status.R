status <- structure(data.frame(
  pid = c(41305L, 41306L), alive = c(TRUE, FALSE), state = c("idle", "busy"), generation = c(1L, 1L),
  requests = c(8120, 1e6), errors = c(2, 0), promises = c(0, 1500), busy = c(0.312, 1), memory = c(61204480, 2.5e9), age = c(42, 12600)
), class = c("dr_status", "data.frame"))

test_that("the status is printed with units and totals", {
  shown <- capture.output(print(status))
  expect_length(shown, 4L)
  expect_match(shown[[2]], "41305 +yes +idle +1 +8,120 +2 +0 +31 % +61.2 MB +42 s")
  expect_match(shown[[3]], "41306 +no +busy +1 +1,000,000 +0 +1,500 +100 % +2.5 GB +3.5 h")
  expect_identical(shown[[4]], "2 workers, 1,008,120 requests, 2 errors, 2.56 GB")
  expect_output(print(status[0, ]), "no workers")
  # what runs is a text of a client
  running <- cbind(status, runs = c(NA, "GET /\033[2J"))
  class(running) <- class(status)
  expect_identical(format(running)$runs, c("", "GET /\\033[2J"))
  expect_output(print(status[1, c("pid", "state")]), "41305 +idle.*1 worker")
  expect_identical(drover:::format_age(c(0.2, 59, 60, 90000)), c("0.2 s", "59 s", "1 min", "1 d"))
  expect_identical(drover:::format_bytes(c(0, 999, 1500, 5e12)), c("0 B", "999 B", "1.5 kB", "5000 GB"))
})

test_that("with one worker the session is the row, also asked by a handler", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/status", function(req) dr_status())
    dr_get(app, "/fail", function(req) stop("no"))
  })
  http(server, "/fail")
  status <- as.list(http_json(server, "/status"))
  expect_identical(status$pid, server$pid)
  expect_identical(status[c("alive", "state", "generation", "errors")], list(
    alive = TRUE, state = "busy", generation = 1L, errors = 1L
  ))
  expect_identical(status$requests, 1L)
  expect_gt(status$memory, 1e7)
})
