# The header of PROXY protocol, as balancers send it and as others would like to; and what one address may have.

announced_app <- function() write_app(c(
  "app <- dr_app()",
  "dr_get(app, '/who', function(req) paste(req$remote_addr, req$scheme))",
  "dr_post(app, '/echo', function(req) req$raw)",
  "app"
))

v2_header <- function(rest, command = 0x21, family = 0x11, len = length(rest)) {
  c(charToRaw("\r\n\r\n"), as.raw(0L), charToRaw("\r\nQUIT\n"), as.raw(c(command, family, len %/% 256L, len %% 256L)), rest)
}
v2_from <- function(address, more = raw()) {
  octets <- function(text) as.raw(as.integer(strsplit(text, ".", fixed = TRUE)[[1L]]))
  v2_header(c(octets(address), octets("10.0.0.1"), as.raw(c(0x12, 0x67, 0x01, 0xbb)), more))
}
v1_from <- function(address) charToRaw(paste("PROXY", "TCP4", address, "10.0.0.1 4711 443\r\n"))

# Sends bytes on a connection of its own, one piece after the other, and gives what comes back until its end.
raw_answer <- function(server, ..., pause = 0) {
  con <- socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE, timeout = 120)
  on.exit(close(con))
  try({
    for (piece in list(...)) {
      writeBin(if (is.character(piece)) charToRaw(piece) else piece, con)
      let_pass(pause)
    }
  }, silent = TRUE)
  got <- raw()
  while (length(more <- tryCatch(suppressWarnings(readBin(con, "raw", 65536L)), error = function(e) raw()))) {
    got <- c(got, more)
  }
  rawToChar(got)
}

get_who <- "GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

expect_body <- function(text, body, what) expect(endsWith(text, paste0("\r\n\r\n", body)), what, ": ", encodeString(text))

test_every_worker("a balancer says whom a connection is from", function(start) {
  server <- start(announced_app(), proxy_protocol = c("10.0.0.0/8", "127.0.0.1"))
  expect_body(raw_answer(server, v1_from("192.0.2.7"), get_who), "192.0.2.7 http", "v1")
  expect_body(raw_answer(server, c(v2_from("192.0.2.8"), charToRaw(get_who))), "192.0.2.8 http", "v2")
  tlvs <- as.raw(c(0x04, 0, 3, 1, 2, 3))
  expect_body(raw_answer(server, v2_from("192.0.2.9", tlvs), get_who), "192.0.2.9 http", "what else the header has")
  expect_body(raw_answer(server, v2_header(raw(), 0x20, 0x00), get_who), "127.0.0.1 http", "the balancer's own")
  expect_body(raw_answer(server, "PROXY UNKNOWN\r\n", get_who), "127.0.0.1 http", "a client that it does not know")
  # byte by byte, and with a request behind it that comes in the same piece
  bytes <- c(v1_from("192.0.2.7"), charToRaw(get_who))
  slowly <- c(lapply(bytes[1:12], identity), list(bytes[-(1:12)]))
  expect_body(do.call(raw_answer, c(list(server), slowly, pause = 0.01)), "192.0.2.7 http", "byte by byte")
  # without, nobody is answered
  expect(identical(raw_answer(server, get_who), ""), "a connection without a header is answered")
  expect(logged(server, "WARN 127.0.0.1 closed: a header of PROXY protocol is required, and it does not begin with one"),
    server$log())
  # one that looks only whether the server is there
  close(socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE))
  expect_body(raw_answer(server, v1_from("192.0.2.7"), get_who), "192.0.2.7 http", "after that")
})

test("from others a header is not read", function() {
  server <- serve(announced_app(), proxy_protocol = "10.0.0.0/8")
  expect(grepl("^HTTP/1.1 400 ", raw_answer(server, v1_from("192.0.2.7"), get_who)), "it is believed")
  expect(ask(server, "/who")$body == "127.0.0.1 http", "a client without")
})

