hello <- function(req) "hello"

test_that("an app becomes routes, handlers and static mounts of the same order", {
  app <- dr_app()
  dr_get(app, "/a", hello)
  dr_any(app, "/b/:id", identity)
  compiled <- drover:::compile_app(app)
  expect_identical(compiled$routes, list(
    list(methods = "GET", pattern = "/a", handler = 1L), list(methods = "ANY", pattern = "/b/:id", handler = 2L)
  ))
  expect_identical(compiled$handlers, list(hello, identity))
  expect_identical(compiled$on_error, list(NULL, NULL))
  expect_identical(compiled$static, list())
  expect_null(compiled$not_found)
})

test_that("the not-found handler is the last handler", {
  app <- dr_not_found(dr_get(dr_app(), "/a", hello), hello)
  compiled <- drover:::compile_app(app)
  expect_identical(compiled$not_found, 2L)
  expect_length(compiled$handlers, 2L)
  expect_length(compiled$on_error, 2L)
})

test_that("a placeholder that is in the prefix and in the path is found when the server starts", {
  app <- dr_mount(dr_app(), "/:id", dr_get(dr_app(), "/x/:id", hello))
  expect_argument_error(drover:::compile_app(app), "duplicate path parameter names in '/:id/x/:id'")
})
