# 103 before the response, over HTTP/1.1 byte by byte and over HTTP/2 frame by frame. Handlers stand at gates: what
# comes before the test opens one came before the response.

style <- "</app.css>; rel=preload; as=style"
fonts <- "<https://fonts.example>; rel=preconnect"

server <- local_server({
  app <- dr_app()
  style <- "</app.css>; rel=preload; as=style"
  links <- c(style, "<https://fonts.example>; rel=preconnect")
  dr_any(app, "/page/<gate>", function(req) {
    stand_at(req$params$gate)
    dr_html("a page")
  }, early_hints = links)
  dr_get(app, "/fails", function(req) dr_abort(422), early_hints = links)
  dr_get(app, "/moved", function(req) dr_redirect("/"), early_hints = style)
  dr_get(app, "/known", function(req) dr_response(status = 304L), early_hints = style)
  dr_get(app, "/own", function(req) dr_set_header("own", "Link", style), early_hints = links)
  dr_post(app, "/form", function(req) req$body, early_hints = style)
  dr_get(app, "/kept", function(req) {
    note("made", "one")
    dr_set_header("kept", "Cache-Control", "max-age=60")
  }, early_hints = style)
  dr_cache(app, routes = "/kept")
  dr_rate_limit(app, 1, "1h", routes = "/limited")
  dr_get(app, "/limited", function(req) "limited", early_hints = style)
  dr_get(app, "/stale", function(req) {
    note("fresh", "one")
    dr_set_header("stale", "Cache-Control", "max-age=0, stale-while-revalidate=60")
  }, early_hints = style)
  dr_cache(app, routes = "/stale")
  dr_get(app, "/asks/<gate>", function(req) {
    told <- c(
      dr_early_hints(req, "</a.png>; rel=preload; as=image"),
      dr_early_hints(req, c("</b.png>; rel=preload; as=image", "</c.png>; rel=preload; as=image"))
    )
    stand_at(req$params$gate)
    list(told = told)
  }, early_hints = style)
  dr_get(app, "/asks-wrongly", function(req) dr_early_hints(req, "/app.css"))
  dr_get(app, "/plain", function(req) "plain")
}, frame = teardown_env())

navigates <- c("Sec-Fetch-Mode" = "navigate")
links_of <- function(response) unname(response$headers[names(response$headers) == "link"])

# What a client of HTTP/1.1 gets that sends this, up to the final response.
heads <- function(path, method = "GET", headers = navigates, body = NULL) {
  client <- raw_client(server$port)
  client_send(client, request_bytes(path, method, headers, body))
  responses_of(client, method)
}

responses_of <- function(client, method = "GET") {
  responses <- list()
  repeat {
    response <- client_response(client, head = method == "HEAD")
    responses <- c(responses, list(response))
    if (is.null(response) || response$status >= 200L) return(responses)
  }
}

statuses <- function(responses) vapply(responses, `[[`, 0L, "status")

test_that("a browser that opens a page is told of its links while the handler runs", {
  client <- raw_client(server$port)
  client_send(client, request_bytes("/page/one", headers = navigates))
  early <- client_response(client)
  expect_identical(early[c("status", "reason")], list(status = 103L, reason = "Early Hints"))
  # nothing else: neither a date nor a length
  expect_identical(early$headers[nzchar(early$headers)], c(link = style, link = fonts))
  expect_true(marked(server, "one"))
  open_gate(server, "one")
  final <- client_response(client)
  expect_identical(final[c("status", "text")], list(status = 200L, text = "a page"))
  expect_identical(links_of(final), c(style, fonts))
  # the connection goes on
  client_send(client, request_bytes("/plain"))
  expect_identical(client_response(client)$text, "plain")
})

test_that("clients of HTTP/2 are told, without the end of the stream", {
  client <- h2_client(server$port)
  client_send(client, h2_headers(1, h2_request_fields("/page/two")))
  is_head <- function(frame) frame$type == "HEADERS"
  early <- h2_until(client, is_head)
  expect_identical(h2_status(early), 103L)
  expect_identical(bitwAnd(early$flags, 1L), 0L)
  expect_true(marked(server, "two"))
  open_gate(server, "two")
  expect_identical(h2_status(h2_until(client, is_head)), 200L)
  body <- h2_until(client, function(frame) frame$type == "DATA" && length(frame$payload))
  expect_identical(rawToChar(body$payload), "a page")
})

