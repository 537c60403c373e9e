# The life of a server: in an idle session, in a blocking one, stopped from outside and from inside.
test_that("an idle session serves while it runs later's callbacks, again and again", {
  app <- dr_get(dr_app(), "/x", function(req) "hello")
  withr::defer(dr_stop())
  for (i in 1:2) {
    suppressMessages(dr_serve(app, port = 0L, block = FALSE))
    curl <- processx::process$new("curl", c("--silent", "--max-time", patience(), paste0(dr_url(), "/x")), stdout = "|")
    while (curl$is_alive()) later::run_now(0.05)
    expect_identical(curl$read_all_output(), "hello")
    dr_stop()
  }
})

test_that("an interrupt ends a blocking server without noise, after its stop hooks", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/", function(req) "x")
    dr_on_stop(app, function() message("stop hook ran"))
  })
  expect_identical(http(server, "/")$body, "x")
  tools::pskill(server$process$get_pid(), tools::SIGINT)
  server$process$wait(1000 * patience())
  expect_false(server$process$is_alive())
  expect_identical(server$process$get_exit_status(), 0L)
  log <- server$log()
  expect_true("stop hook ran" %in% log)
  expect_false(any(grepl("Error|halted", log)))
})

test_that("dr_stop() in a handler ends a blocking server, after the answer", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/stop", function(req) {
      dr_stop()
      "stopping"
    })
  })
  expect_identical(http(server, "/stop")$body, "stopping")
  server$process$wait(1000 * patience())
  expect_identical(server$process$get_exit_status(), 0L)
})

test_that("a file gets the log when asked to", {
  file <- withr::local_tempfile(fileext = ".log")
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/fail", function(req) stop("reason"))
  }, log = file)
  expect_identical(http(server, "/fail")$status, 500L)
  expect_true(within(function() any(grepl("GET /fail 500", suppressWarnings(readLines(file))))))
  expect_match(readLines(file), "reason", all = FALSE)
  expect_false(any(grepl("reason", server$log())))
})
