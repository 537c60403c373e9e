# What each worker does at its start and end, as a plumber.R says it.

hooks_of <- function(...) {
  file <- withr::local_tempfile(fileext = ".R")
  writeLines(c(...), file)
  mget(c("on_worker_start", "on_worker_stop"), envir = drover:::annotated_app(file))
}

test_that("functions below the tags and those of the names are hooks, each once", {
  none <- hooks_of("#* @get /", "function() 1", "on_worker_start <- 1")
  expect_identical(unname(lengths(none)), c(0L, 0L))
  both <- hooks_of("#* @workerStart", "function() 'a'", "#* opens it", "#* @workerStart", "b <- function() 'b'")
  expect_identical(lapply(both$on_worker_start, function(hook) hook()), list("a", "b"))
  once <- hooks_of("#* @workerStart", "#* @workerStop", "on_worker_start <- function() 'c'")
  expect_identical(lapply(once, function(hooks) hooks[[1L]]()), list(on_worker_start = "c", on_worker_stop = "c"))
  expect_identical(unname(lengths(once)), c(1L, 1L))
})

test_that("what cannot be called is named with its line", {
  expect_error(hooks_of("", "#* @workerStart", "1"), "line 3: below #* @workerStart must be a function", fixed = TRUE)
  expect_error(hooks_of("#* @workerStop", "function(x) x"), "must be a function without arguments", fixed = TRUE)
  expect_error(hooks_of("on_worker_start <- function(x) x"), "`on_worker_start` must be a function", fixed = TRUE)
})

test_that("routers have those of their files, also of mounted ones", {
  skip_if_not_installed("plumber")
  file <- withr::local_tempfile(fileext = ".R")
  writeLines(c("opened <- 0", "#* @workerStart", "function() opened <<- opened + 1", "#* @get /n", "function() opened"), file)
  pr <- plumber::pr_mount(plumber::plumb(file), "/below", plumber::plumb(file))
  server <- serve_workers(drover:::as_app(pr), c(1L, 1L))
  expect_identical(fetch(server, "/n")$text, "[1]")
  expect_identical(fetch(server, "/below/n")$text, "[1]")
})
