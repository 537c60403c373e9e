# What an object is that is to be served.

test_that("apps are told from what is none", {
  app <- dr_app()
  expect_identical(dr_rook(app), app)
  for (fine in list(function(req) 1, function(...) 1, list(call = function(req) 1), function(url, query, body, headers) 1)) {
    expect_s3_class(dr_rook(fine), "dr_app")
    expect_true(drover:::is_servable(fine))
  }
  for (wrong in list(1, "x", NULL, function() 1, function(a, b) 1, list(), list(callback = identity), simpleError("x"), globalenv())) {
    expect_argument_error(dr_rook(wrong), "`app` must be an app (see dr_app()), a router of 'plumber', or an app of Shiny, httpuv", fixed = TRUE)
    expect_false(drover:::is_servable(wrong))
  }
  expect_argument_error(dr_serve(1), "`app` must be an app", fixed = TRUE)
  # those that make an app, and are none
  for (maker in list(function() dr_app(), function(config = "x") dr_app(), function(debug = FALSE, ...) dr_app())) {
    hint <- "not a function; a function that makes one has to be called, as in make_app()"
    expect_argument_error(dr_serve(maker), hint, fixed = TRUE)
    expect_argument_error(dr_get(maker, "/", identity), hint, fixed = TRUE)
  }
  for (fine in list(function(env = NULL) 1, function(req = NULL, x = 2) 1, function(...) 1)) {
    expect_s3_class(dr_rook(fine), "dr_app")
  }
})

test_that("an app that is served already is the same app again: its hooks do not run twice", {
  rook <- list(call = function(req) list(status = 200L, body = "x"))
  withr::defer(dr_stop())
  suppressMessages(dr_serve(rook, port = 0L, block = FALSE))
  expect_identical(drover:::as_app(rook), drover:::server$app)
})
