# Promises under way: what the status says of them, and max_async. What becomes of them when processes end:
# tests/process/test-async.R.

skip_if_not_installed("promises")

test_that("promises under way are shown, and take no place of other requests: the session", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/later", function(req) once_open("later"))
    dr_get(app, "/status", function(req) dr_status())
  })
  clients <- raw_clients(5L, server$port)
  for (client in clients) client_send(client, request_bytes("/later"))
  expect_true(within(function() http_json(server, "/status")$promises == 5))
  open_gate(server, "later")
  expect_identical(texts(lapply(clients, client_response)), rep("later", 5L))
  expect_true(within(function() http_json(server, "/status")$promises == 0))
})

test_that("promises under way are shown: workers", {
  app <- dr_get(dr_app(), "/later", function(req) once_open("later"))
  server <- serve_workers(app, c(1L, 1L))
  clients <- raw_clients(5L, server$port)
  for (client in clients) client_send(client, request_bytes("/later"))
  expect_true(within(function() sum(dr_status()$promises) == 5))
  expect_identical(dr_status()$state, "idle")
  open_gate(server, "later")
  expect_identical(texts(lapply(clients, client_response)), rep("later", 5L))
  expect_true(within(function() sum(dr_status()$promises) == 0))
})

test_that("max_async bounds the promises of the session, and further requests wait", {
  server <- local_server({
    app <- dr_app()
    open <- most <- 0L
    dr_get(app, "/later", function(req) {
      open <<- open + 1L
      most <<- max(most, open)
      note("begun", "one")
      once_open("later", function() {
        open <<- open - 1L
        "later"
      })
    })
    dr_get(app, "/most", function(req) most)
  }, limits = dr_limits(max_async = 2L))
  clients <- raw_clients(7L, server$port)
  for (client in clients) client_send(client, request_bytes("/later"))
  expect_true(within(function() noted(server, "begun") >= 2))
  expect_true(never(function() noted(server, "begun") > 2, 0.3))
  open_gate(server, "later")
  expect_identical(texts(lapply(clients, client_response)), rep("later", 7L))
  expect_identical(http_json(server, "/most"), 2L)
})

test_that("max_async is a whole number that a link has places for", {
  expect_identical(dr_limits(max_async = 5)$max_async, 5)
  for (wrong in list(0, 2001, 1.5, NA, "1")) {
    expect_error(dr_limits(max_async = wrong), "`max_async` must be a single integer in 1..2000",
      class = "drover_error_argument")
  }
})
