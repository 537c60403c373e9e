# The parts of a Rook request that need no server. The whole: test-rook-app.R and tests/plumber.

test_that("targets, paths and hosts are split as they were sent", {
  split <- drover:::split_target
  expect_identical(split("/a%20b?c=d?e"), list(path = "/a%20b", query = "?c=d?e"))
  expect_identical(split("/a?"), list(path = "/a", query = "?"))
  expect_identical(split("http://host:1/a/b?c"), list(path = "/a/b", query = "?c"))
  expect_identical(split("http://host"), list(path = "/", query = ""))
  expect_identical(drover:::split_path("/a/b/c", 1L), list(before = "/a", rest = "/b/c"))
  expect_identical(drover:::split_path("/a", 1L), list(before = "/a", rest = "/"))
  expect_identical(drover:::split_path("/a/", 1L), list(before = "/a", rest = "/"))
  expect_identical(drover:::split_path("//a", 0L), list(before = "", rest = "//a"))
  expect_identical(drover:::split_host("[::1]:80"), list(name = "[::1]", port = "80"))
  expect_identical(drover:::split_host("example.com"), list(name = "example.com", port = "80"))
  expect_identical(drover:::mount_depth("/*path"), 0L)
  expect_identical(drover:::mount_depth("/"), 0L)
  expect_identical(drover:::mount_depth("/api"), 1L)
  expect_identical(drover:::mount_depth("/v/:x/api/*path"), 3L)
})

test_that("the body is read in pieces and lines, and again", {
  input <- drover:::rook_input(charToRaw("one\ntwo\r\nthree"))
  expect_identical(rawToChar(input$read(2L)), "on")
  expect_identical(input$read_lines(), c("e", "two", "three"))
  expect_identical(input$read(), raw())
  input$rewind()
  expect_identical(input$read_lines(1L), "one")
  expect_identical(rawToChar(input$read(100L)), "two\r\nthree")
  expect_identical(input$read_lines(), character())
  expect_identical(drover:::no_input$read(), raw())
  expect_identical(drover:::no_input$read_lines(), character())
})

test_that("header fields are sorted and named anew when their names change", {
  shape <- drover:::header_shape
  expect_identical(shape(c("host", "accept"))[c("order", "variables")], list(order = 2:1, variables = c("HTTP_ACCEPT", "HTTP_HOST")))
  expect_identical(shape("x-a-b")$variables, "HTTP_X_A_B")
  expect_identical(shape(c("host", "accept"))$order, 2:1)
  expect_identical(drover:::host_parts("a:1")$port, "1")
  expect_identical(drover:::host_parts("a:2")$port, "2")
})
