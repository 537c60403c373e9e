# Which packages the code of an app uses.

used_by <- function(lines) {
  file <- withr::local_tempfile(fileext = ".R")
  writeLines(lines, file)
  drover:::packages_used(file)
}

test_that("packages are those that calls name, without R's own", {
  expect_identical(used_by(c(
    "library(a1); require('a2', quietly = TRUE)", "if (requireNamespace(\"a3\")) a4::f()",
    "x <- function(y = a5:::z) y[, 1]",
    "suppressMessages(library(package = a6))", "library(stats); utils::head(1); library(drover)", "loadNamespace('a1')"
  )), c("a1", "a2", "a3", "a4", "a5", "a6"))
})

test_that("what is put together when it runs, or is no code, is not found", {
  expect_identical(used_by(c("library(name, character.only = TRUE)", "requireNamespace(name)", "library()")), character())
  expect_identical(used_by("library(a"), character())
  expect_identical(used_by(character()), character())
})

test_that("code of an app is what is below its folder, without libraries", {
  folder <- withr::local_tempdir()
  for (path in c("app.R", "lib/more.r", "renv/activate.R", "notes.txt")) {
    dir.create(dirname(file.path(folder, path)), showWarnings = FALSE)
    file.create(file.path(folder, path))
  }
  expect_setequal(basename(drover:::r_files(folder)), c("app.R", "more.r"))
})
