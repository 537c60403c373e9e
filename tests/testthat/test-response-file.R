test_that("a file is named, not read", {
  file <- withr::local_tempfile(fileext = ".csv", lines = "a,b")
  response <- dr_file(file, status = 201, headers = list("X-A" = "1"))
  expect_identical(unclass(response), list(
    status = 201L, body = NULL, headers = list("X-A" = "1"), file = normalizePath(file)
  ))
  expect_match(format(response)[[3]], "^  file \"/")
})

test_that("a given content type wins over the extension, and one in headers over both", {
  file <- withr::local_tempfile(fileext = ".csv", lines = "a,b")
  expect_identical(dr_file(file, "a/b")$headers, list("Content-Type" = "a/b"))
  expect_identical(dr_file(file, "a/b", headers = list("content-type" = "c/d"))$headers, list("content-type" = "c/d"))
})

test_that("the name of a download is quoted safely", {
  file <- withr::local_tempfile(lines = "x")
  disposition <- function(name) dr_file(file, download_as = name)$headers[["Content-Disposition"]]
  expect_identical(disposition("a b.csv"), "attachment; filename=\"a b.csv\"")
  expect_identical(disposition("a\"b.csv"), "attachment; filename=\"a'b.csv\"; filename*=UTF-8''a%22b.csv")
  expect_identical(disposition("caf\u00e9.csv"), "attachment; filename=\"caf_.csv\"; filename*=UTF-8''caf%C3%A9.csv")
  for (bad in c("a\r\nX: y", "../a", "a\\b", "")) {
    expect_argument_error(disposition(bad), "`download_as` must be a file name without slashes")
  }
})

test_that("what is no readable file is an error", {
  missing <- tempfile()
  expect_error(dr_file(missing), "dr_file: file not found: ", class = "drover_error_file")
  expect_error(dr_file(tempdir()), "dr_file: a folder, not a file", class = "drover_error_file")
  expect_argument_error(dr_file(1), "`path` must be a single string")
  expect_argument_error(dr_file("x", 1), "`content_type` must be NULL or a single string")
})
