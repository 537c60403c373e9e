# What is over a limit: which limit a route has, and that the log names the setting by its name and value, so that
# whoever reads it knows what to change.

file_of <- function(bytes) {
  file <- tempfile("body-")
  writeBin(raw(bytes), file)
  file
}

# The status of a POST of so many bytes.
post_bytes <- function(server, path, bytes, ...) {
  ask(server, path, "-H", "Expect:", "-H", "Content-Type: application/octet-stream", "--data-binary",
    paste0("@", file_of(bytes)), ...)$status
}

expect_refused <- function(server, status, came, pattern) {
  expect(came == status, "status ", came, ", not ", status)
  expect(logged(server, pattern), "the log does not say ", pattern, ":\n", paste(server$log(), collapse = "\n"))
}

# What a client sends as it is, and the status of the first answer.
send_bytes <- function(server, text) {
  connection <- socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE, timeout = 60)
  on.exit(close(connection))
  writeBin(charToRaw(text), connection)
  sub("^HTTP/1.1 ([0-9]+).*", "\\1", readLines(connection, 1L, warn = FALSE))
}

test("a refusal for a limit names its setting and value in the log", function() {
  server <- serve(write_app(c(
    "app <- dr_app()", "dr_any(app, '/x', function(req) 'x')",
    "dr_get(app, '/query', function(req) length(req$query))", "dr_post(app, '/form', function(req) length(req$form))", "app"
  )), workers = 1, max_body = 1000, max_fields = 3, max_parts = 2, max_request_line = 200, max_header_field = 300,
    max_header_size = 400, max_headers = 5, header_timeout = "2s", body_timeout = "2s", access_log_format = "json",
    access_log = access <- tempfile("access-"))
  head <- "HTTP/1.1\r\nHost: localhost\r\n"
  # in one wording, in whatever form the body comes
  bodies <- list(character(), c("-H", "Transfer-Encoding: chunked"), "--http2-prior-knowledge")
  too_large <- "413 the body may have at most 1000 bytes: over `max_body` = 1000"
  for (n in seq_along(bodies)) {
    came <- post_bytes(server, "/x", 1001, bodies[[n]])
    # curl may give up a stream of HTTP/2 that is reset before it has read its answer
    expect(came == "413" || (came == "000" && n == 3L), toString(bodies[[n]]), ": status ", came)
    expect(within(function() sum(grepl(too_large, server$log(), fixed = TRUE)) == n), "not in the log: ", too_large)
  }
  line <- paste0("GET /x?", strrep("a", 300), " ", head, "\r\n")
  expect_refused(server, "414", send_bytes(server, line), "414 .*over `max_request_line` = 200")
  field <- paste0("GET /x ", head, "A: ", strrep("a", 400), "\r\n\r\n")
  expect_refused(server, "431", send_bytes(server, field), "431 .*over `max_header_field` = 300")
  section <- paste0("GET /x ", head, "A: ", strrep("a", 200), "\r\nB: ", strrep("a", 200), "\r\n\r\n")
  expect_refused(server, "431", send_bytes(server, section), "431 .*over `max_header_size` = 400")
  many <- paste0("GET /x ", head, paste0("A", 1:5, ": a\r\n", collapse = ""), "\r\n")
  expect_refused(server, "431", send_bytes(server, many), "431 .*over `max_headers` = 5")
  expect_refused(server, "408", send_bytes(server, "GET /x HT"), "408 .*over `header_timeout` = 2 s")
  slow <- paste0("POST /x ", head, "Content-Length: 9\r\n\r\na")
  expect_refused(server, "408", send_bytes(server, slow), "408 .*over `body_timeout` = 2 s, or below `min_body_rate` = 500")
  expect_refused(server, "400", ask(server, "/query?a=1&b=2&c=3&d=4")$status, "400 .*more than 3 fields \\(`max_fields`\\)")
  expect_refused(server, "400", ask(server, "/form", "-F", "a=1", "-F", "b=2", "-F", "c=3")$status,
    "400 .*more than 2 parts \\(`max_parts`\\)")
  # the same of HTTP/2, where a library reads the fields
  http2 <- function(...) ask(server, "/x", "--http2-prior-knowledge", "-A", "", "-H", "Accept:", ...)$status
  expect(http2() == "200", "HTTP/2 does not work")
  count <- function(pattern) sum(grepl(pattern, server$log()))
  over_http2 <- function(status, came, setting) {
    pattern <- paste0(" ", status, " .*over `", setting, "` = ")
    expect(came == status, setting, ": status ", came, ", not ", status)
    expect(within(function() count(pattern) >= 2L), "the log does not say ", setting, " of HTTP/2")
  }
  over_http2("431", http2("-H", paste0("A: ", strrep("a", 400))), "max_header_field")
  over_http2("431", http2("-H", paste0("A: ", strrep("a", 190)), "-H", paste0("B: ", strrep("a", 190))), "max_header_size")
  over_http2("431", http2(unlist(lapply(1:5, function(i) c("-H", paste0("A", i, ": a"))))), "max_headers")
  over_http2("414", ask(server, paste0("/x?", strrep("a", 250)), "--http2-prior-knowledge")$status, "max_request_line")
  lines <- readLines(access)
  expect(any(grepl("over `max_request_line` = 200", lines)), "the access log does not say why")
})

