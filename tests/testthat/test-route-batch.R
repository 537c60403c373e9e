# What of dr_batch() needs no server; tests/process/test-batches.R has the rest.

test_that("dr_batch() says what is wrong with its arguments, and routes say where it is not for", {
  for (size in list(0, 1001, 1.5, "8", NA, c(1, 2))) {
    expect_error(dr_batch(size), "`max_size` must be a whole number", class = "drover_error_argument")
  }
  expect_error(dr_batch(max_bytes = "much"), "`max_bytes`", class = "drover_error_argument")
  expect_identical(dr_batch(2, "1kB")$max_bytes, 1000)
  expect_identical(c(dr_batch()$max_wait, dr_batch(max_wait = "5ms")$max_wait), c(0, 0.005))
  for (wait in list(-1, "soon", NA, 1:2, 61)) {
    expect_error(dr_batch(max_wait = wait), "`max_wait` must be", class = "drover_error_argument")
  }
  app <- dr_app()
  expect_error(
    dr_post(app, "/x", function(rows) 1, batch = 8), "what dr_batch\\(\\) returns", class = "drover_error_argument"
  )
  expect_error(dr_post(app, "/x", function() 1, batch = dr_batch()), "one argument", class = "drover_error_argument")
  expect_error(
    dr_post(app, "/x", function(rows) 1, batch = dr_batch(), on_client_gone = "interrupt"), "others are in it",
    class = "drover_error_argument"
  )
  dr_use(app, function(req, nxt) nxt())
  dr_post(app, "/x", function(rows) 1, batch = dr_batch())
  expect_error(drover:::compile_app(app), "route POST /x has a `batch`, and dr_use", class = "drover_error_argument")
})

test_that("bodies are rows, and what is not there is missing", {
  rows <- drover:::rows_of(list(list(x = 1, y = "a"), list(x = 2, y = NULL), list(y = "c")))
  expect_identical(rows, data.frame(x = c(1, 2, NA), y = c("a", NA, "c")))
  days <- list(list(day = as.Date("2026-01-01")), list(day = as.Date("2026-01-02")))
  expect_identical(drover:::rows_of(days)$day, as.Date(c("2026-01-01", "2026-01-02")))
  lists <- drover:::rows_of(list(list(x = 1:2), list(x = 3L)))
  expect_identical(lists$x, list(1:2, 3L))
})

test_that("what a handler returns is one value for each request", {
  parts <- function(...) drover:::batch_parts(...)
  expect_identical(parts(c(a = 1, b = 2), 2L), list(1, 2))
  expect_identical(parts(list(NULL, "x"), 2L), list(NULL, "x"))
  expect_identical(parts(data.frame(x = 1:2, y = c("a", "b")), 2L), list(list(x = 1L, y = "a"), list(x = 2L, y = "b")))
  expect_error(parts(1:3, 2L), "batch of 2 must return 2 values, not 3 values", class = "drover_error_batch")
  expect_error(parts(data.frame(x = 1), 2L), "not 1 row", class = "drover_error_batch")
  for (none in list(NULL, mean, dr_json(1), quote(x))) {
    expect_error(parts(none, 2L), "must return 2 values", class = "drover_error_batch")
  }
})
