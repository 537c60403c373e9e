# Programs written for plumber and valve, as scripts of their own.

# Where the page of documentation is, once, behind the line that the server listens.
expect_said_once <- function(script, docs) {
  at <- function(pattern) grep(pattern, script$log(), fixed = TRUE)
  expect_true(within(function() length(at("drover: documentation at")) > 0L))
  expect_identical(at(paste("drover: documentation at", docs)), at("drover listening on") + 1L)
}

router <- "plumber::pr_get(plumber::pr(), '/', function() stop('shown'))"

test_that("pr_run() serves with plumber's arguments, and with those of dr_serve()", {
  skip_if_not_installed("plumber")
  script <- local_script(c(
    "page <- function(url) cat(url, '\\n')",
    sprintf("%s |> pr_run(port = 0, debug = TRUE, swaggerCallback = page, workers = 2)", router)
  ))
  expect_match(fetch(script, "/")$text, "shown")
  expect_identical(fetch(script, "/openapi.json")$status, 200L)
  docs <- paste0("http://127.0.0.1:", script$port, "/__docs__/")
  expect_true(within(function() any(grepl(docs, script$out(), fixed = TRUE))))
  expect_said_once(script, docs)
  tools::pskill(script$process$get_pid(), tools::SIGINT)
  script$process$wait(1000 * patience())
  expect_identical(script$process$get_exit_status(), 0L)
})

test_that("the port is the option's or the variable's, and docs and debug may be off", {
  skip_if_not_installed("plumber")
  script <- local_script(c("options(plumber.port = 0L)", sprintf("pr_run(%s, docs = FALSE, debug = FALSE)", router)))
  answer <- fetch(script, "/")
  expect_identical(answer$status, 500L)
  expect_false(grepl("shown", answer$text))
  expect_identical(fetch(script, "/openapi.json")$status, 404L)
})

test_that("the port of pr_run() is the argument's, the option's, the variable's, or else 8080", {
  port_of <- function(port = eval(formals(pr_run)$port)) drover:::plumber_port(port)
  withr::local_options(plumber.port = NULL)
  withr::local_envvar(PLUMBER_PORT = NA)
  expect_identical(port_of(), 8080L)
  withr::local_envvar(PLUMBER_PORT = "9001")
  expect_identical(port_of(), 9001L)
  withr::local_options(plumber.port = 9002)
  expect_identical(port_of(), 9002)
  expect_identical(port_of(port = 0), 0)
})

test_that("valve_run() serves a file with valve's arguments", {
  skip_if_not_installed("plumber")
  folder <- withr::local_tempdir()
  writeLines(c("#* @get /", "function() 'by valve'"), file.path(folder, "plumber.R"))
  script <- local_script(c(
    sprintf("setwd('%s')", folder), "valve_run(port = 0, n_min = 1, n_max = 2, check_unused = 5, max_age = 60)"
  ))
  expect_identical(fetch(script, "/")$text, "[\"by valve\"]")
  expect_match(grep("listening", script$log(), value = TRUE), "threads=2, workers=1-2", fixed = TRUE)
  # where its documentation is, which is there
  docs <- paste0("http://127.0.0.1:", script$port, "/__docs__/")
  expect_said_once(script, docs)
  expect_identical(fetch(script, "/__docs__/")$status, 200L)
  script <- local_script(c(sprintf("setwd('%s')", folder), "valve_run(port = 0, docs = FALSE)"))
  expect_false(any(grepl("documentation at", script$log())))
})

test_that("wrong arguments are named", {
  expect_argument_error(pr_run(1), "`pr` must be a router of the package 'plumber', not 1")
  expect_argument_error(valve_run(tempfile()), "`filepath` must be the path|`file` must be the path")
  expect_argument_error(valve_run(n_min = 0), "`n_min` must be")
  expect_argument_error(valve_run(n_min = 3, n_max = 2), "`n_max` must be")
})
