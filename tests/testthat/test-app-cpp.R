# Registration only: a function that is registered for C but never called will do, and `later` has one.
callable <- "execLaterNative2"
hello <- function(req) "hello"

test_that("each function registers names for its method", {
  app <- dr_app()
  expect_identical(withVisible(dr_get_cpp(app, "/x", "later", callable)), list(value = app, visible = FALSE))
  dr_post_cpp(app, "/x", "later", callable)
  dr_put_cpp(app, "/x", "later", callable)
  dr_delete_cpp(app, "/x", "later", callable)
  dr_patch_cpp(app, "/x", "later", callable)
  expect_named(app$cpp_routes, paste(c("GET", "POST", "PUT", "DELETE", "PATCH"), "/x"))
  expect_identical(app$cpp_routes[["PUT /x"]], list(
    method = "PUT", path = "/x", param_names = character(), package = "later", callable = callable,
    interface = "drogonR", inline = FALSE, data = NULL
  ))
  expect_length(app$routes, 0L)
})

test_that("streams are registered apart, with their content type", {
  app <- dr_app()
  dr_get_cpp_stream(app, "/x/:id", "later", callable)
  dr_post_cpp_stream(app, "/x", "later", callable, "application/x-ndjson", timeout = 3)
  expect_identical(app$cpp_stream_routes, list(
    "GET /x/:id" = list(
      method = "GET", path = "/x/:id", param_names = "id", package = "later", callable = callable,
      content_type = "text/event-stream"
    ),
    "POST /x" = list(
      method = "POST", path = "/x", param_names = character(), package = "later", callable = callable,
      content_type = "application/x-ndjson", timeout = 3
    )
  ))
  expect_length(app$cpp_routes, 0L)
})

test_that("the same method and path again replaces the handler with a warning", {
  app <- dr_get_cpp(dr_app(), "/x", "later", callable)
  overwriting <- function(code) {
    expect_warning(code, "overwriting existing route GET /x", class = "drover_warning_overwrite")
  }
  overwriting(dr_get_cpp(app, "/x", "later", callable, inline = TRUE))
  expect_true(app$cpp_routes[["GET /x"]]$inline)
  # whoever runs it
  overwriting(dr_get_cpp_stream(app, "/x", "later", callable))
  expect_length(app$cpp_routes, 0L)
  overwriting(dr_get(app, "/x", hello))
  expect_length(app$cpp_stream_routes, 0L)
  expect_silent(dr_post_cpp(app, "/x", "later", callable))
  overwriting(dr_get_cpp(app, "/x", "later", callable))
  expect_length(app$routes, 0L)
  expect_named(app$cpp_routes, c("POST /x", "GET /x"))
})

test_that("the interface of a handler is the one that it was registered with", {
  local_handlers()
  app <- dr_app()
  interface_of <- function(...) dr_get_cpp(dr_app(), "/x", "drover.handlers", ...)$cpp_routes[[1L]]$interface
  expect_identical(interface_of("h_text"), "drover")
  expect_identical(interface_of("h_text", interface = "drover", data = "x"), "drover")
  expect_identical(interface_of("old_echo"), "drogonR")
  wrong <- "drover.handlers registers h_text by DROVER_REGISTER(), as a handler of drover's interface"
  expect_argument_error(interface_of("h_text", interface = "drogonR"), wrong, fixed = TRUE)
  expect_argument_error(dr_get_cpp_stream(app, "/x", "drover.handlers", "h_text"), wrong, fixed = TRUE)
  expect_argument_error(interface_of("old_echo", data = "x"), "`data` must be NULL: a handler of drogonR's interface")
  expect_length(app$cpp_stream_routes, 0L)
})

test_that("a package that is not there and a function that it does not have are named", {
  app <- dr_app()
  expect_argument_error(dr_get_cpp(app, "/x", "no.such.package", "f"), "package 'no.such.package' is not installed")
  expect_argument_error(
    dr_get_cpp(app, "/x", "stats", "f"),
    paste0(
      "^R_GetCCallable\\(\"stats\", \"f\"\\) failed: .*; the package must call ",
      "DROVER_REGISTER\\(\"stats\", \"f\", ...\\) in its R_init_stats\\(\\), or R_RegisterCCallable\\(\\)"
    )
  )
  expect_argument_error(dr_post_cpp_stream(app, "/x", "stats", "f"), "R_GetCCallable(\"stats\", \"f\") failed", fixed = TRUE)
  expect_identical(error_of(dr_get_cpp(app, "/x", "stats", "f"))$call, quote(dr_get_cpp(app, "/x", "stats", "f")))
  expect_identical(error_of(dr_get_cpp(app, "/x", "stats", "f"))$argument, "callable")
  expect_length(app$cpp_routes, 0L)
})

