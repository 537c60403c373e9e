test_that("a file is named, not read", {
  file <- withr::local_tempfile(fileext = ".csv", lines = "a,b")
  response <- dr_file(file, status = 201, headers = list("X-A" = "1"))
  expect_identical(.subset2(response, "body"), NULL)
  expect_identical(as.character(response$file), normalizePath(file))
  expect_identical(c(response$status, response$headers), list(201L, "X-A" = "1"))
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

descriptors <- function(path) sum(Sys.readlink(dir("/proc/self/fd", full.names = TRUE)) %in% path)

test_that("the body is what is in the file, also after it was removed, until another is given", {
  file <- withr::local_tempfile(lines = "a,b")
  response <- dr_file(file)
  unlink(file)
  expect_identical(rawToChar(response$body), "a,b\n")
  expect_identical(response[["body"]], charToRaw("a,b\n"))
  response$status <- 203L
  expect_identical(rawToChar(response$body), "a,b\n")
  response$body <- toupper(rawToChar(response$body))
  expect_identical(response$body, "A,B\n")
  expect_null(response$file)

  file <- withr::local_tempfile(lines = "x")
  response <- dr_file(file, delete = TRUE)
  expect_false(file.exists(file))
  expect_identical(rawToChar(response$body), "x\n")
  copy <- unserialize(serialize(response, NULL))
  expect_error(copy$body, "file not found", class = "drover_error_file")
  expect_argument_error(dr_file(file, delete = NA), "`delete`")
})

test_that("a response that is not sent does not keep its file open", {
  file <- withr::local_tempfile(lines = "x")
  path <- normalizePath(file)
  kept <- dr_file(file)
  for (i in 1:500) dr_file(file)
  expect_lt(descriptors(path), 130)
  gc()
  expect_identical(descriptors(path), 1L)
  expect_identical(rawToChar(kept$body), "x\n")
  expect_error(dr_file("/dev/null"), "not a regular file", class = "drover_error_file")
})

test_that("a response that an app keeps is sent by processes that are no forks, too", {
  file <- withr::local_tempfile(lines = "kept")
  app <- dr_app()
  local({
    kept <- dr_file(file)
    dr_get(app, "/kept", function(req) kept)
  })
  server <- serve_workers(app, start = "spawn")
  for (i in 1:3) expect_identical(http(sprintf("http://127.0.0.1:%d", server$port), "/kept")$body, "kept\n")
})