test("TLS and HTTP/2 come behind the header, and fields of a proxy behind that", function() {
  server <- serve(announced_app(), proxy_protocol = "127.0.0.1", trusted_proxies = "192.0.2.0/24", workers = 1L,
    tls_cert = pem("server.pem"), tls_key = pem("server.key"))
  haproxy <- c("--haproxy-protocol", "--cacert", pem("ca.pem"))
  for (version in c("--http1.1", "--http2")) {
    expect(ask(server, "/who", haproxy, version)$body == "127.0.0.1 https", version)
  }
  # curl of Debian 12 cannot say another address: the hop that is trusted is the one in the header
  plain <- serve(announced_app(), proxy_protocol = "127.0.0.1", trusted_proxies = "192.0.2.0/24", workers = 1L)
  forwarded <- sub("Host: x", "Host: x\r\nX-Forwarded-For: 198.51.100.1\r\nX-Forwarded-Proto: https", get_who)
  expect_body(raw_answer(plain, v2_from("192.0.2.7"), forwarded), "198.51.100.1 https", "a proxy behind the balancer")
  expect_body(raw_answer(plain, v2_from("203.0.113.7"), forwarded), "203.0.113.7 http", "a client that pretends")
  body <- strrep("x", 3e5)
  post <- paste0("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 300000\r\n\r\n", body)
  expect_body(raw_answer(plain, v2_from("192.0.2.7"), post), body, "a body")
}, ways = 1L)

test("headers that lie, have no end, or do not come", function() {
  # not for the time that they take
  server <- serve(announced_app(), proxy_protocol = "127.0.0.1", header_timeout = 600, workers = 1L)
  refused <- function(why, ...) {
    before <- length(grep(why, server$log(), fixed = TRUE))
    expect(identical(raw_answer(server, ...), ""), why, ": an answer")
    expect(within(function() length(grep(why, server$log(), fixed = TRUE)) > before), why, ": ", server$log())
  }
  refused("the line is too long", paste0("PROXY UNKNOWN ", strrep("x", 1e6)))
  refused("the line is malformed", "PROXY TCP4 192.0.2.7 1.2.3.4 99999 1\r\n", get_who)
  refused("it is too long", v2_header(raw(100), len = 65535L))
  refused("it is too short for its addresses", v2_header(raw(4)), get_who)
  refused("its kind of address is unknown", v2_header(raw(12), family = 0x55), get_who)
  refused("its version or command is unknown", v2_header(raw(12), command = 0x35), get_who)
  runtime <- runtime_folder()
  server <- serve(announced_app(), proxy_protocol = "127.0.0.1", header_timeout = 1, workers = 1L, env = runtime)
  # says more than it has: what follows is taken for it, and the rest never comes
  refused("header of PROXY protocol took too long", v2_header(raw(12), len = 2000L), get_who)
  refused("header of PROXY protocol took too long", "PROXY TCP4 192.0.2.7")
  idle <- lapply(1:20, function(i) socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE))
  on.exit(for (con in idle) close(con))
  for (con in idle) writeBin(charToRaw("PROXY "), con)
  # where this process is slow, it may be one of them
  served <- function() endsWith(raw_answer(server, v1_from("192.0.2.7"), get_who), "192.0.2.7 http")
  expect(within(served), "among those that wait, nobody is served")
  connections <- function() {
    status <- run_to_end(c(drover_program(), "status", "--json"), env = runtime)$log
    max(jsonlite::fromJSON(status[startsWith(status, "[")])$connections)
  }
  expect(within(function() connections() == 0), connections(), " connections stay open")
}, ways = 1L)

test("unix sockets may be a balancer's, too", function() {
  if (!nzchar(Sys.which("python3"))) skip("there is no python3")
  path <- tempfile("socket-")
  server <- serve(announced_app(), host = c("127.0.0.1", paste0("unix:", path)), proxy_protocol = "unix")
  script <- c(
    "import socket, sys",
    "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])",
    "s.sendall(b'PROXY TCP4 192.0.2.7 10.0.0.1 1 2\\r\\nGET /who HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n')",
    "data = b''",
    "while True:",
    "    more = s.recv(4096)",
    "    if not more: break",
    "    data += more",
    "print(data.split(b'\\r\\n\\r\\n')[1].decode())"
  )
  file <- tempfile(fileext = ".py")
  writeLines(script, file)
  said <- processx::run("python3", c(file, path), timeout = patience(60), error_on_status = FALSE)$stdout
  expect(trimws(said) == "192.0.2.7 http", said)
  expect(ask(server, "/who")$body == "127.0.0.1 http", "TCP is not the balancer's")
}, ways = 1L)

