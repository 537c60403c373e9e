# C handlers of a session over sockets: what they see of requests, and what becomes of their answers.

for (place in cpp_places) {
  server <- local_cpp_server(place, threads = 2L, frame = testthat::teardown_env())

  test_that(paste0(place, ": a handler sees all of a request, on the pool and inline"), {
    for (path in c("/echo", "/inline-echo")) {
      body <- "{\"a\":1}"
      seen <- http_json(
        server, paste0(path, "/a%20b/42?x=1&y=%20"), "-d", body, "-H", "X-Test: yes", "-H", "Cookie: session=abc; other=1",
        "-H", "Content-Type: application/json"
      )
      expect_identical(
        seen[c("method", "path", "target", "query", "body", "remote_addr")],
        list(
          method = "POST", path = paste0(path, "/a b/42"), target = paste0(path, "/a%20b/42?x=1&y=%20"),
          query = "x=1&y=%20", body = body, remote_addr = "127.0.0.1"
        ),
        info = path
      )
      expect_identical(seen$param_id, "a b")
      expect_identical(seen$params, c("a b", "42"))
      expect_identical(seen$cookie_session, "abc")
      expect_identical(seen$header_x_test, "yes")
      expect_null(seen$header_missing)
      expect_gt(seen$remote_port, 0)
      expect_false(seen$http2)
      expect_match(seen$id, "^[0-9a-f]{16}$")
      expect_identical(seen$header_count, nrow(seen$headers))
      expect_identical(seen$headers[seen$headers[, 1] == "cookie", 2], "session=abc; other=1")
    }
  })

  test_that(paste0(place, ": below a path it sees the app's own, and what stands before it"), {
    server <- local_cpp_server(place, base_path = "/hub")
    for (path in c("/echo/a/1", "/inline-echo/a/1")) {
      seen <- http_json(server, path, "-d", "text")
      expect_identical(seen[c("base_path", "path", "target")], list(base_path = "/hub", path = path, target = path))
    }
  })

  test_that(paste0(place, ": over HTTP/2 it sees the same"), {
    seen <- http_json(server, "/echo/x/1", "--http2-prior-knowledge", "-d", "text")
    expect_true(seen$http2)
    expect_identical(seen$body, "text")
    expect_match(seen$headers[seen$headers[, 1] == "host", 2], "^127.0.0.1:")
  })

  test_that(paste0(place, ": a handler with drogonR's signature gets its arguments"), {
    seen <- http_json(server, "/old-echo/a%20b/42?x=1", "-d", "text", "-H", "Cookie: session=abc", "-H", "X-Test: yes")
    expect_identical(seen[c("body", "query", "params")], list(body = "text", query = "x=1", params = c("a b", "42")))
    expect_identical(seen$headers[seen$headers[, 1] == "x-test", 2], "yes")
    expect_identical(seen$headers[seen$headers[, 1] == "cookie", 2], "session=abc")
    nothing <- http_json(server, "/old_echo")
    expect_null(nothing$query)
    expect_null(nothing$params)
  })

  test_that(paste0(place, ": bodies pass as they are, NUL bytes too, and large ones that wait in a file"), {
    file <- withr::local_tempfile()
    for (size in c(0, 1, 1000, 300000)) {
      bytes <- as.raw(seq_len(size) %% 256)
      writeBin(bytes, file)
      for (path in c("/h_body", "/inline/h_body", "/old_body", "/inline/old_body")) {
        response <- http(server, path, "--data-binary", paste0("@", file))
        expect_identical(response$status, 200L, info = paste(path, size))
        expect_identical(response$raw, bytes, info = paste(path, size))
        expect_identical(response$headers[["content-type"]], "application/octet-stream")
      }
    }
  })

  test_that(paste0(place, ": status, content type and length are the handler's"), {
    for (prefix in c("/", "/inline/")) {
      response <- http(server, paste0(prefix, "h_respond?status=201&type=text/csv&n=5"))
      expect_identical(response[c("status", "body")], list(status = 201L, body = "xxxxx"))
      expect_identical(response$headers[["content-type"]], "text/csv")
      expect_identical(http(server, paste0(prefix, "h_text"))$headers[["content-type"]], "text/plain; charset=utf-8")
      expect_identical(http(server, paste0(prefix, "h_json"))$body, "{\"message\":\"Hello, World!\"}")
      expect_identical(http(server, paste0(prefix, "h_respond?status=404"))$status, 404L)
      expect_identical(http(server, paste0(prefix, "old_respond?status=202&n=3"))[c("status", "body")],
        list(status = 202L, body = "xxx"))
      expect_identical(http(server, paste0(prefix, "old_text"))$headers[["content-type"]], "text/plain; charset=utf-8")
      empty <- http(server, paste0(prefix, "old_empty"))
      expect_identical(empty[c("status", "raw")], list(status = 200L, raw = raw()))
      expect_identical(empty$headers[["content-type"]], "application/octet-stream")
    }
    large <- http(server, "/h_static?n=8000000")
    expect_length(large$raw, 8000000)
    owned <- http(server, "/h_owned?n=3000000")
    expect_identical(unique(owned$raw), charToRaw("o"))
    expect_identical(codes(server), unname(DROVER[c("ok", "done", "invalid")]))
    expect_true(within(function() http(server, "/h_released")$body == "3"))
  })

  test_that(paste0(place, ": header fields are added, and those that must not be are refused"), {
    response <- http(server, "/h_headers")
    expect_identical(response$headers[["x-one"]], "1")
    expect_identical(unname(response$headers[names(response$headers) == "set-cookie"]), c("a=1", "b=2"))
    expect_false(any(c("x-split", "x-injected", "x injected") %in% names(response$headers)))
    expect_identical(response$headers[["content-type"]], "text/plain")
    expect_identical(response$body, "ok")
    expect_identical(codes(server), c(0L, 0L, 0L, rep(DROVER[["invalid"]], 5L)))
  })

  test_that(paste0(place, ": sessions are read and set, as in R"), {
    server <- local_cpp_server(place, more = c(
      "dr_get(app, '/open/r', function(req) { req$session$n <- req$session$n + 1L; req$session })",
      "dr_post_cpp(app, '/open/c', package, 'h_session')", "dr_post_cpp(app, '/open/i', package, 'h_session', inline = TRUE)",
      "dr_session(app, strrep('k', 32L), name = 's', secure = FALSE, routes = '/open')"
    ))
    told <- function(response) response$headers[["set-cookie"]]
    with_cookie <- function(path, cookie, ...) http(server, path, "-H", paste("Cookie:", cookie), ...)
    for (path in c("/open/c", "/open/i")) {
      set <- http(server, path, "-d", "{\"n\":1}")
      expect_identical(c(set$status, set$body), c("200", "null"), info = path)
      expect_identical(codes(server), c(DROVER[["invalid"]], 0L, 0L))
      expect_match(told(set), "; HttpOnly; SameSite=Lax$")
      cookie <- sub(";.*", "", told(set))
      # R goes on with what C has set, and C with what R has
      expect_identical(with_cookie("/open/r", cookie)$body, "{\"n\":2}")
      cookie <- sub(";.*", "", told(with_cookie("/open/r", cookie)))
      read <- with_cookie(path, cookie, "-d", "{\"n\":3,\"of\":\"C\"}")
      expect_identical(read$body, "{\"n\":2}", info = path)
      expect_identical(with_cookie(path, sub(";.*", "", told(read)), "-X", "POST")$body, "{\"n\":3,\"of\":\"C\"}")
      expect_match(told(with_cookie(path, cookie, "-d", "-")), "^s=; Max-Age=0; ", info = path)
      expect_identical(with_cookie(path, "s=forged", "-X", "POST")$body, "null")
      # an error changes nothing
      failed <- with_cookie(paste0(path, "?fails=1"), cookie, "-d", "{\"n\":9}")
      expect_identical(failed$status, 503L)
      expect_false("set-cookie" %in% names(failed$headers))
      for (wrong in c("[1]", "{\"n\":", "text", sprintf("{\"n\":\"%s\"}", strrep("x", 4000L)))) {
        refused <- with_cookie(path, cookie, "--data-binary", wrong)
        expect_identical(refused$status, 500L, info = wrong)
        expect_false(any(grepl("session", c(refused$body, names(refused$headers)))), info = wrong)
      }
    }
    expect_identical(http(server, "/h_session", "-d", "{}")$status, 500L)
    log <- server$log()
    expect_match(log, "the session that is set is not an object of JSON", all = FALSE)
    expect_match(log, "the session that is set has 4008 bytes as JSON and would be a cookie of", all = FALSE)
    expect_match(log, "a session is set, and no dr_session\\(\\) covers this path", all = FALSE)
  })

  test_that(paste0(place, ": durations are told in Server-Timing"), {
    for (path in c("/h_mark", "/inline/h_mark")) {
      response <- http(server, path)
      expect_identical(response$status, 200L, info = path)
      timing <- paste(response$headers[names(response$headers) == "server-timing"], collapse = ", ")
      expect_match(timing, "db;dur=12\\.34")
      expect_match(timing, "render;dur=0\\.001")
    }
  })

  test_that(paste0(place, ": a handler logs with the request's id"), {
    http(server, "/h_log")
    lines <- server$wait_log("a warning")
    expect_match(lines[[1]], "WARN .*a warning\\\\nof two lines")
    expect_length(server$wait_log("ERROR .*an error"), 1L)
    expect_length(server$wait_log("INFO .*for your information"), 1L)
  })

  test_that(paste0(place, ": an error is one of drover's"), {
    response <- http(server, "/h_fail?status=403", "-H", "Accept: application/json")
    expect_identical(response$status, 403L)
    expect_identical(response$headers[["content-type"]], "application/problem+json")
    expect_match(response$body, "there is no such thing", fixed = TRUE)
    expect_match(http(server, "/inline/h_fail")$body, "there is no such thing", fixed = TRUE)
  })

  test_that(paste0(place, ": HEAD, OPTIONS, 404 and 405 are answered as for routes in R"), {
    head <- http(server, "/h_text", "--head")
    expect_identical(head$status, 200L)
    expect_identical(head$headers[["content-length"]], "13")
    options <- http(server, "/h_text", "-X", "OPTIONS")
    expect_identical(options$status, 204L)
    expect_identical(options$headers[["allow"]], "GET, HEAD, POST, OPTIONS")
    expect_identical(http(server, "/h_text", "-X", "DELETE")$status, 405L)
    expect_identical(http(server, "/old_stream", "-X", "POST")$headers[["allow"]], "GET, HEAD, OPTIONS")
    expect_identical(http(server, "/h_nothing")$status, 404L)
    expect_identical(http(server, "/echo/x/no-number", "-d", "x")$status, 404L)
  })

  test_that(paste0(place, ": middleware in R does not run"), {
    http(server, "/h_text")
    expect_identical(http(server, "/r")$body, "from R")
    expect_match(server$wait_log("middleware"), "middleware: /r( worker=[0-9]+)?$")
  })

  test_that(paste0(place, ": what goes wrong is 500 without a reason for the client and with one in the log"), {
    problems <- c(
      h_nonzero = "7", h_silent = "answer", h_throw = "the model has no weights", h_throw_int = "exception",
      h_dropped = "answer", old_nonzero = "1", old_nonzero_with_output = "-1", old_throw = "the model has no weights",
      old_null_body = "5", old_garbage_length = "length", old_bad_type = "content type"
    )
    for (name in names(problems)) {
      for (prefix in c("/", "/inline/")) {
        before <- length(server$log())
        response <- http(server, paste0(prefix, name))
        expect_identical(response$status, 500L, info = paste0(prefix, name))
        expect_false(grepl("weights|secret|exception", response$body), info = name)
        expect_false("x-injected" %in% names(response$headers), info = name)
        path <- paste0(prefix, name)
        logged <- function() grep(paste0("ERROR .*GET ", path, " 500"), server$log()[-seq_len(before)], value = TRUE)
        expect_true(within(function() length(logged()) > 0), info = path)
        expect_match(logged()[[1]], problems[[name]], info = path)
      }
    }
    expect_identical(http(server, "/h_text")$status, 200L)
  })

  test_that(paste0(place, ": the first answer counts"), {
    for (prefix in c("/", "/inline/")) {
      expect_identical(http(server, paste0(prefix, "h_twice"))$body, "first")
      expect_identical(codes(server), c(0L, rep(DROVER[["done"]], 4L)))
      # what was answered before an exception stays
      expect_identical(http(server, paste0(prefix, "h_answer_then_throw"))[c("status", "body")],
        list(status = 200L, body = "answered"))
    }
  })

  test_that(paste0(place, ": what cannot be is refused, and the handler may go on"), {
    for (prefix in c("/", "/inline/")) {
      response <- http(server, paste0(prefix, "h_invalid"))
      expect_identical(response$status, 200L)
      expect_length(response$raw, 0L)
      expect_identical(codes(server), c(rep(DROVER[["invalid"]], 11L), 0L))
    }
  })

  test_that(paste0(place, ": signals are for other threads"), {
    for (path in c("/h_signals", "/inline/h_signals")) expect_identical(http(server, path)$body, "blocked", info = path)
  })
}
