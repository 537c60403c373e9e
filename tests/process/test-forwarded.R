# What trusted proxies say of clients: the table of tests/conformance/forwarded.txt over a socket, and who hears of it.

forwarded_cases <- function() {
  records <- strsplit(paste(readLines(file.path(root, "tests/conformance/forwarded.txt")), collapse = "\n"), "\n\n")[[1L]]
  lapply(records[startsWith(records, "case: ")], function(record) {
    lines <- strsplit(record, "\n", fixed = TRUE)[[1L]]
    after <- function(start) trimws(substring(lines[startsWith(lines, start)], nchar(start) + 1L))
    words <- function(text) strsplit(text, " ", fixed = TRUE)[[1L]]
    list(
      name = after("case:"), trusted = words(after("trusted:")), fields = c(after("fields:"), "x-forwarded")[[1L]],
      sent = after(">"), expected = words(after("="))
    )
  })
}

forwarded_app <- function() write_app(c(
  "app <- dr_app()",
  "dr_get(app, '/who', function(req) paste(req$remote_addr, req$scheme, req$host))",
  "dr_get(app, '/field', function(req) dr_header(req, 'host'))",
  "dr_get(app, '/limited', function(req) 'passed')",
  "dr_rate_limit(app, 2, '1h', routes = '/limited', key = 'address')",
  "dr_post(app, '/change', function(req) 'changed')",
  "dr_csrf(app, routes = '/change')",
  "dr_mount(app, '/rook', list(call = function(env) list(",
  "  status = 200L, headers = list(`Content-Type` = 'text/plain'),",
  "  body = paste(env$REMOTE_ADDR, env$rook.url_scheme, env$SERVER_NAME, env$SERVER_PORT)",
  ")))",
  "dr_ws(app, '/ws', function(conn, msg) dr_ws_send(conn, conn$state),",
  "  on_connect = function(conn) conn$state <- conn$request$remote_addr)",
  "app"
))

sending <- function(...) unlist(lapply(c(...), function(field) c("-H", field)))

test("the table of what is believed", function() {
  cases <- forwarded_cases()
  expect(length(cases) > 30, length(cases), " cases")
  key <- vapply(cases, function(case) paste(c(case$fields, case$trusted), collapse = " "), "")
  for (group in split(cases, key)) {
    flags <- list(forwarded_app(), workers = 1L, forwarded_fields = group[[1L]]$fields)
    if (length(group[[1L]]$trusted)) flags$trusted_proxies <- paste(group[[1L]]$trusted, collapse = ",")
    server <- do.call(serve, flags)
    own <- c("127.0.0.1", "http", sub("http://", "", server$url))
    for (case in group) {
      expected <- ifelse(case$expected == "-", own, case$expected)
      answer <- ask(server, "/who", sending(case$sent))
      expect(answer$body == paste(expected, collapse = " "), case$name, ": ", answer$status, " ", answer$body)
    }
  }
}, ways = 1L)

test_every_worker("what a trusted proxy says is what handlers, logs, limits and guards know", function(start) {
  log <- tempfile("access-", fileext = ".log")
  server <- start(forwarded_app(), trusted_proxies = c("10.0.0.0/8", "127.0.0.1"), access_log = log)
  client <- function(address, ...) {
    sending(paste0("X-Forwarded-For: 6.6.6.6, ", address, ", 10.0.0.1"), "X-Forwarded-Proto: https",
      "X-Forwarded-Host: shop.example", ...)
  }
  for (version in c("--http1.1", "--http2-prior-knowledge")) {
    answer <- ask(server, "/who", version, client("192.0.2.7"))
    expect(answer$body == "192.0.2.7 https shop.example", version, ": ", answer$body)
  }
  expect(ask(server, "/field", client("192.0.2.7"))$body == "shop.example", "the field Host is another")
  answer <- ask(server, "/rook/", client("2001:db8::7"))
  expect(answer$body == "2001:db8::7 https shop.example 443", "Rook: ", answer$body)
  expect(within(function() any(grepl("^192.0.2.7 - - .*GET /who", readLines(log)))), readLines(log))
  # of one connection, as a proxy has it: two clients
  statuses <- vapply(c("192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8::3"),
    function(address) ask(server, "/limited", client(address))$status, "")
  expect(identical(unname(statuses), c("200", "200", "429", "200", "200", "200", "429")), toString(statuses))
  change <- function(origin, ...) ask(server, "/change", "-d", "x", "-H", paste("Origin:", origin), ...)$status
  expect(change("https://shop.example", client("192.0.2.7")) == "200", "the page of the host that it asked for")
  expect(change(server$url, client("192.0.2.7")) == "403", "a page of the host that the proxy asks for")
  expect(change("https://shop.example") == "403", "a page of a host that nobody asked for")
  socket <- ws(server, "/ws", "X-Forwarded-For: 192.0.2.9")
  expect(identical(ws_ask(socket, "who"), "192.0.2.9"), "a WebSocket is another's")
})

test_every_worker("whoever is not trusted may say what it likes", function(start) {
  server <- start(forwarded_app(), trusted_proxies = c("10.0.0.0/8", "unix"))
  spoofed <- sending("X-Forwarded-For: 10.0.0.1", "X-Forwarded-Proto: https", "X-Forwarded-Host: evil.example",
    "X-Forwarded-Port: 1", "Forwarded: for=10.0.0.1;proto=https;host=evil.example", "X-Real-IP: 10.0.0.1")
  own <- paste("127.0.0.1 http", sub("http://", "", server$url))
  expect(ask(server, "/who", spoofed)$body == own, "it is believed")
  statuses <- vapply(1:3, function(n) {
    ask(server, "/limited", sending(paste0("X-Forwarded-For: 192.0.2.", n), paste0("Forwarded: for=192.0.2.", n)))$status
  }, "")
  expect(identical(statuses, c("200", "200", "429")), toString(statuses))
})

test("what is no network is told before it listens", function() {
  ended <- run_to_end(command_of(forwarded_app(), trusted_proxies = "127.0.0.1,localhost"))
  expect(ended$status != 0L && any(grepl("trusted_proxies: must be networks such as .*not 'localhost'", ended$log)),
    ended$log)
  expect(!any(grepl("listening", ended$log)), "it listens")
})
