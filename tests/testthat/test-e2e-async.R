# Promises under way: what the status says of them, and max_async. What becomes of them when processes end:
# tests/process/test-async.R.

skip_if_not_installed("promises")

test_that("promises under way are shown, and take no place of other requests: the session", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/later", function(req) {
      promises::promise(function(resolve, reject) later::later(function() resolve("later"), 1))
    })
    dr_get(app, "/status", function(req) dr_status())
  })
  clients <- raw_clients(5L, server$port)
  for (client in clients) client_send(client, request_bytes("/later"))
  expect_true(within(function() http_json(server, "/status")$promises == 5))
  expect_identical(texts(lapply(clients, client_response)), rep("later", 5L))
  expect_identical(http_json(server, "/status")$promises, 0L)
})

test_that("promises under way are shown: workers", {
  app <- dr_get(dr_app(), "/later", function(req) {
    promises::promise(function(resolve, reject) later::later(function() resolve("later"), 1))
  })
  server <- serve_workers(app, c(1L, 1L))
  clients <- raw_clients(5L, server$port)
  for (client in clients) client_send(client, request_bytes("/later"))
  expect_true(within(function() sum(dr_status()$promises) == 5))
  expect_identical(dr_status()$state, "idle")
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
      promises::promise(function(resolve, reject) {
        later::later(function() {
          open <<- open - 1L
          resolve("later")
        }, 0.2)
      })
    })
    dr_get(app, "/most", function(req) most)
  }, limits = dr_limits(max_async = 2L))
  expect_identical(texts(fetch_all(server, rep("/later", 7L))), rep("later", 7L))
  expect_identical(http_json(server, "/most"), 2L)
})

test_that("max_async is a whole number that a link has places for", {
  expect_identical(dr_limits(max_async = 5)$max_async, 5)
  for (wrong in list(0, 2001, 1.5, NA, "1")) {
    expect_error(dr_limits(max_async = wrong), "`max_async` must be a single integer in 1..2000",
      class = "drover_error_argument")
  }
})
