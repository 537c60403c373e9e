# What the commands of the program find out, without the program: that is in tests/process/test-commands.R.

test_that("the table of routes follows mounts, in the order in which routes are tried", {
  app <- dr_get(dr_app(), "/", identity)
  inner <- dr_post(dr_app(), "/x", identity)
  dr_mount(app, "/inner", dr_mount(inner, "/rook", function(req) 1))
  dr_mount(app, "/r", function(url, query, body, headers) 1)
  table <- drover:::route_table(app)
  expect_identical(table$method, c("GET", "POST", "ANY", "ANY"))
  expect_identical(table$path, c("/", "/inner/x", "/inner/rook/*", "/r/*"))
  expect_identical(table$note, c("", "", "an app of httpuv or Rook", "a script of Rserve"))
  expect_identical(nrow(drover:::route_table(dr_app())), 0L)
})

test_that("endpoints of a router are those of its stages, then those of its mounts", {
  skip_if_not_installed("plumber")
  pr <- plumber::pr_get(plumber::pr(), "/last", function() 1)
  pr <- plumber::pr_get(pr, "/first", function() 1, preempt = "__first__")
  pr <- plumber::pr_mount(pr, "/child", plumber::pr_handle(plumber::pr(), c("GET", "POST"), "/x", function() 1))
  pr <- plumber::pr_static(pr, "/files", tempdir())
  table <- drover:::route_table(dr_rook(pr), "/api")
  expect_setequal(table$path, c("/api/first", "/api/last", "/api/child/x", "/api/files/"))
  row <- function(path) unlist(table[table$path == path, c("method", "note")], use.names = FALSE)
  expect_identical(row("/api/first"), c("GET", "before all filters"))
  expect_identical(row("/api/child/x"), c("GET,POST", ""))
  expect_identical(row("/api/files/"), c("files", ""))
})

test_that("what the doctor finds wrong has a cure", {
  wrong <- drover:::find_package("no.such.package")
  expect_identical(wrong$mend, "install.packages(\"no.such.package\")")
  expect_null(drover:::find_package("later")$mend)
  expect_true(all(vapply(drover:::doctor_findings(), function(one) is.character(one$text) && length(one$text) == 1L, NA)))
  expect_false(is.na(drover:::file_limit()))
})