opened <- function(n, port, host = "127.0.0.1") {
  lapply(seq_len(n), function(i) socketConnection(host, port, open = "r+b", blocking = FALSE, timeout = 60))
}

# How many of these the server has closed.
closed_of <- function(connections) {
  sum(vapply(connections, function(con) {
    socketSelect(list(con), timeout = 0) && length(tryCatch(readBin(con, "raw", 1L), error = function(e) raw())) == 0L
  }, NA))
}

test_every_worker("an address has as many connections as it may, and others have theirs", function(start) {
  server <- start(announced_app(), host = c("127.0.0.1", "[::1]:0"), max_connections_per_address = 3L,
    header_timeout = 600, keep_alive = 600)
  open <- opened(8L, server$port)
  expect(within(function() closed_of(open) == 5L), closed_of(open), " of 8 are closed, not 5")
  expect(logged(server, "WARN 127.0.0.1 closed: over `max_connections_per_address` = 3"), server$log())
  expect(ask(server, "/who", "-g")$status == "000", "one more is answered")
  second <- sub(".* and (http://[^ ]+) .*", "\\1", grep("listening on", server$log(), value = TRUE)[1L])
  other <- ask(list(url = second), "/who", "-g")
  expect(other$body == "::1 http", "another address: ", other$status, " ", other$body)
  for (con in open) close(con)
  expect(within(function() ask(server, "/who")$status == "200"), "its places are not free again")
})

test("of balancers and proxies each client counts, and not they themselves", function() {
  server <- serve(announced_app(), proxy_protocol = "127.0.0.1", max_connections_per_address = 2L, workers = 1L,
    header_timeout = 600, keep_alive = 600)
  open <- opened(6L, server$port)
  for (i in 1:6) writeBin(v1_from(if (i <= 4L) "192.0.2.1" else "192.0.2.2"), open[[i]])
  expect(within(function() closed_of(open) == 2L), closed_of(open), " of 6 are closed, not 2")
  expect_body(raw_answer(server, v1_from("192.0.2.3"), get_who), "192.0.2.3 http", "a third client")
  for (con in open) close(con)
  trusting <- serve(announced_app(), trusted_proxies = "127.0.0.1", max_connections_per_address = 2L, workers = 1L,
    header_timeout = 600, keep_alive = 600)
  open <- opened(6L, trusting$port)
  expect(ask(trusting, "/who")$status == "200" && closed_of(open) == 0L, "a trusted proxy has a limit")
  for (con in open) close(con)
}, ways = 1L)

test("one address cannot have all handshakes", function() {
  # half of the connections may be in handshakes, and a quarter of these are one address's
  runtime <- runtime_folder()
  server <- serve(announced_app(), host = c("127.0.0.1", "[::1]:0"), max_connections = 400L, workers = 1L,
    tls_cert = pem("server.pem"), tls_key = pem("server.key"), header_timeout = 600, keep_alive = 600, env = runtime)
  open <- opened(70L, server$port)
  on.exit(for (con in open) close(con))
  expect(within(function() closed_of(open) == 20L), closed_of(open), " of 70 are closed, not 20")
  expect(logged(server, "WARN 127.0.0.1 closed: too many TLS handshakes are under way"), server$log())
  second <- sub(".* and (https://[^ ]+) .*", "\\1", grep("listening on", server$log(), value = TRUE)[1L])
  expect(ask(list(url = second), "/who", "-g", "-k")$body == "::1 https", "another address has none left")
  status <- run_to_end(c(drover_program(), "status"), env = runtime)$log
  expect(any(grepl("20 connections refused at once", status)), status)
}, ways = 1L)
