# Every size of dr_serve(), set small and exceeded over the wire: refused with its own status, at the limit accepted.
# Not here: times (test-limits-times.R), numbers of requests and connections (test-limits-admission.R).

server <- local_server({
  app <- dr_app()
  dr_get(app, "/", function(req) paste("fields", length(req$query)))
  dr_get(app, "/long/*rest", function(req) as.character(nchar(req$params[["rest"]])))
  dr_get(app, "/headers", function(req) paste("headers", length(req$headers)))
  dr_post(app, "/size", function(req) as.character(length(req$raw)))
  dr_post(app, "/json", function(req) paste("json", typeof(req$json)))
  dr_post(app, "/form", function(req) paste("form", length(req$form), length(req$files)))
  dr_get(app, "/alive", function(req) paste("alive", Sys.getpid()))
  dr_get(app, "/stop", function(req) stop("what comes after"))
}, max_request_line = 300L, max_header_field = 200L, max_header_size = 1000L, max_headers = 12L, max_body = 2000,
max_parts = 3L, max_fields = 5L, max_json_depth = 4L, frame = teardown_env())

json <- function(text) fetch(server, "/json", "POST", c("Content-Type" = "application/json"), text)
form <- function(text) fetch(server, "/form", "POST", c("Content-Type" = "application/x-www-form-urlencoded"), text)
multipart <- function(parts) {
  body <- paste0(paste0("--b\r\nContent-Disposition: form-data; name=\"", parts, "\"\r\n\r\nv\r\n", collapse = ""), "--b--\r\n")
  fetch(server, "/form", "POST", c("Content-Type" = "multipart/form-data; boundary=b"), body)
}
chunked <- function(sizes) {
  chunks <- vapply(sizes, function(n) paste0(format(as.hexmode(n)), "\r\n", strrep("a", n), "\r\n"), "")
  fetch_bytes(server, paste0("POST /size HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", paste(chunks, collapse = ""), "0\r\n\r\n"))
}

test_that("max_request_line: more is 414", {
  # "GET " + target + " HTTP/1.1" is 13 bytes and the target
  expect_identical(fetch(server, paste0("/long/", strrep("a", 270)))$text, "270")
  expect_identical(fetch(server, paste0("/long/", strrep("a", 400)))$status, 414L)
  expect_identical(fetch(server, paste0("/long/", strrep("a", 20000)))$status, 414L)
})

test_that("max_header_field: more is 431", {
  expect_identical(fetch(server, "/headers", headers = c("X-A" = strrep("a", 150)))$text, "headers 2")
  expect_identical(fetch(server, "/headers", headers = c("X-A" = strrep("a", 250)))$status, 431L)
  expect_identical(fetch(server, "/headers", headers = structure("a", names = paste0("X-", strrep("a", 250))))$status, 431L)
})

test_that("max_header_size: more is 431", {
  fields <- function(n) structure(rep(strrep("a", 150), n), names = paste0("X-", seq_len(n)))
  expect_identical(fetch(server, "/headers", headers = fields(4))$text, "headers 5")
  expect_identical(fetch(server, "/headers", headers = fields(8))$status, 431L)
  expect_identical(fetch(server, "/headers", headers = fields(1000))$status, 431L)
})

test_that("max_headers: more is 431", {
  fields <- function(n) structure(rep("a", n), names = paste0("X-", seq_len(n)))
  expect_identical(fetch(server, "/headers", headers = fields(11))$text, "headers 12")
  expect_identical(fetch(server, "/headers", headers = fields(13))$status, 431L)
  expect_identical(fetch(server, "/headers", headers = structure(rep("a", 13), names = rep("X-A", 13)))$status, 431L)
})

test_that("max_body: more is 413, by Content-Length before the body and in chunks", {
  expect_identical(fetch(server, "/size", "POST", body = strrep("a", 2000))$text, "2000")
  expect_identical(fetch(server, "/size", "POST", body = strrep("a", 2001))$status, 413L)
  client <- raw_client(server$port)
  client_send(client, "POST /size HTTP/1.1\r\nHost: a\r\nContent-Length: 2001\r\n\r\n")
  expect_identical(client_response(client)$status, 413L)
  client <- raw_client(server$port)
  client_send(client, "POST /size HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 999999999999\r\n\r\n")
  expect_identical(client_response(client)$status, 413L)
  expect_identical(chunked(c(1000, 1000))$text, "2000")
  expect_identical(chunked(c(1000, 1000, 1))$status, 413L)
  expect_identical(chunked(rep(1, 2100))$status, 413L)
})

test_that("max_parts: more is 400", {
  expect_identical(multipart(c("a", "b", "c"))$text, "form 3 0")
  expect_identical(multipart(c("a", "b", "c", "d"))$status, 400L)
})

