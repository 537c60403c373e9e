# What a file may look like that is loaded as an app; evaluated here, as in the process that loads it.

load_lines <- function(...) {
  file <- tempfile(fileext = ".R")
  on.exit({
    unlink(file)
    suppressWarnings(rm("app", envir = globalenv()))
  })
  writeLines(as.character(c(...)), file)
  drover:::load_file(file)
}

expect_load_error <- function(code, pattern) {
  testthat::expect_error(code, pattern, fixed = TRUE, class = "drover_error_load")
}

test_that("the app is what dr_serve() was given, the last value, or the variable `app`", {
  one <- "drover::dr_get(drover::dr_app(), '/one', function(req) 1)"
  paths <- function(loaded) names(loaded$app$routes)
  expect_identical(paths(load_lines(one)), "GET /one")
  expect_identical(paths(load_lines(paste("app <-", one), "NULL")), "GET /one")
  expect_identical(paths(load_lines("app <- drover::dr_app()", one)), "GET /one")
  hook <- "function() 'hook'"
  expect_message(
    loaded <- load_lines(
      "app <- drover::dr_app()",
      sprintf("drover::dr_serve(%s, port = 1, block = TRUE, on_worker_start = %s)", one, hook), "app"
    ),
    "these are not used: `port`; the settings are those that the server was started with", fixed = TRUE
  )
  expect_identical(paths(loaded), "GET /one")
  expect_identical(loaded$on_worker_start(), "hook")
  expect_false(drover:::is_loading())
})

test_that("what is wrong is said with its line", {
  expect_load_error(load_lines("1", "x <- )"), "line 2, column 6: unexpected ')'")
  expect_load_error(load_lines("# \u00e9", "", "no_such()"), "line 3: could not find function \"no_such\"")
  expect_load_error(
    load_lines("f <- function(x) {", "  stop('wrong ', x)", "}", "f(3)"), "line 4: wrong 3 in f(3)"
  )
  expect_load_error(load_lines("1", "drover::dr_get(1, '/', 2)"), "line 2: `app` must be a dr_app object")
  expect_load_error(load_lines("1"), "it makes no app")
  expect_load_error(load_lines(), "it makes no app")
  expect_load_error(drover:::load_file(tempfile()), "it cannot be read")
  expect_load_error(load_lines("app <- list()"), "it makes no app")
})