test_that("HTTP/2 has the same fields", {
  ran <- processx::run("curl", c("-s", "-i", "--http2-prior-knowledge", paste0(server$url, "/own")))
  both <- strsplit(ran$stdout, "\r\n\r\n", fixed = TRUE)[[1L]]
  expect_match(both[[1L]], "^HTTP/2 103 ?\r\n")
  expect_identical(strsplit(both[[1L]], "\r\n", fixed = TRUE)[[1L]][-1L], paste("link:", c(style, fonts)))
  expect_match(both[[2L]], "^HTTP/2 200 ?\r\n")
  # what the handler gives is there once
  expect_length(gregexpr("link: ", both[[2L]], fixed = TRUE)[[1L]], 2L)
})

test_that("requests of one HTTP/2 connection get their own", {
  client <- h2_client(server$port)
  streams <- c(1, 3, 5)
  ask <- function(stream, path) h2_headers(stream, h2_request_fields(path))
  client_send(client, unlist_raw(Map(ask, streams, c("/page/three", "/plain", "/page/five"))))
  open_gate(server, "three")
  open_gate(server, "five")
  seen <- list()
  while (sum(vapply(seen, function(frame) bitwAnd(frame$flags, 1L) == 1L, NA)) < 3L) {
    frame <- h2_until(client, function(frame) frame$type %in% c("HEADERS", "DATA"))
    if (is.null(frame)) break
    seen <- c(seen, list(frame))
  }
  number <- vapply(Filter(function(frame) frame$type == "HEADERS", seen), `[[`, 0, "stream")
  expect_identical(vapply(streams, function(stream) sum(number == stream), 0L), c(2L, 1L, 2L))
})

test_that("clients that may not know of 103 get none, but the links", {
  open_gate(server, "open")
  expect_identical(statuses(heads("/page/open")), c(103L, 200L))
  proxies <- list(c(navigates, Via = "1.1 a"), c(navigates, "X-Forwarded-For" = "192.0.2.1"))
  for (headers in c(list(character(), c("Sec-Fetch-Mode" = "cors")), proxies)) {
    only <- heads("/page/open", headers = headers)
    expect_identical(statuses(only), 200L)
    expect_identical(links_of(only[[1L]]), c(style, fonts))
  }
  old <- fetch_bytes(server, "GET /page/open HTTP/1.0\r\nHost: a\r\nSec-Fetch-Mode: navigate\r\n\r\n")
  expect_identical(old$status, 200L)
})

test_that("an answer to HEAD has the links, and nothing before it", {
  only <- heads("/page/open", "HEAD")
  expect_identical(statuses(only), 200L)
  expect_identical(links_of(only[[1L]]), c(style, fonts))
})

test_that("an error after hints is an error, without links", {
  both <- heads("/fails")
  expect_identical(statuses(both), c(103L, 422L))
  expect_length(links_of(both[[2L]]), 0L)
})

test_that("redirects have links, and what a client has already has none", {
  expect_identical(links_of(heads("/moved")[[2L]]), style)
  known <- heads("/known")
  expect_identical(statuses(known), c(103L, 304L))
  expect_length(links_of(known[[2L]]), 0L)
})

test_that("hints of pipelined requests stand before their own responses", {
  client <- raw_client(server$port)
  paths <- c("/own", "/plain", "/fails", "/own")
  client_send(client, unlist_raw(lapply(paths, request_bytes, headers = navigates)))
  seen <- unlist(lapply(paths, function(path) statuses(responses_of(client))))
  expect_identical(seen, c(103L, 200L, 200L, 103L, 422L, 103L, 200L))
})

test_that("a request with a body has hints once that is here", {
  client <- raw_client(server$port)
  bytes <- request_bytes("/form", "POST", c(navigates, Expect = "100-continue"), strrep("a", 100))
  client_send(client, head(bytes, -100))
  expect_identical(client_response(client)$status, 100L)
  client_send(client, tail(bytes, 100))
  expect_identical(statuses(responses_of(client)), c(103L, 200L))
})