test_that("max_fields: more is 400, in a query and in a form", {
  expect_identical(fetch(server, "/?a=1&b=2&c=3&d=4&e=5")$text, "fields 5")
  expect_identical(fetch(server, "/?a=1&b=2&c=3&d=4&e=5&f=6")$status, 400L)
  expect_identical(form("a=1&b=2&c=3&d=4&e=5")$text, "form 5 0")
  expect_identical(form("a=1&b=2&c=3&d=4&e=5&f=6")$status, 400L)
})

test_that("max_json_depth: more is 400", {
  expect_identical(json("[[[[1]]]]")$status, 200L)
  expect_identical(json("[[[[[1]]]]]")$status, 400L)
  expect_identical(json("{\"a\":[{\"b\":[{\"c\":1}]}]}")$status, 400L)
  expect_identical(json(strrep("[", 1500))$status, 400L)
})

test_that("what was refused is one line of the log with its reason, and the server lives", {
  refused <- list(json(strrep("[", 1500)), fetch(server, "/size", "POST", body = strrep("a", 2001)))
  expect_identical(vapply(refused, function(response) response$status, 0L), c(400L, 413L))
  ids <- vapply(refused, function(response) response$headers[["x-request-id"]], "")
  lines <- lapply(ids, server$wait_log)
  expect_match(lines[[1]], " WARN .* POST /json 400 arrays and objects are nested too deep")
  expect_match(lines[[2]], " WARN .* POST /size 413 .*`max_body` = 2000")
  # what is logged after them is there, so that a second line of theirs would be
  expect_identical(fetch(server, "/stop")$status, 500L)
  server$wait_log("GET /stop 500")
  expect_length(unlist(lapply(ids, server$wait_log)), 2L)
  expect_identical(fetch(server, "/alive")$text, paste("alive", server$pid))
})

test_that("the default depth and sizes hold without any setting", {
  server <- local_server({
    app <- dr_app()
    dr_post(app, "/json", function(req) paste("json", typeof(req$json)))
    dr_get(app, "/long/*rest", function(req) "long")
  })
  nested <- function(n) paste0(strrep("[", n), strrep("]", n))
  post <- function(text) fetch(server, "/json", "POST", c("Content-Type" = "application/json"), text)$status
  expect_identical(post(nested(60)), 200L)
  expect_identical(post(nested(65)), 400L)
  expect_identical(post(strrep("[", 1e6)), 400L)
  expect_identical(post(paste0("\"", strrep("a", 2^20), "\"")), 413L)
  expect_identical(fetch(server, paste0("/long/", strrep("a", 60000)))$status, 200L)
  expect_identical(fetch(server, paste0("/long/", strrep("a", 65600)))$status, 414L)
})

test_that("spool_above: a spooled body and a spooled file arrive whole, and nothing stays on disk", {
  uploads <- withr::local_tempdir()
  server <- local_server({
    app <- dr_app()
    dr_post(app, "/echo", function(req) req$raw)
    dr_post(app, "/json", function(req) as.character(sum(unlist(req$json))))
    dr_post(app, "/file", function(req) {
      file <- req$files[[1]]
      content <- if (is.na(file$path)) file$content else readBin(file$path, "raw", file.size(file$path))
      dr_response(content, headers = list("X-Spooled" = if (is.na(file$path)) "no" else "yes", "X-Size" = as.character(file$size)))
    })
    dr_post(app, "/fail", function(req) stop("with a spooled body"))
  }, spool_above = 1000, max_body = 5e6, upload_path = uploads)
  bytes <- rep(as.raw(c(0:255)), 4000)
  expect_identical(fetch(server, "/echo", "POST", body = bytes)$body, bytes)
  numbers <- rep(1, 5000)
  expect_identical(fetch(server, "/json", "POST", c("Content-Type" = "application/json"), as.character(jsonlite::toJSON(numbers)))$text, "5000")
  chunked <- c(charToRaw("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"),
    rep(c(charToRaw("100\r\n"), as.raw(0:255), charToRaw("\r\n")), 100), charToRaw("0\r\n\r\n"))
  expect_identical(fetch_bytes(server, chunked)$body, rep(as.raw(0:255), 100))
  upload <- function(bytes) {
    body <- c(charToRaw("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"../../evil\"\r\n\r\n"), bytes, charToRaw("\r\n--b--\r\n"))
    fetch(server, "/file", "POST", c("Content-Type" = "multipart/form-data; boundary=b"), body)
  }
  large <- upload(bytes)
  expect_identical(large$body, bytes)
  expect_identical(large$headers[c("x-spooled", "x-size")], c("x-spooled" = "yes", "x-size" = as.character(length(bytes))))
  small <- upload(bytes[1:100])
  expect_identical(small$body, bytes[1:100])
  expect_identical(small$headers[["x-spooled"]], "no")
  expect_identical(fetch(server, "/fail", "POST", body = bytes)$status, 500L)
  # a client that leaves in the middle of its body
  client <- raw_client(server$port)
  client_send(client, c(charToRaw("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"), bytes[1:50000]))
  client_close(client)
  expect_true(within(function() !length(list.files(uploads, recursive = TRUE, all.files = TRUE))))
})
