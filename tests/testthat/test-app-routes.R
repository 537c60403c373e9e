hello <- function(req) "hello"

test_that("each function registers for its method", {
  app <- dr_app()
  dr_get(app, "/x", hello)
  dr_post(app, "/x", hello)
  dr_put(app, "/x", hello)
  dr_delete(app, "/x", hello)
  dr_patch(app, "/x", hello)
  dr_head(app, "/x", hello)
  dr_options(app, "/x", hello)
  dr_any(app, "/x", hello)
  expect_named(app$routes, paste(c("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "ANY"), "/x"))
  expect_identical(
    app$routes[["PUT /x"]], list(method = "PUT", path = "/x", param_names = character(), handler = hello)
  )
})

test_that("dr_route() registers for several methods", {
  app <- dr_app()
  expect_identical(withVisible(dr_route(app, c("get", "PUT", "GET"), "/x", hello)), list(value = app, visible = FALSE))
  expect_named(app$routes, c("GET /x", "PUT /x"))
  for (wrong in list("", character(), NA, 1, "GET POST", "TRACE", "BREW", c("GET", NA))) {
    expect_argument_error(dr_route(app, wrong, "/x", hello), "`methods` must be a character vector of methods out of")
  }
})

test_that("placeholders of all syntaxes are names of params", {
  app <- dr_app()
  dr_get(app, "/a/:one/<two>/{three}/<four:int>/*rest", hello)
  expect_identical(app$routes[[1]]$param_names, c("one", "two", "three", "four", "rest"))
})

test_that("the same method and path again replaces the handler with a warning", {
  app <- dr_get(dr_app(), "/x", hello)
  other <- function(req) "other"
  expect_warning(dr_get(app, "/x", other), "overwriting existing route GET /x", class = "drover_warning_overwrite")
  expect_identical(app$routes[["GET /x"]]$handler, other)
  expect_length(app$routes, 1L)
  expect_silent(dr_post(app, "/x", hello))
})

test_that("wrong arguments are named", {
  app <- dr_app()
  expect_argument_error(dr_get(1, "/x", hello), "`app` must be a dr_app object \\(see dr_app\\(\\)\\), not 1")
  expect_argument_error(
    dr_get(app, c("/x", "/y"), hello), "`path` must be a single string, not a character vector of length 2"
  )
  expect_argument_error(dr_get(app, NA_character_, hello), "`path` must be a single string, not NA")
  expect_argument_error(dr_get(app, 1, hello), "`path` must be a single string, not 1")
  expect_argument_error(dr_get(app, "x", hello), "`path`: .*start with '/'")
  expect_argument_error(dr_get(app, "/<id:date>", hello), "`path`: .*'date'")
  expect_argument_error(dr_get(app, "/x", "hello"), "`handler` must be a function, not \"hello\"")
  expect_argument_error(dr_get(app, "/:a/{a}", hello), "duplicate path parameter names in '/:a/{a}'", fixed = TRUE)
  expect_identical(error_of(dr_get(app, "/x", 1))$argument, "handler")
  expect_identical(error_of(dr_get(app, "/x", 1))$call, quote(dr_get(app, "/x", 1)))
  expect_length(app$routes, 0L)
})

test_that("on_client_gone of a route is checked and reaches the engine", {
  app <- dr_app()
  for (wrong in list("stop", NA_character_, TRUE, c("finish", "interrupt"))) {
    expect_error(dr_get(app, "/", identity, on_client_gone = wrong), "`on_client_gone` must be \"finish\", \"interrupt\" or NULL",
      class = "drover_error_argument")
  }
  dr_get(app, "/a", identity, on_client_gone = "finish")
  dr_route(app, "PUT", "/b", identity, timeout = 3)
  routes <- compile_app(app)$routes
  expect_identical(routes[[1L]]$on_client_gone, "finish")
  expect_null(routes[[1L]]$timeout)
  expect_null(routes[[2L]]$on_client_gone)
  expect_identical(routes[[2L]]$timeout, 3)
  expect_error(dr_serve(app, on_client_gone = "no"), "`on_client_gone`", class = "drover_error_argument")
})

test_that("early_hints of a route is a list for the engine, even of one", {
  link <- "</app.css>; rel=preload; as=style"
  app <- dr_app()
  dr_get(app, "/a", identity, early_hints = link)
  dr_route(app, "PUT", "/b", identity)
  dr_get_cpp(app, "/c", "later", "execLaterNative2", early_hints = c(link, link))
  routes <- compile_app(dr_mount(dr_app(), "/", app))$routes
  expect_identical(lapply(routes, `[[`, "early_hints"), list(list(link), NULL, list(link, link)))
})