test_that("what is answered without the handler has no hints", {
  first <- heads("/kept")
  expect_identical(statuses(first), c(103L, 200L))
  again <- heads("/kept")
  expect_identical(statuses(again), 200L)
  expect_identical(noted(server, "made"), 1L)
  expect_match(again[[1L]]$headers[["cache-status"]], "hit")
  for (kept in list(first[[2L]], again[[1L]])) expect_identical(links_of(kept), style)
  expect_identical(statuses(heads("/limited")), c(103L, 200L))
  refused <- heads("/limited")
  expect_identical(statuses(refused), 429L)
  expect_length(links_of(refused[[1L]]), 0L)
})

test_that("a response that is made anew in the background has no hints for anybody", {
  client <- raw_client(server$port)
  client_send(client, request_bytes("/stale", headers = navigates))
  expect_identical(statuses(responses_of(client)), c(103L, 200L))
  client_send(client, request_bytes("/stale", headers = navigates))
  expect_identical(statuses(responses_of(client)), 200L)
  expect_true(within(function() noted(server, "fresh") == 2L))
  client_send(client, request_bytes("/plain", headers = navigates))
  expect_identical(statuses(responses_of(client)), 200L)
})

test_that("a handler tells of its own links, behind those of the route and before it ends", {
  client <- raw_client(server$port)
  client_send(client, request_bytes("/asks/four", headers = navigates))
  images <- sprintf("</%s.png>; rel=preload; as=image", c("a", "b", "c"))
  for (links in list(style, images[[1L]], images[2:3])) {
    early <- client_response(client)
    expect_identical(early$status, 103L)
    expect_identical(links_of(early), links)
  }
  expect_true(marked(server, "four"))
  open_gate(server, "four")
  final <- client_response(client)
  expect_identical(final$text, "{\"told\":[true,true]}")
  expect_identical(links_of(final), style)
  # others are not told, and the handler does not mind
  open_gate(server, "asked")
  only <- heads("/asks/asked", headers = character())
  expect_identical(statuses(only), 200L)
  expect_identical(only[[1L]]$text, "{\"told\":[true,true]}")
})

test_that("wrong arguments of dr_early_hints() are named, and without a server it does nothing", {
  expect_identical(fetch(server, "/asks-wrongly")$status, 500L)
  expect_length(server$wait_log("`links` must be links such as .*, a string for each, not \"/app.css\""), 1L)
  expect_argument_error(dr_early_hints(list(), style), "`req` must be a dr_request object")
  req <- structure(new.env(), class = "dr_request")
  expect_argument_error(dr_early_hints(req, NULL), "`links` must be links such as")
  expect_identical(withVisible(dr_early_hints(req, style)), list(value = FALSE, visible = FALSE))
})

test_that("dr_test() has the final response", {
  app <- dr_app()
  dr_get(app, "/", function(req) as.character(dr_early_hints(req, fonts)), early_hints = style)
  client <- dr_test(app)
  response <- client$get("/", headers = list("Sec-Fetch-Mode" = "navigate"))
  client$stop()
  expect_identical(response[c("status", "text")], list(status = 200L, text = "TRUE"))
  expect_identical(response$headers$link, style)
})

test_that("a client that has gone is not told, and others are served", {
  client <- raw_client(server$port)
  client_send(client, request_bytes("/page/gone", headers = navigates))
  expect_true(marked(server, "gone"))
  client_close(client)
  open_gate(server, "gone")
  expect_identical(fetch(server, "/plain")$text, "plain")
})

test_that("clients of C handlers are told, too", {
  local_handlers()
  server <- local_cpp_server("session", more = c(
    "hints <- '</app.css>; rel=preload; as=style'",
    "dr_get_cpp(app, '/hinted', package, 'h_later', inline = TRUE, early_hints = hints)",
    "dr_get_cpp(app, '/at-once', package, 'h_text', inline = TRUE, early_hints = hints)"
  ))
  client <- raw_client(server$port)
  client_send(client, request_bytes("/hinted?at=late", headers = navigates))
  expect_identical(client_response(client)$status, 103L)
  expect_true(marked(server, "late"))
  open_gate(server, "late")
  final <- client_response(client)
  expect_identical(final$status, 200L)
  expect_identical(links_of(final), style)
  # there is nothing ahead of an answer that is here
  final <- fetch(server, "/at-once", headers = navigates)
  expect_identical(final$status, 200L)
  expect_identical(links_of(final), style)
})