test("long URLs, fields and cookies pass by default, in both versions of HTTP", function() {
  server <- serve(write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/x', function(req) paste(nchar(req$query$q), nchar(c(req$headers$cookie, '')[[1L]])))", "app"
  )), workers = 1)
  for (version in c("--http1.1", "--http2-prior-knowledge")) {
    url <- ask(server, paste0("/x?q=", strrep("a", 60000)), version)
    expect(url$body == "60000 0", version, ": a long URL: ", url$status, " ", url$body)
    cookie <- ask(server, "/x?q=1", version, "-H", paste0("Cookie: a=", strrep("b", 60000)))
    expect(cookie$body == "1 60002", version, ": a long cookie: ", cookie$status, " ", cookie$body)
  }
})

# Header sections that do not end, in more connections than there is memory for them: python, as R has 128 connections.
hold_heads <- function(server, connections, bytes) {
  script <- tempfile("heads-", fileext = ".py")
  writeLines(c(
    "import socket, sys", "held = []", "refused = 0",
    sprintf("for i in range(%d):", connections),
    sprintf("    one = socket.create_connection(('127.0.0.1', %d))", server$port),
    sprintf("    one.sendall(b'GET /text HTTP/1.1\\r\\nHost: localhost\\r\\nX: ' + b'a' * %d)", bytes),
    "    held.append(one)", "print('held', flush=True)", "sys.stdin.read()"
  ), script)
  client <- start_client("python3", script, stdin = "|", stdout = "|")
  expect(within(function() length(client$read_output_lines()) > 0L), "the connections are not made")
  client
}

test("header sections that are held back have a bounded part of memory, and leave it when they are gone", function() {
  if (!nzchar(Sys.which("python3"))) return(skip("there is no python3"))
  server <- serve(write_app(c("app <- dr_app()", "dr_get(app, '/text', function(req) 'x')", "app")), workers = 1,
    header_timeout = "1h")
  long <- c("-H", paste0("X: ", strrep("a", 60000)))
  expect(ask(server, "/text", long)$status == "200", "a long one is refused")
  # 64 MB are those of 1198
  client <- hold_heads(server, 1400, 60000)
  expect(logged(server, "503 too many long header sections are being received"), "none is refused")
  expect(ask(server, "/text")$status == "200", "a short one is refused")
  client$kill()
  expect(within(function() ask(server, "/text", long)$status == "200"), "there is no room when they are gone")
})

