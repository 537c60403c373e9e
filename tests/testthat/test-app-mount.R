hello <- function(req) "hello"
paths <- function(app) vapply(drover:::app_routes(app), `[[`, "", "path")

test_that("mounted routes are looked up when the server starts, below the prefix", {
  app <- dr_get(dr_app(), "/", hello)
  api <- dr_app()
  dr_mount(app, "/api", api)
  dr_mount(app, "/v2/:tenant/", api)
  dr_get(api, "/", hello)
  dr_get(api, "/x", hello)
  expect_identical(paths(app), c("/", "/api", "/api/x", "/v2/:tenant", "/v2/:tenant/x"))
})

test_that("mounting at the root keeps paths, and nesting joins prefixes", {
  inner <- dr_get(dr_app(), "/x", hello)
  middle <- dr_mount(dr_get(dr_app(), "/", hello), "/inner", inner)
  app <- dr_mount(dr_app(), "/", middle)
  expect_identical(paths(app), c("/", "/inner/x"))
  expect_identical(paths(dr_mount(dr_app(), "/a", app)), c("/a", "/a/inner/x"))
})

test_that("static mounts are mounted too", {
  api <- dr_static(dr_app(), "/files", tempdir())
  app <- dr_mount(dr_app(), "/api", api)
  expect_identical(drover:::app_statics(app), list(list(mount = "/api/files", dir = tempdir())))
})

test_that("an app cannot become a part of itself", {
  a <- dr_app()
  b <- dr_app()
  expect_argument_error(dr_mount(a, "/a", a), "part of itself")
  dr_mount(a, "/b", b)
  expect_argument_error(dr_mount(b, "/a", a), "`app2` must not contain `app`")
})

test_that("wrong arguments are named", {
  expect_argument_error(dr_mount(1, "/a", dr_app()), "`app` must be a dr_app object")
  expect_argument_error(dr_mount(dr_app(), "/a", 1), "`app2` must be an app")
  expect_argument_error(dr_mount(dr_app(), "a", dr_app()), "`prefix`")
  expect_argument_error(dr_mount(dr_app(), 1, dr_app()), "`prefix` must be a single string")
  expect_argument_error(dr_mount(dr_app(), "/:a/:a", dr_app()), "`prefix`: duplicate path parameter names")
})
