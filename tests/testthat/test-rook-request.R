# The parts of a Rook request that need no server. The whole: test-rook-app.R and tests/plumber.

test_that("targets, paths and hosts are split as they were sent", {
  split <- drover:::split_target
  expect_target <- function(url, path, query) {
    expect_identical(split(url)[c("path", "query")], list(path = path, query = query))
  }
  expect_target("/a%20b?c=d?e", "/a%20b", "?c=d?e")
  expect_target("/a?", "/a", "?")
  expect_target("http://host:1/a/b?c", "/a/b", "?c")
  expect_target("http://host", "/", "")
  expect_target("http://host?c", "/", "?c")
  expect_target("h2+x.y-z://host/a", "/a", "")
  expect_target("//a", "//a", "")
  expect_target("*", "*", "")
  expect_target("1a://b", "1a://b", "")
  expect_parts <- function(path, depth, before, rest) {
    expect_identical(split(path, depth)[c("before", "rest")], list(before = before, rest = rest))
    # a query is none of them
    expect_identical(split(paste0(path, "?/x/y"), depth)[c("before", "rest")], list(before = before, rest = rest))
  }
  expect_parts("/a/b/c", 1L, "/a", "/b/c")
  expect_parts("/a/b/c", 2L, "/a/b", "/c")
  expect_parts("/a", 1L, "/a", "/")
  expect_parts("/a/", 1L, "/a", "/")
  expect_parts("//a", 0L, "", "//a")
  expect_parts("*", 1L, "*", "/")
  expect_identical(Encoding(split("/h\u00e9?\u00e9")$path), "UTF-8")
  expect_identical(drover:::split_host("a:1:2"), list(name = "a:1", port = "2"))
  expect_identical(drover:::split_host("a:"), list(name = "a", port = ""))
  expect_identical(drover:::split_host(""), list(name = "", port = "80"))
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

test_that("a request is what httpuv gives, with all that was sent", {
  req <- list2env(list(
    method = "POST", url = "/api/a%20b?c=d", host = "localhost:81", remote_addr = "127.0.0.1", remote_port = 5000L,
    scheme = "http",
    headers = structure(list("x-b" = "2", host = "localhost:81", "x-a" = "1", "content-type" = "text/csv", "x-b" = "3",
      "content-length" = "4"), class = "dr_fields")
  ), parent = emptyenv())
  env <- drover:::rook_request(req, 1L, list(SCRIPT_NAME = "", rook.version = "1.1-0"))
  right <- list(
    SCRIPT_NAME = "/api", rook.version = "1.1-0", rook.url_scheme = "http",
    HTTP_CONTENT_LENGTH = "4", HTTP_CONTENT_TYPE = "text/csv",
    HTTP_HOST = "localhost:81", HTTP_X_A = "1", HTTP_X_B = "3", CONTENT_LENGTH = "4", CONTENT_TYPE = "text/csv",
    REQUEST_METHOD = "POST", PATH_INFO = "/a%20b", QUERY_STRING = "?c=d", SERVER_NAME = "localhost",
    SERVER_PORT = "81", REMOTE_ADDR = "127.0.0.1", REMOTE_PORT = "5000", rook.input = drover:::no_input,
    HEADERS = c("content-length" = "4", "content-type" = "text/csv", host = "localhost:81", "x-a" = "1", "x-b" = "2",
      "x-b" = "3")
  )
  expect_setequal(ls(env, all.names = TRUE), names(right))
  expect_identical(mget(names(right), env), right)
  # what middleware may have made of them
  long <- paste(rep("n", 300), collapse = "")
  req$headers <- structure(list("x-a" = c("1", "2"), "y"), names = c("x-a", long))
  req$url <- "/api"
  env <- drover:::rook_request(req, 0L, list())
  expect_identical(env$HEADERS, structure(c("y", "1", "2"), names = c(long, "x-a1", "x-a2")))
  expect_identical(env[[paste0("HTTP_", toupper(long))]], "y")
  expect_identical(mget(c("SCRIPT_NAME", "PATH_INFO"), env), list(SCRIPT_NAME = "", PATH_INFO = "/api"))
  req$headers <- list()
  expect_null(drover:::rook_request(req, 0L, list())$HEADERS)
  # over TLS, and without a port
  req$scheme <- "https"
  req$host <- "example.org"
  env <- drover:::rook_request(req, 0L, list())
  expect_identical(mget(c("rook.url_scheme", "SERVER_PORT"), env), list(rook.url_scheme = "https", SERVER_PORT = "443"))
})

test_that("a body gives the lines and bytes that R reads of it, in whatever pieces it is asked for", {
  text <- paste0(strrep("a", 7e4), "\r\n", strrep("b", 65533), "\r\n", "c\rd\n\n", strrep("e", 2e5), "\n", "last")
  body <- charToRaw(text)
  connection <- rawConnection(body)
  withr::defer(close(connection))
  wanted <- readLines(connection, warn = FALSE)
  for (n in c(1L, 2L, 5L)) {
    input <- drover:::rook_input(body)
    got <- character()
    while (length(lines <- input$read_lines(n))) got <- c(got, lines)
    expect_identical(got, wanted)
  }
  input <- drover:::rook_input(body)
  got <- raw()
  while (length(bytes <- input$read(2^16))) got <- c(got, bytes)
  expect_identical(got, body)
  input$rewind()
  expect_identical(c(input$read(70002), input$read()), body)
  input$rewind()
  input$read(7e4 + 2)
  expect_identical(input$read_lines(1L), strrep("b", 65533))
  expect_identical(input$read(1), charToRaw("c"))
})