test("a route may have a longest body of its own, in the session and in HTTP/2", function() {
  app <- write_app(c(
    "app <- dr_app()", "for (path in c('/long', '/short', '/usual')) local({",
    "  most <- c('/long' = '3MB', '/short' = '100', '/usual' = NA)[[path]]",
    "  dr_post(app, path, function(req) as.character(length(req$raw)), max_body = if (!is.na(most)) most)",
    "})", "app"
  ))
  servers <- list(serve(app, workers = 1), starts[["the session"]](app))
  for (server in servers) {
    for (more in list(character(), "--http2-prior-knowledge", c("-H", "Transfer-Encoding: chunked"))) {
      came <- c(
        post_bytes(server, "/long", 2.5e6, more), post_bytes(server, "/long", 3.5e6, more), post_bytes(server, "/short", 100, more),
        post_bytes(server, "/short", 101, more), post_bytes(server, "/usual", 1e6, more), post_bytes(server, "/usual", 1.5e6, more)
      )
      # curl may give up a stream of HTTP/2 that is reset before it has read its answer
      fits <- came == "413" | (came == "000" & identical(more, "--http2-prior-knowledge"))
      expect(identical(came == "200", c(TRUE, FALSE, TRUE, FALSE, TRUE, FALSE)) && all(fits | came == "200"),
        toString(more), ": ", toString(came))
    }
    expect(logged(server, "413 .*over `max_body` = 3000000"), "the log does not say `max_body` of the route")
    expect(logged(server, "413 .*over `max_body` = 100$"), "the log does not say `max_body` of the short one")
  }
})

# A router that says how long bodies may be, below a path of an app, which has a route of its own.
sized_router <- function(most) write_app(c(
  sprintf("plumber::options_plumber(maxRequestSize = %s)", most),
  "pr <- plumber::pr_post(plumber::pr(), '/size', function(req) length(req$bodyRaw))",
  "app <- dr_app()", "dr_post(app, '/own', function(req) as.character(length(req$raw)))",
  "dr_mount(app, '/pr', pr)", "app"
))

test_every_worker("maxRequestSize of options_plumber() is the limit of a router's routes, unless max_body was given", function(start) {
  if (!requireNamespace("plumber", quietly = TRUE)) return(skip("plumber is not installed"))
  router <- sized_router("3e6")
  server <- start(router)
  expect(logged(server, "`maxRequestSize` = 3000000 of options_plumber\\(\\) holds for the router's routes"),
    "it is not said which limit holds:\n", paste(server$log(), collapse = "\n"))
  came <- c(post_bytes(server, "/pr/size", 2e6), post_bytes(server, "/pr/size", 4e6), post_bytes(server, "/own", 2e6))
  expect(identical(came, c("200", "413", "413")), toString(came))
  expect(logged(server, "413 .*over `max_body` = 3000000"), "the log does not name the limit")
  server <- start(router, max_body = 1048576)
  expect(logged(server, "`maxRequestSize` = 3000000 .* is not used: `max_body` = 1048576 was given"),
    "it is not said which limit holds:\n", paste(server$log(), collapse = "\n"))
  came <- c(post_bytes(server, "/pr/size", 1e6), post_bytes(server, "/pr/size", 2e6))
  expect(identical(came, c("200", "413")), "with max_body: ", toString(came))
  # what plumber would refuse by itself
  server <- start(sized_router("1000"), max_body = 5000)
  came <- c(post_bytes(server, "/pr/size", 4000), post_bytes(server, "/pr/size", 6000))
  expect(identical(came, c("200", "413")), "a smaller one: ", toString(came))
  server <- start(sized_router("1000"))
  came <- c(post_bytes(server, "/pr/size", 1000), post_bytes(server, "/pr/size", 1001), post_bytes(server, "/own", 1001))
  expect(identical(came, c("200", "413", "200")), "a smaller one, alone: ", toString(came))
  # any size
  server <- start(sized_router("0"))
  expect(post_bytes(server, "/pr/size", 3e6) == "200", "0 is not any size")
}, of = c("the session", "forks of the session", "dr_run()", "drover serve"))
