# What handlers see of requests.
test_that("a handler sees all parts of a request", {
  server <- local_server({
    app <- dr_app()
    dr_any(app, "/echo/:id", function(req) dr_json(list(
      method = req$method, path = req$path, url = req$url, protocol = req$protocol, scheme = req$scheme,
      host = req$host, remote_addr = req$remote_addr, port_ok = is.integer(req$remote_port) && req$remote_port > 0L,
      id_ok = is.character(req$id) && nzchar(req$id), route = req$route,
      params = as.list(req$params), query = as.list(req$query), agent = dr_header(req, "User-Agent"),
      twice = dr_header(req, "x-twice"), none = is.null(dr_header(req, "x-none")),
      q_last = dr_query(req, "q"), q_all = I(dr_query(req, "q", all = TRUE)), q_none = is.null(dr_query(req, "nope")),
      cookies = as.list(req$cookies), cookie = dr_cookie(req, "sid"),
      no_params = identical(names(structure(character(), names = character())), names(req$params)[0]),
      body = dr_body(req), bytes = length(dr_body(req, "raw")),
      classed = inherits(req, "dr_request"), encoding = Encoding(dr_query(req, "q"))
    )))
    dr_get(app, "/print", function(req) paste(c(format(req), utils::capture.output(print(req))), collapse = "\n"))
    dr_get(app, "/none", function(req) list(
      params = length(req$params), named = !is.null(names(req$params)), query = length(req$query),
      named_query = !is.null(names(req$query)), body = identical(req$body, ""), raw = identical(req$raw, raw()),
      json = is.null(dr_body(req, "json"))
    ))
    dr_get(app, "/assign", function(req) {
      req$user <- "ada"
      req$path <- "/other"
      paste(req$user, req$path)
    })
  })
  echo <- http_json(
    server, "/echo/7%2F8?q=1&q=%C3%A9&x=a+b", "-A", "tester", "-H", "X-Twice: 1", "-H", "X-Twice: 2",
    "-b", "sid=abc; theme=dark", "-X", "PUT", "-H", "Content-Type: text/plain", "-d", "caf\u00e9"
  )
  expect_identical(echo$method, "PUT")
  expect_identical(echo$path, "/echo/7/8")
  expect_identical(echo$url, "/echo/7%2F8?q=1&q=%C3%A9&x=a+b")
  expect_identical(echo$protocol, "HTTP/1.1")
  expect_identical(echo$scheme, "http")
  expect_identical(echo$host, sub("http://", "", server$url))
  expect_identical(echo$remote_addr, "127.0.0.1")
  expect_true(echo$port_ok)
  expect_true(echo$id_ok)
  expect_identical(echo$route, "/echo/:id")
  expect_identical(echo$params, list(id = "7/8"))
  expect_identical(echo$query$x, "a b")
  expect_identical(echo$agent, "tester")
  expect_identical(echo$twice, "1, 2")
  expect_true(echo$none)
  expect_identical(echo$q_last, "\u00e9")
  expect_identical(echo$q_all, c("1", "\u00e9"))
  expect_true(echo$q_none)
  expect_identical(echo$cookies, list(sid = "abc", theme = "dark"))
  expect_identical(echo$cookie, "abc")
  expect_identical(echo$body, "caf\u00e9")
  expect_identical(echo$bytes, 5L)
  expect_true(echo$classed)
  expect_identical(echo$encoding, "UTF-8")
  expect_true(all(unlist(http_json(server, "/none")[c("named", "named_query", "body", "raw", "json")])))
  expect_identical(http_json(server, "/none")[c("params", "query")], list(params = 0L, query = 0L))
  expect_identical(http(server, "/assign")$body, "ada /other")
  printed <- http(server, "/print", "-H", "Authorization: secret")$body
  expect_match(printed, "<dr_request> GET /print HTTP/1.1", fixed = TRUE)
  expect_match(printed, "authorization", fixed = TRUE)
  expect_no_match(printed, "secret")
})

test_that("bodies arrive whole, as text, JSON, form, files and bytes", {
  server <- local_server({
    app <- dr_app()
    dr_post(app, "/raw", function(req) dr_body(req, "raw"))
    dr_post(app, "/text", function(req) dr_body(req))
    dr_post(app, "/json", function(req) list(a = dr_body(req, "json")$a, same = identical(req$json, req$json)))
    dr_post(app, "/form", function(req) list(form = as.list(dr_body(req, "form")), a = dr_query(req, "a")))
    dr_post(app, "/files", function(req) {
      file <- dr_files(req, "up")
      bytes <- if (is.na(file$path)) file$content else readBin(file$path, "raw", file$size)
      list(
        name = file$name, type = file$type, size = file$size, field = file$field, fields = as.list(req$form),
        spooled = !is.na(file$path), sum = sum(as.integer(bytes)), count = length(dr_files(req, "up", all = TRUE))
      )
    })
  }, spool_above = 100000, max_body = 4e6)
  folder <- withr::local_tempdir()
  binary <- file.path(folder, "b.bin")
  writeBin(as.raw(0:255), binary)
  type <- "Content-Type: application/octet-stream"
  expect_identical(http(server, "/raw", "-H", type, "--data-binary", paste0("@", binary))$raw, as.raw(0:255))
  expect_identical(http(server, "/text", "-H", type, "--data-binary", paste0("@", binary))$status, 400L)
  expect_identical(http(server, "/text", "-H", "Content-Type: text/plain", "-d", "caf\u00e9")$body, "caf\u00e9")
  json <- "Content-Type: application/json"
  expect_identical(http_json(server, "/json", "-H", json, "-d", "{\"a\": [1, 2]}"), list(a = 1:2, same = TRUE))
  expect_identical(http(server, "/json", "-H", json, "-d", "{\"a\": [1, 2")$status, 400L)
  expect_identical(http_json(server, "/form", "-d", "a=1&b=x+y%26"), list(form = list(a = "1", b = "x y&"), a = "1"))

  small <- http_json(server, "/files", "-F", "note=hello", "-F", paste0("up=@", binary, ";type=a/b;filename=../my.bin"))
  expect_identical(small, list(
    name = "my.bin", type = "a/b", size = 256L, field = "up", fields = list(note = "hello"), spooled = FALSE,
    sum = sum(0:255), count = 1L
  ))
  big <- file.path(folder, "big.bin")
  writeBin(rep(as.raw(1:250), 4000), big)
  large <- http_json(server, "/files", "-F", paste0("up=@", big), "-F", paste0("up=@", big, ";filename=last.bin"))
  expect_identical(large[c("name", "size", "spooled", "count")],
    list(name = "last.bin", size = 1000000L, spooled = TRUE, count = 2L))
  expect_equal(large$sum, sum(rep(1:250, 4000)))
})
