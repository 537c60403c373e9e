# What a file is, told by its name and contents. That each kind serves: test-load-app.R.

local_files <- function(..., frame = parent.frame()) {
  folder <- withr::local_tempdir(.local_envir = frame)
  files <- list(...)
  for (name in names(files)) writeLines(files[[name]], file.path(folder, name))
  folder
}

kind_in <- function(folder, file = NULL, kind = "auto") {
  found <- drover:::find_app(if (is.null(file)) folder else file.path(folder, file), kind)
  c(found$kind, basename(found$path))
}

expect_load_error <- function(code, pattern) {
  testthat::expect_error(code, pattern, fixed = TRUE, class = "drover_error_load")
}

test_that("a folder has its app in a file of a known name, in one order", {
  expect_identical(kind_in(local_files(plumber.R = "#* @get /", app.R = "1")), c("plumber", "plumber.R"))
  expect_identical(kind_in(local_files(Plumber.r = "#* @get /", entrypoint.r = "1")), c("script", "entrypoint.r"))
  expect_identical(kind_in(local_files(app.R = "1", other.R = "2")), c("script", "app.R"))
  expect_load_error(kind_in(local_files(other.R = "2")), "looked for _server.yml, _server.yaml, entrypoint.R, plumber.R, app.R, server.R, index.Rmd; found other.R")
  expect_load_error(kind_in(local_files()), "it is empty")
})

test_that("an app of Shiny is told by its functions, unless the file serves it by itself", {
  shiny <- c("library(shiny)", "shinyApp(ui, server)")
  expect_identical(kind_in(local_files(app.R = shiny)), c("shiny", "app.R"))
  expect_identical(kind_in(local_files(ui.R = "1", server.R = "2")), c("shiny", "server.R"))
  expect_identical(kind_in(local_files(ui.R = "1", server.R = "2"), "ui.R"), c("shiny", "ui.R"))
  for (own in c("runApp(app)", "dr_serve(app)")) {
    expect_identical(kind_in(local_files(app.R = c(shiny, own))), c("script", "app.R"))
  }
  expect_identical(kind_in(local_files(app.R = "# shinyApp(ui, server)")), c("script", "app.R"))
})

test_that("the engine of _server.yml decides", {
  yml <- "_server.yml"
  expect_identical(
    kind_in(local_files("_server.yml" = c("engine: plumber", "options:", "  file: x"), plumber.R = "#* @get /")), c("plumber", "plumber.R")
  )
  folder <- local_files("_server.yml" = c("# mine", "engine: \"drover\"  # here", "file: api.R"), api.R = "1", plumber.R = "#* @get /")
  expect_identical(kind_in(folder), c("script", "api.R"))
  expect_identical(kind_in(folder, yml), c("script", "api.R"))
  expect_load_error(kind_in(local_files("_server.yml" = "engine: other")), "is for the engine other, which is not served")
  expect_load_error(kind_in(local_files("_server.yml" = "x: 1")), "has no `engine`")
  expect_load_error(kind_in(local_files("_server.yml" = "engine: plumber")), "there is no entrypoint.R, plumber.R, app.R, server.R, index.Rmd beside it")
})

test_that("_server.yml of plumber2 is told what it names, what is missing, and how to go on", {
  skip_if(requireNamespace("plumber2", quietly = TRUE), "plumber2 is installed")
  problem <- function(yml, ...) {
    error <- expect_error(kind_in(local_files("_server.yml" = yml, ...)), class = "drover_error_load")
    conditionMessage(error)
  }
  text <- problem(
    c("engine: plumber2", "routes:", "- a.R  # first", "- 'b c.R'", "constructor: make.R", "options:", "  port: 1"),
    a.R = "#* @get /", "b c.R" = "1"
  )
  expect_match(text, "_server.yml is for the engine plumber2 (routes: a.R, b c.R; constructor: make.R), and", fixed = TRUE)
  expect_match(text, "'plumber2' is not installed: install.packages(\"plumber2\").", fixed = TRUE)
  expect_match(text, "are served as its own: drover serve a.R$")
  expect_match(problem(c("engine: plumber2", "routes: [x.R, 'y.R']")), "(routes: x.R, y.R), and", fixed = TRUE)
  # without annotations there is nothing else to serve
  expect_false(grepl("drover serve", problem(c("routes: api.R", "engine: plumber2"), api.R = "1")))
  expect_match(problem("engine: plumber2"), "plumber2, and the package", fixed = TRUE)
})

test_that("a document is an app when its header says so", {
  folder <- local_files(
    shiny.Rmd = c("---", "title: x", "runtime: shiny", "---", "text"), "index.Rmd" = c("---", "server: shiny", "---"),
    prerendered.rmd = c("---", "runtime: \"shiny_prerendered\"", "---"), plain.Rmd = c("---", "title: x", "---", "runtime: shiny")
  )
  expect_identical(kind_in(folder, "shiny.Rmd"), c("document", "shiny.Rmd"))
  expect_identical(kind_in(folder, "prerendered.rmd"), c("document", "prerendered.rmd"))
  expect_identical(kind_in(folder), c("document", "index.Rmd"))
  expect_load_error(kind_in(folder, "plain.Rmd"), "is no app: a document of R Markdown is one with `runtime: shiny`")
})

test_that("annotations make a file plumber's, unless it makes an app itself; `kind` overrides", {
  folder <- local_files(
    a.R = c("#* @apiTitle x", "#'@get /x", "function() 1"), b.R = c("#* @get /x", "drover::dr_get(drover::dr_app(), '/x', identity)"),
    c.R = "# @get is not one", d.rds = "x", e.R = c("#* @get /x", "function( {")
  )
  expect_identical(kind_in(folder, "a.R"), c("plumber", "a.R"))
  expect_identical(kind_in(folder, "a.R", "script"), c("script", "a.R"))
  expect_identical(kind_in(folder, "b.R"), c("script", "b.R"))
  expect_identical(kind_in(folder, "c.R"), c("script", "c.R"))
  expect_identical(kind_in(folder, "d.rds"), c("rds", "d.rds"))
  expect_identical(kind_in(folder, "e.R"), c("plumber", "e.R"))
})

test_that("a call is an expression, and a file that is missing is none", {
  expect_identical(drover:::find_app("pkg::make_app()"), list(kind = "expression", text = "pkg::make_app()"))
  expect_identical(drover:::find_app("make", "expression"), list(kind = "expression", text = "make"))
  for (path in c("missing.R", "folder/missing.R", "/no/such file.R")) expect_load_error(drover:::find_app(path), "there is no such file")
})
