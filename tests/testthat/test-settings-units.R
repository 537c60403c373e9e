test_that("sizes and times are numbers or strings with units, as for the program", {
  expect_identical(drover:::as_bytes("10MB"), 1e7)
  expect_identical(drover:::as_bytes("64 KiB"), 65536)
  expect_identical(drover:::as_seconds("500ms"), 0.5)
  expect_identical(drover:::as_seconds(" 2m "), 120)
  for (other in list(3, "10 parsecs", NULL, NA_character_, c("1s", "2s"))) {
    expect_identical(drover:::as_seconds(other), other)
  }
})

test_that("a server takes them, and so do routes and dr_stop()", {
  server <- local_server({
    app <- dr_app()
    dr_post(app, "/", function(req) "ok")
    dr_get(app, "/late", function(req) stand_at("late"), timeout = "200ms")
  }, max_body = "2kB", keep_alive = "1m", workers = 2L)
  expect_identical(http(server, "/", "-d", strrep("x", 2000))$status, 200L)
  expect_identical(http(server, "/", "-d", strrep("x", 2001))$status, 413L)
  expect_identical(http(server, "/late")$status, 504L)
  expect_null(dr_stop("1s"))
})

test_that("what is no size or time is refused with what would be right", {
  app <- dr_get(dr_app(), "/", function() "x")
  expect_error(dr_serve(app, max_body = "10 bananas"), class = "drover_error_argument",
    regexp = "`max_body` must be a single integer >= 0, or a size such as \"10MB\", .*, not \"10 bananas\"")
  expect_error(dr_serve(app, timeout = "10MB"), class = "drover_error_argument",
    regexp = "`timeout` must be a single number of seconds .*, or a time such as \"500ms\", .*, not \"10MB\"")
  expect_error(dr_run(tempfile()), class = "drover_error_argument")
  expect_error(dr_get(app, "/x", function() 1, timeout = "soon"), "`timeout` must be", class = "drover_error_argument")
  expect_error(dr_serve(app, workers = "many"), "or \"auto\", not \"many\"", class = "drover_error_argument")
})

test_that("workers = \"auto\" is one for each processor that the session may use, and more", {
  workers <- drover:::check_setting("workers", "auto", NULL)
  expect_identical(workers, c(as.integer(system2("nproc", stdout = TRUE)), 0L))
  expect_identical(drover:::workers_text(workers), "auto")
  expect_identical(drover:::workers_text(c(1, 3)), "1-3")
  expect_error(dr_serve(dr_app(), workers = c(2, 0)), "`workers` must be", class = "drover_error_argument")
})
