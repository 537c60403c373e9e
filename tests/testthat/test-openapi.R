test_that("an app without anything has a description", {
  spec <- dr_openapi(dr_app())
  expect_identical(spec[c("openapi", "info")], list(openapi = "3.1.0", info = list(title = "API", version = "0.0.0")))
  expect_identical(dr_openapi(dr_app(), "yaml"), "openapi: \"3.1.0\"\ninfo:\n  title: \"API\"\n  version: \"0.0.0\"\npaths: {}\n")
  expect_identical(jsonlite::fromJSON(dr_openapi(dr_app(), "json"))$openapi, "3.1.0")
  expect_error(dr_openapi(dr_app(), "xml"), class = "drover_error_argument")
  expect_error(dr_openapi(1), class = "drover_error_argument")
})

test_that("mounted apps are described below their prefix, and hidden paths are not", {
  inner <- dr_about(dr_get(dr_get(dr_app(), "/a/<id>", identity), "/b/c", identity), "Inner", tags = c(x = "X"), hide = "/b")
  app <- dr_about(dr_get(dr_app(), "/Hidden/d", identity), "Outer", tags = c(x = "first", y = "Y"), hide = "/<any>/d")
  dr_mount(dr_mount(app, "/one/<user>", inner), "/", dr_get(dr_app(), "/e", identity))
  spec <- dr_openapi(app)
  expect_identical(names(spec$paths), c("/one/{user}/a/{id}", "/e"))
  expect_identical(vapply(spec$paths[[1L]]$get$parameters, `[[`, "", "name"), c("user", "id"))
  expect_identical(spec$info$title, "Outer")
  expect_identical(lapply(spec$tags, `[[`, "description"), list("first", "Y"))
})

test_that("WebSockets and files are left out, and C handlers are not", {
  app <- dr_app()
  dr_ws(app, "/ws", function(conn, message) NULL)
  dr_static(app, "/files", tempdir())
  app$cpp_routes <- list(list(method = "POST", path = "/score", package = "p", callable = "c"))
  app$cpp_stream_routes <- list(list(method = "GET", path = "/tokens", content_type = "text/event-stream; charset=utf-8"))
  spec <- dr_openapi(app)
  expect_identical(names(spec$paths), c("/score", "/tokens"))
  expect_identical(names(spec$paths[["/tokens"]]$get$responses[["200"]]$content), "text/event-stream")
})

test_that("a server is told of no description where nobody gets one, and why there is none", {
  served <- drover:::served_openapi
  app <- dr_get(dr_app(), "/a", identity)
  expect_match(served(app, "auto")$json, '"/a"', fixed = TRUE)
  expect_identical(served(app, "false"), drover:::no_members)
  expect_identical(served(dr_mount(dr_app(), "/", function(req) 1), "true"), drover:::no_members)
  expect_match(served(dr_mount(app, "/old", function(req) 1), "true")$json, '"/a"', fixed = TRUE)
  app$about$title <- sum
  expect_match(served(app, "auto")$problem, "^there is no description of the app at /openapi.json: ")
})

test_that("YAML says what JSON says, whatever strings are like", {
  skip_if_not_installed("yaml")
  strings <- c("a: b", "# no", "yes", "1e3", "\u2028\u0085\u007f\"\\\n", "\U1F600", "- x", "", "'", "{}", "&a *b")
  app <- dr_about(dr_app(), "x", tags = stats::setNames(strings, make.unique(paste0(strings, "#"))))
  spec <- dr_openapi(app)
  read <- yaml::yaml.load(dr_openapi(app, "yaml"))
  expect_identical(vapply(read$tags, `[[`, "", "name"), vapply(spec$tags, `[[`, "", "name"))
  expect_error(drover:::yaml_of("{"), "EOF")
})
