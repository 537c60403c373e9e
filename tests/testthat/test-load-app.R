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

test_that("the app is found whatever it is called, and whatever follows it", {
  withr::defer(suppressWarnings(rm("shop", "first", "second", "helper", envir = globalenv())))
  paths <- function(...) names(load_lines(...)$app$routes)
  one <- "drover::dr_get(drover::dr_app(), '/one', function(req) 1)"
  expect_identical(paths(paste("shop <-", one), "helper <- function(x) x"), "GET /one")
  expect_identical(paths(paste("app <-", one), "function(x) x"), "GET /one")
  expect_load_error(
    load_lines(paste("first <-", one), paste("second <-", one), "NULL"),
    "it makes several apps, `first` and `second`: end it with the one to be served, or call that `app`"
  )
  # a program that goes on beside its server, or ends it
  for (after in c("repeat later::run_now(3600)", "drover::dr_stop()", "stop('not reached')", "quit(status = 3)")) {
    expect_identical(paths(paste("shop <-", one), "drover::dr_serve(shop, block = FALSE)", after), "GET /one")
  }
  expect_identical(paths(sprintf("while (TRUE) { shop <- drover::dr_serve(%s) }", one)), "GET /one")
})

test_that("the function of Rserve is found by its name, whatever its arguments are called", {
  withr::defer(suppressWarnings(rm(".http.request", envir = globalenv())))
  for (arguments in c("path, query, body, headers", "uri, ...", "url, query, body, headers, extra = 1")) {
    loaded <- load_lines(sprintf(".http.request <- function(%s) list('x')", arguments), "helper <- function(x) x")
    expect_true(is.function(loaded$app$rest))
  }
  expect_load_error(load_lines(".http.request <- function(url) list('x')", "1"), "it makes no app")
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

test_that("routers, apps of other servers, and calls that would run them are apps", {
  answer <- function(loaded) is.function(loaded$app$rest)
  expect_true(answer(load_lines("function(req) list(status = 200L)")))
  expect_true(answer(load_lines("list(call = function(req) NULL)")))
  withr::defer(suppressWarnings(rm(".http.request", envir = globalenv())))
  expect_true(answer(load_lines(".http.request <- function(url, query, body, headers) list('x')", "invisible(1)")))
  file <- withr::local_tempfile(fileext = ".rds")
  saveRDS(function(req) list(status = 200L), file)
  withr::local_dir(tempdir())
  expect_true(answer(drover:::load_file(file)))
  expect_true(answer(drover:::load_file("drover::dr_rook(function(req) 1)")))
  expect_load_error(drover:::load_file("no.such.package::app()"), "there is no package called")
  expect_load_error(drover:::load_file("stop('not today')"), "not today")
  saveRDS(1, file)
  expect_load_error(drover:::load_file(file), "it gives 1, which is no app")
})

test_that("a plumber file is plumbed, and what is wrong with it is said with its line", {
  skip_if_not_installed("plumber")
  withr::local_dir(tempdir())
  expect_true(drover:::is_plumber(load_lines("#* @get /x", "function() 1")$app$source))
  expect_load_error(load_lines("#* @get /x", "function() 1", "", "stop('not today')"), "line 4: not today")
  expect_load_error(load_lines("#* @get /x", "function() 1", "library(no.such.package)"), "line 3: there is no package called")
  expect_load_error(load_lines("#* @get /x", "function( {"), "line 2, column 11: unexpected '{'")
  expect_load_error(load_lines("1", "#* @get", "function() 1"), "line 2: #* @get No path specified.")
  expect_message(load_lines("#* @get /x", "function() 1", "as.integer('x')"), "line 3: NAs introduced")
})

test_that("who works on a file is told of the calls that led to an error, with their lines", {
  withr::local_options(keep.source = FALSE)
  loading <- drover:::loading
  drover:::trace_loading()
  withr::defer(loading$trace <- FALSE)
  message <- function(...) conditionMessage(tryCatch(load_lines(...), error = identity))
  lines <- strsplit(message("f <- function(x) {", "  g(x)", "}", "g <- function(x) stop('wrong ', x)", "f(3)"), "\n")[[1L]]
  expect_identical(lines[[1L]], "line 5: wrong 3 in g(x)")
  expect_match(lines[[2L]], "^f\\(3\\) at .*\\.R:5$")
  expect_match(lines[[3L]], "^g\\(x\\) at .*\\.R:2$")
  expect_length(lines, 3L)
  source <- withr::local_tempfile(fileext = ".R")
  writeLines(c("h <- function() {", "  k()", "}", "k <- function() stop('deep')", "h()"), source)
  lines <- strsplit(message(sprintf("source('%s')", source)), "\n")[[1L]]
  expect_match(lines, paste0("k\\(\\) at ", basename(source), ":2"), all = FALSE)
  # an error on the line itself needs no more
  expect_match(message("1", "log('a')"), "^line 2: non-numeric .*\nlog\\(\"a\"\\) at [^\n]*:2$")
  # a connection of the file
  expect_match(message("file('/none/x', 'r')"), "^line 1: cannot open")
})
