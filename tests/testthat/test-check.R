test_that("what was given instead is told in a few words", {
  describe <- drover:::describe
  expect_identical(describe(NULL), "NULL")
  expect_identical(describe(identity), "a function")
  expect_identical(describe(new.env()), "an environment")
  expect_identical(describe(factor("a")), "an object of class 'factor'")
  expect_identical(describe(list(1)), "an unnamed list")
  expect_identical(describe(list(a = 1)), "a named list")
  expect_identical(describe(quote(x)), "an object of type 'symbol'")
  expect_identical(describe(1:3), "a numeric vector of length 3")
  expect_identical(describe(character()), "a character vector of length 0")
  expect_identical(describe(NA), "NA")
  expect_identical(describe("a\nb"), "\"a\\nb\"")
  expect_identical(describe(TRUE), "TRUE")
  expect_lt(nchar(describe(strrep("x", 1e6))), 100)
})

test_that("functions of the wrong shape are found when they are registered", {
  app <- dr_app()
  for (fine in list(function() 1, function(req) 1, function(request, x = 2) 1, function(...) 1, Sys.time, identity, sum)) {
    expect_silent(dr_get(dr_app(), "/", fine))
  }
  expect_argument_error(
    dr_get(app, "/", function(req, res) 1),
    "`handler` must be a function of one argument, the request, or of none, not function(req, res); what it returns",
    fixed = TRUE
  )
  expect_argument_error(dr_not_found(app, function(a, b) 1), "not function(a, b)", fixed = TRUE)
  expect_argument_error(dr_use(app, function(req) 1), "two arguments, the request and `nxt`, not function(req)", fixed = TRUE)
  expect_silent(dr_use(dr_app(), function(req, nxt, ...) nxt()))
  expect_argument_error(dr_on_error(app, function(e) 1), "two arguments, the request and the error, not function(e)", fixed = TRUE)
  for (hook in list(dr_on_start, dr_on_stop, dr_on_worker_start, dr_on_worker_stop)) {
    expect_argument_error(hook(app, function(app) 1), "`fn` must be a function of no arguments, not function(app)", fixed = TRUE)
    expect_silent(hook(dr_app(), function(now = Sys.time()) 1))
  }
  expect_argument_error(
    dr_serve(dr_get(app, "/", function() 1), port = 0, on_worker_start = function(x) 1), "`on_worker_start` must be a function"
  )
})
