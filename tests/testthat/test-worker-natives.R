# C handlers as the engine takes them. Of functions that are registered for C, `later` has one; it is never called.
callable <- "execLaterNative2"

natives_of <- function(...) {
  app <- dr_app()
  for (data in list(...)) {
    dr_get_cpp(app, paste0("/", length(app$cpp_routes)), "later", callable, interface = "drover", data = data)
  }
  drover:::natives_for_engine(drover:::compile_app(app))
}

test_that("names become addresses", {
  app <- dr_get_cpp(dr_app(), "/x/:id/<n:int>", "later", callable)
  dr_get_cpp_stream(app, "/y", "later", callable, "text/plain")
  natives <- drover:::natives_for_engine(drover:::compile_app(app))
  expect_length(natives, 2L)
  expect_identical(natives[[1L]]$pointer, drover:::resolve_callable("later", callable, NULL, NULL)$pointer)
  expect_identical(natives[[1L]][-1L], list(
    interface = "unary", data = NULL, content_type = "", params = c("id", "n"), route = "GET /x/:id/<n:int>"
  ))
  expect_identical(natives[[2L]][-1L], list(
    interface = "stream", data = NULL, content_type = "text/plain", params = character(), route = "GET /y"
  ))
})

test_that("an app that has been saved resolves its handlers anew", {
  app <- dr_get_cpp(dr_app(), "/x", "later", callable, interface = "drover", data = function() as.raw(7))
  app <- unserialize(serialize(app, NULL))
  natives <- drover:::natives_for_engine(drover:::compile_app(app))
  expect_true(.Call(drover:::C_pointer_is_live, natives[[1L]]$pointer))
  expect_identical(natives[[1L]]$data, as.raw(7))
})

test_that("data is bytes or a pointer, and functions that make it are called when a process starts", {
  live <- drover:::resolve_callable("later", callable, NULL, NULL)$pointer
  calls <- 0L
  make <- function() {
    calls <<- calls + 1L
    "m\u00f6del"
  }
  natives <- natives_of(NULL, live, as.raw(1:3), "a", make, make, function() live, function() NULL)
  data <- lapply(natives, `[[`, "data")
  bytes <- charToRaw(enc2utf8("m\u00f6del"))
  expect_identical(data, list(NULL, live, as.raw(1:3), charToRaw("a"), bytes, bytes, live, NULL))
  # one model, however many routes have it
  expect_identical(calls, 1L)
})

test_that("what goes wrong names the route", {
  failing <- error_of(natives_of(function() stop("no such file")))
  expect_s3_class(failing, "drover_error_hook")
  expect_identical(conditionMessage(failing), "C handler of GET /0: `data` failed: no such file")
  expect_identical(conditionMessage(failing$parent), "no such file")
  expect_argument_error(
    natives_of(NULL, function() list(1)),
    "C handler of GET /1: `data` must return NULL, an external pointer, a raw vector or a single string, not an unnamed list"
  )
  dead <- unserialize(serialize(drover:::resolve_callable("later", callable, NULL, NULL)$pointer, NULL))
  expect_argument_error(natives_of(function() dead), "C handler of GET /0: `data` points to nothing")
  compiled <- drover:::compile_app(dr_get_cpp(dr_app(), "/x", "later", callable))
  compiled$natives[[1L]]$package <- "no.such.package"
  expect_argument_error(
    drover:::natives_for_engine(compiled), "C handler of GET /x: package 'no.such.package' is not installed"
  )
})
