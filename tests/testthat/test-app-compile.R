hello <- function(req) "hello"

test_that("an app becomes routes, handlers and static mounts of the same order", {
  app <- dr_app()
  dr_get(app, "/a", hello)
  dr_any(app, "/b/:id", identity)
  compiled <- drover:::compile_app(app)
  expect_identical(compiled$routes, list(
    list(methods = "GET", pattern = "/a", handler = 1L, runs = "r"),
    list(methods = "ANY", pattern = "/b/:id", handler = 2L, runs = "r")
  ))
  expect_identical(compiled$handlers, list(hello, identity))
  expect_identical(compiled$on_error, list(NULL, NULL))
  expect_identical(compiled$static, list())
  expect_null(compiled$not_found)
})

test_that("C routes come after all routes in R, streams last, wherever they are mounted", {
  callable <- "execLaterNative2"
  api <- dr_get(dr_app(), "/r", hello)
  dr_post_cpp(api, "/c/:id", "later", callable, inline = TRUE, timeout = 2)
  dr_use(api, function(req, nxt) nxt())
  app <- dr_get_cpp_stream(dr_app(), "/s", "later", callable)
  dr_mount(app, "/api/:tenant", api)
  dr_get_cpp(app, "/f", "later", callable, interface = "drover", data = "x")
  dr_get(app, "/", hello)
  compiled <- drover:::compile_app(app)
  expect_identical(compiled$routes, list(
    list(methods = "GET", pattern = "/", handler = 1L, runs = "r"),
    list(methods = "GET", pattern = "/api/:tenant/r", handler = 2L, runs = "r"),
    list(methods = "GET", pattern = "/f", handler = 1L, runs = "pool"),
    list(methods = "POST", pattern = "/api/:tenant/c/:id", handler = 2L, runs = "inline", timeout = 2),
    list(methods = "GET", pattern = "/s", handler = 3L, runs = "pool")
  ))
  expect_length(compiled$handlers, 2L)
  expect_identical(lapply(compiled$natives, `[[`, "params"), list(character(), c("tenant", "id"), character()))
  expect_identical(vapply(compiled$natives, `[[`, "", "interface"), c("drover", "unary", "stream"))
  expect_identical(
    vapply(compiled$natives, `[[`, "", "route"), c("GET /f", "POST /api/:tenant/c/:id", "GET /s")
  )
  expect_identical(compiled$counts, c(routes = 2L, cpp_routes = 2L, cpp_stream_routes = 1L, static = 0L))
  expect_identical(
    drover:::handler_names(compiled$routes, 2L), c("GET /", "GET /api/:tenant/r")
  )
})

test_that("the placeholders of a C route and its prefix must differ", {
  api <- dr_get_cpp(dr_app(), "/x/:id", "later", "execLaterNative2")
  app <- dr_mount(dr_app(), "/:id", api)
  expect_argument_error(drover:::compile_app(app), "duplicate path parameter names in '/:id/x/:id'")
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

test_that("routes and static mounts that can never be reached give a warning", {
  hidden <- function(app, pattern) {
    expect_warning(drover:::compile_app(app), pattern, class = "drover_warning_unreachable", fixed = TRUE)
  }
  app <- dr_get(dr_app(), "/z/:a", hello)
  dr_post(app, "/z/:b", hello)
  expect_silent(drover:::compile_app(app))
  dr_get(app, "/z/me", hello)
  hidden(app, "route GET /z/me is never reached: route GET /z/:a goes before it and matches all its paths")

  # whoever runs it, and wherever it is mounted
  app <- dr_get(dr_app(), "/z/:b", hello)
  dr_get_cpp(app, "/z/<n:int>", "later", "execLaterNative2")
  hidden(app, "route GET /z/<n:int> is never reached")
  app <- dr_any(dr_app(), "/api/*rest", hello)
  expect_silent(drover:::compile_app(app))
  dr_mount(app, "/api", dr_get(dr_app(), "/x", hello))
  hidden(app, "route GET /api/x is never reached: route ANY /api/*rest goes")
  app <- dr_get(dr_app(), "/files/*rest", hello)
  dr_static(app, "/files", tempdir())
  hidden(app, "static mount /files is never reached: route GET /files/*rest goes")

  # a route for one method hides none for all
  app <- dr_get(dr_app(), "/x", hello)
  dr_any(app, "/x", hello)
  dr_get(app, "/files/a", hello)
  dr_static(app, "/files", tempdir())
  expect_silent(drover:::compile_app(app))
})

test_that("a path with a query gives a warning when it is registered", {
  expect_warning(dr_get(dr_app(), "/a?x=1", hello), "fields of the query are in req$query",
    class = "drover_warning_unreachable", fixed = TRUE)
})