test_that("a package that cannot be loaded is named, with the reason", {
  library <- withr::local_tempdir()
  source <- withr::local_tempdir()
  writeLines(c("Package: brokenhandlers", "Version: 1.0"), file.path(source, "DESCRIPTION"))
  file.create(file.path(source, "NAMESPACE"))
  dir.create(file.path(source, "R"))
  writeLines(".onLoad <- function(...) stop('the model is missing')", file.path(source, "R", "load.R"))
  installed <- processx::run(
    file.path(R.home("bin"), "R"), c("CMD", "INSTALL", "--no-test-load", "-l", library, source),
    error_on_status = FALSE
  )
  expect_identical(installed$status, 0L)
  withr::local_libpaths(library, action = "prefix")
  expect_argument_error(
    dr_get_cpp(dr_app(), "/x", "brokenhandlers", "f"),
    "package 'brokenhandlers' cannot be loaded: .*the model is missing"
  )
})

test_that("wrong arguments are named", {
  app <- dr_app()
  expect_argument_error(dr_get_cpp(1, "/x", "later", callable), "`app` must be a dr_app object")
  expect_argument_error(dr_get_cpp(app, "x", "later", callable), "`path`: .*start with '/'")
  expect_argument_error(dr_get_cpp(app, "/:a/:a", "later", callable), "duplicate path parameter names")
  for (wrong in list(NULL, NA_character_, 1, c("a", "b"))) {
    expect_argument_error(dr_get_cpp(app, "/x", wrong, callable), "`package` must be a single string")
    expect_argument_error(dr_get_cpp(app, "/x", "later", wrong), "`callable` must be a single string")
  }
  expect_argument_error(dr_get_cpp(app, "/x", "", callable), "`package` must be a name")
  expect_argument_error(dr_get_cpp(app, "/x", "later", callable, TRUE), "`...` takes arguments by name", fixed = TRUE)
  for (wrong in list("C", NA, 1, c("drover", "drogonR"))) {
    expect_argument_error(
      dr_get_cpp(app, "/x", "later", callable, interface = wrong), "`interface` must be NULL, \"drover\" or \"drogonR\""
    )
  }
  for (wrong in list("yes", NA, 1, NULL)) {
    expect_argument_error(dr_get_cpp(app, "/x", "later", callable, inline = wrong), "`inline` must be TRUE or FALSE")
  }
  expect_argument_error(
    dr_get_cpp(app, "/x", "later", callable, timeout = -1), "`timeout` must be a single number of seconds >= 0"
  )
  for (wrong in list("", NA_character_, NULL, "text/plain\r\nX: y", c("a", "b"))) {
    expect_argument_error(dr_get_cpp_stream(app, "/x", "later", callable, wrong), "`content_type` must be a")
  }
  expect_argument_error(dr_get_cpp_stream(app, "/x", "later", callable, inline = TRUE), "`inline` is not an argument")
  expect_length(c(app$cpp_routes, app$cpp_stream_routes), 0L)
})

test_that("`data` is for the interface that has an argument for it, and of a kind that C can use", {
  register <- function(data, interface = "drover") {
    dr_get_cpp(dr_app(), "/x", "later", callable, interface = interface, data = data)$cpp_routes[[1L]]$data
  }
  live <- drover:::resolve_callable("later", callable, NULL, NULL)$pointer
  for (right in list(NULL, live, as.raw(1:3), "model", function() NULL, function(size = 3) "x", getwd)) {
    expect_identical(register(right), right)
  }
  expect_argument_error(register("model", "drogonR"), "`data` must be NULL: a handler of drogonR's interface")
  expect_argument_error(register(1), "`data` must be NULL, an external pointer, a raw vector, a single string, or a func")
  expect_argument_error(register(list()), "`data` must be")
  expect_argument_error(register(c("a", "b")), "`data` must be")
  expect_argument_error(register(function(req) "x"), "`data` must be a function that can be called without arguments")
  expect_argument_error(register(unserialize(serialize(live, NULL))), "`data` points to nothing")
})

test_that("an app prints its C routes after those in R", {
  api <- dr_get_cpp(dr_app(), "/fast", "later", callable, inline = TRUE)
  app <- dr_get_cpp_stream(dr_app(), "/tokens", "later", callable)
  dr_post_cpp(app, "/score", "later", callable)
  dr_mount(app, "/api", api)
  dr_get(app, "/", hello)
  expect_equal(format(app), c(
    "<dr_app> 4 routes, 0 static mounts, not serving",
    "  GET   /",
    "  POST  /score     C: later::execLaterNative2",
    "  GET   /api/fast  C: later::execLaterNative2 [inline]",
    "  GET   /tokens    C: later::execLaterNative2 [stream]"
  ))
})
