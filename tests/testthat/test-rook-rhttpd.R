# A server of the package Rook as an app. Programs that start one: tests/process/test-kinds.R.

skip_if_not_installed("Rook")

tell <- "function(env) list(status = 200L, headers = list(), body = paste0('%s:', env$SCRIPT_NAME, ':', env$PATH_INFO))"

rhttpd_with <- function(...) {
  c("s <- Rook::Rhttpd$new()", sprintf("s$add(%s, '%s')", sprintf(tell, c(...)), c(...)))
}

test_that("each app is below its name, which is what is left out of its path", {
  server <- local_server(c(rhttpd_with("one", "two & 3"), "app <- dr_mount(dr_rook(s), '/old', s)"))
  ask <- function(path) http(server, path)$body
  expect_identical(ask("/custom/one"), "one:/custom/one:")
  expect_identical(ask("/custom/one/"), "one:/custom/one:/")
  expect_identical(ask("/custom/one/a%20b+c?x=1"), "one:/custom/one:/a b c")
  expect_identical(ask("/custom/two%20%26%203/x"), "two & 3:/custom/two%20%26%203:/x")
  expect_identical(ask("/old/custom/one/x"), "one:/old/custom/one:/x")
  expect_identical(http(server, "/custom/none")$status, 404L)
  expect_identical(http(server, "/one")$status, 404L)
  expect_identical(http(server, "/", "-X", "POST")$status, 404L)
})

test_that("/ and /custom lead to the app, or list all", {
  server <- local_server(c(rhttpd_with("one"), "app <- dr_mount(dr_rook(s), '/old', s)"))
  for (path in c("/", "/custom", "/custom/")) {
    answer <- http(server, path)
    expect_identical(answer$status, 307L)
    expect_identical(answer$headers[["location"]], "/custom/one")
  }
  expect_identical(http(server, "/old")$headers[["location"]], "/old/custom/one")
  server <- local_server(c(rhttpd_with("one", "<b>&\"2"), "app <- dr_rook(s)"))
  list <- http(server, "/")
  expect_identical(list$status, 200L)
  expect_match(list$body, "<a href=\"/custom/one\">one</a>", fixed = TRUE)
  expect_match(list$body, "<a href=\"/custom/%3Cb%3E%26%222\">&lt;b&gt;&amp;&quot;2</a>", fixed = TRUE)
})

test_that("an app from a file runs in the folder of that", {
  folder <- withr::local_tempdir()
  writeLines("app <- function(env) list(status = 200L, headers = list(), body = basename(getwd()))", file.path(folder, "a.R"))
  server <- local_server(c("s <- Rook::Rhttpd$new()", sprintf("s$add('%s/a.R', 'a')", folder), "app <- dr_rook(s)"))
  expect_identical(http(server, "/custom/a")$body, basename(folder))
})
