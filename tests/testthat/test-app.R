hello <- function(req) "hello"

test_that("an app is an environment that registrars change in place and return invisibly", {
  app <- dr_app()
  expect_s3_class(app, "dr_app")
  expect_true(is.environment(app))
  expect_identical(withVisible(dr_get(app, "/x", hello)), list(value = app, visible = FALSE))
  expect_named(app$routes, "GET /x")
})

test_that("an app is printed as its route table", {
  app <- dr_app()
  expect_equal(format(app), "<dr_app> 0 routes, 0 static mounts, not serving")

  dr_get(app, "/", hello)
  dr_delete(app, "/users/:id", hello)
  dr_on_error(app, function(req, err) "oops")
  folder <- tempdir()
  dr_static(app, "/files/", folder)
  api <- dr_app()
  dr_use(api, function(req, nxt) nxt())
  dr_any(api, "/*rest", hello)
  dr_mount(app, "/api/", api)
  expect_equal(format(app), c(
    "<dr_app> 3 routes, 1 static mount, not serving",
    "  GET     /",
    "  DELETE  /users/:id",
    "  ANY     /api/*rest  [1 middleware]",
    paste("  static  /files      from", folder),
    "  with error handler"
  ))
  expect_output(print(app), "ANY     /api/*rest", fixed = TRUE)
})
