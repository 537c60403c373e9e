# HTTP/2 without TLS: honest clients through curl, refused fields and floods frame by frame (helper-h2-frames.R).

server <- local_server({
  app <- dr_app()
  calls <- 0L
  dr_get(app, "/protocol", function(req) req$protocol)
  dr_get(app, "/host", function(req) req$host)
  dr_post(app, "/echo", function(req) req$raw)
  dr_get(app, "/big", function(req) rep(as.raw(0:249), 40000))
  dr_get(app, "/fail", function(req) stop("secret-7"))
  dr_get(app, "/count", function(req) {
    calls <<- calls + 1L
    "counted"
  })
  dr_get(app, "/calls", function(req) as.character(calls))
  dr_get(app, "/stand/<gate>", function(req) {
    stand_at(req$params$gate)
    "stood"
  })
}, max_body = 20e6, frame = teardown_env())

h2 <- function(target, ...) http(server, target, "--http2-prior-knowledge", ...)

test_that("GET, HEAD, POST, 404, 405 and 500 work over HTTP/2", {
  expect_identical(h2("/protocol")$body, "HTTP/2")
  expect_identical(h2("/protocol", "--head")$status, 200L)
  client <- h2_client(server$port)
  client_send(client, h2_headers(1, h2_request_fields("/protocol", "HEAD")))
  head <- h2_until(client, function(frame) frame$type == "HEADERS")
  expect_identical(h2_status(head), 200L)
  # END_STREAM, or nothing but an empty DATA frame with it
  if (!bitwAnd(head$flags, 1L)) expect_length(h2_until(client, function(frame) frame$type == "DATA")$payload, 0)
  expect_identical(h2("/echo", "--data-binary", "a=1")$body, "a=1")
  expect_identical(h2("/none")$status, 404L)
  wrong <- h2("/echo")
  expect_identical(wrong$status, 405L)
  expect_match(wrong$headers[["allow"]], "POST")
  failed <- h2("/fail")
  expect_identical(failed$status, 500L)
  expect_false(grepl("secret-7", failed$body))
  expect_match(h2("/host", "-H", "Host: example.org")$body, "^example.org")
})

test_that("big bodies arrive whole in both directions over HTTP/2", {
  expect_identical(h2("/big")$raw, rep(as.raw(0:249), 40000))
  file <- withr::local_tempfile()
  bytes <- rep(as.raw(c(0:255, 3)), 40000)
  writeBin(bytes, file)
  expect_identical(h2("/echo", "--data-binary", paste0("@", file))$raw, bytes)
})

# Not through curl: 7.88 takes the reset after an early answer for an error.
test_that("a body over max_body is 413 over HTTP/2, before it is sent", {
  client <- h2_client(server$port)
  client_send(client, h2_headers(1, h2_request_fields("/echo", "POST", c("content-length" = "21000000")), open = TRUE))
  expect_identical(h2_status(h2_until(client, function(frame) frame$type == "HEADERS")), 413L)
  # RFC 9113 section 8.1: the answer first, then a reset without an error asks for no more of the body
  last <- h2_until(client, function(frame) frame$type == "RST_STREAM")
  expect_identical(from_be(last$payload), 0)
})

test_that("many streams of one connection are answered, each with its own answer", {
  client <- h2_client(server$port)
  streams <- 2 * (0:79) + 1
  client_send(client, unlist_raw(lapply(streams, function(stream) h2_headers(stream, h2_request_fields("/protocol")))))
  bodies <- character()
  while (length(bodies) < 80) {
    frame <- h2_until(client, function(frame) frame$type == "DATA" && length(frame$payload))
    if (is.null(frame)) break
    bodies[[as.character(frame$stream)]] <- rawToChar(frame$payload)
  }
  expect_setequal(as.numeric(names(bodies)), streams)
  expect_true(all(bodies == "HTTP/2"))
  skip_if(Sys.which("h2load") == "", "no h2load")
  load <- c("-n", "2000", "-c", "2", "-m", "50", paste0(server$url, "/protocol"))
  ran <- processx::run("h2load", load, timeout = patience())
  expect_match(ran$stdout, "2000 succeeded, 0 failed, 0 errored")
})

# The status that one request gets on a connection of its own: "reset" or "closed" when it is refused without one.
h2_outcome <- function(fields) {
  client <- h2_client(server$port)
  client_send(client, h2_headers(1, fields))
  frame <- h2_until(client, function(frame) frame$type %in% c("HEADERS", "RST_STREAM", "GOAWAY"))
  if (is.null(frame)) return(if (client$closed) "closed" else "nothing")
  switch(frame$type, HEADERS = as.character(h2_status(frame)), "reset")
}

test_that("the frame client is understood", {
  expect_identical(h2_outcome(h2_request_fields("/protocol")), "200")
  expect_identical(h2_outcome(h2_request_fields("/none")), "404")
  expect_identical(h2_outcome(h2_request_fields("/echo")), "405")
})

test_that("fields that HTTP/2 or the server forbids are refused", {
  refused <- c("400", "reset", "closed")
  bad <- list(
    underscore = h2_request_fields("/count", c(content_length = "1")),
    upper_case = h2_request_fields("/count", c("X-Upper" = "1")),
    no_authority = h2_request_fields("/count", authority = NULL),
    empty_authority = h2_request_fields("/count", authority = ""),
    bad_authority = h2_request_fields("/count", authority = "a b"),
    userinfo = h2_request_fields("/count", authority = "user@localhost"),
    other_host = h2_request_fields("/count", c(host = "other.example")),
    two_hosts = h2_request_fields("/count", c(host = "a", host = "b"), authority = NULL),
    connection = h2_request_fields("/count", c(connection = "keep-alive")),
    transfer_encoding = h2_request_fields("/count", c("transfer-encoding" = "chunked")),
    te = h2_request_fields("/count", c(te = "gzip")),
    crlf = h2_request_fields("/count", c(x = "a\r\nb: c")),
    null_path = h2_request_fields(""),
    relative_path = h2_request_fields("count"),
    path_space = h2_request_fields("/co unt"),
    unknown_pseudo = h2_request_fields("/count", c(":x" = "1")),
    pseudo_after = c(":method" = "GET", ":scheme" = "http", x = "1", ":path" = "/count", ":authority" = "localhost"),
    two_paths = h2_request_fields("/count", c(":path" = "/count")),
    no_method = c(":scheme" = "http", ":path" = "/count", ":authority" = "localhost"),
    length_mismatch = h2_request_fields("/count", c("content-length" = "5"))
  )
  before <- fetch(server, "/calls")$text
  for (name in names(bad)) expect_true(h2_outcome(bad[[name]]) %in% refused, label = paste(name, "is refused"))
  expect_identical(fetch(server, "/calls")$text, before)
  expect_true(h2_outcome(h2_request_fields("/count", method = "CONNECT")) %in% c("405", refused))
  expect_true(h2_outcome(h2_request_fields("/count", method = "TRACE")) %in% c("405", refused))
})

calls <- function() as.integer(fetch(server, "/calls")$text)

# A connection whose request keeps R busy from now on, until its end() is called.
busy_client <- function(env = parent.frame()) {
  gate <- basename(tempfile("gate"))
  client <- raw_client(server$port, env)
  client_send(client, request_bytes(paste0("/stand/", gate)))
  expect_true(marked(server, gate))
  client$end <- function() {
    open_gate(server, gate)
    expect_identical(client_response(client)$text, "stood")
  }
  client
}

# Sends `attack(i)` for i = 1 to n in batches until the server ends the connection; how many it took.
flood <- function(attack, n = 3000, batch = 50) {
  client <- h2_client(server$port)
  sent <- 0
  ended <- function(frame) frame$type == "GOAWAY" && from_be(frame$payload[5:8]) != 0
  while (sent < n) {
    if (!client_send(client, unlist_raw(lapply(sent + seq_len(batch), attack)))) return(sent)
    sent <- sent + batch
    while (client_fill(client, 0)) NULL
    if (client$closed) return(sent)
    goaway <- h2_until(client, ended, timeout = 0)
    if (!is.null(goaway)) return(sent)
  }
  frame <- h2_until(client, ended)
  if (!is.null(frame) || client$closed) sent else Inf
}

test_that("a rapid reset ends with the connection, and R runs no more than the streams allow", {
  before <- calls()
  busy <- busy_client()
  sent <- flood(function(i) {
    stream <- 2 * i - 1
    c(h2_headers(stream, h2_request_fields("/count")), h2_frame("RST_STREAM", stream = stream, payload = be_bytes(8, 4)))
  })
  expect_lte(sent, 3000)
  busy$end()
  expect_lte(calls() - before, 1100)
})

test_that("resets that the server is made to send count too", {
  before <- calls()
  busy <- busy_client()
  sent <- flood(function(i) {
    stream <- 2 * i - 1
    c(h2_headers(stream, h2_request_fields("/count"), open = TRUE), h2_frame("WINDOW_UPDATE", stream = stream, payload = be_bytes(0, 4)))
  })
  expect_lte(sent, 3000)
  busy$end()
  expect_lte(calls() - before, 1100)
})

test_that("a request that was reset while it waited for R is not run", {
  before <- calls()
  busy <- busy_client()
  client <- h2_client(server$port)
  streams <- 2 * (0:9) + 1
  client_send(client, unlist_raw(lapply(streams, function(stream) h2_headers(stream, h2_request_fields("/count")))))
  client_send(client, unlist_raw(lapply(streams, function(stream) h2_frame("RST_STREAM", stream = stream, payload = be_bytes(8, 4)))))
  # the answer to a PING says that all of the above was read
  client_send(client, h2_frame("PING", payload = raw(8)))
  expect_false(is.null(h2_until(client, function(frame) frame$type == "PING" && frame$flags == 1L)))
  busy$end()
  expect_identical(calls(), before)
})

test_that("a flood of CONTINUATION frames ends with the connection", {
  client <- h2_client(server$port)
  block <- hpack_block(h2_request_fields("/count"))
  client_send(client, h2_frame("HEADERS", 1L, 1, block))
  for (i in 1:500) if (!client_send(client, h2_frame("CONTINUATION", 0L, 1, hpack_block(c("x-a" = strrep("a", 200)))))) break
  frame <- h2_until(client, function(frame) frame$type == "GOAWAY")
  expect_true(client$closed || !is.null(frame))
  expect_identical(h2_outcome(h2_request_fields("/protocol")), "200")
})

test_that("a header list over max_header_size is refused over HTTP/2", {
  fields <- c(h2_request_fields("/count"), structure(rep(strrep("a", 9000), 10), names = paste0("x-", 1:10)))
  client <- h2_client(server$port)
  block <- hpack_block(fields)
  client_send(client, h2_frame("HEADERS", 1L, 1, block[1:16000]))
  rest <- block[-(1:16000)]
  while (length(rest)) {
    k <- min(16000, length(rest))
    client_send(client, h2_frame("CONTINUATION", if (k == length(rest)) 4L else 0L, 1, rest[seq_len(k)]))
    rest <- rest[-seq_len(k)]
  }
  frame <- h2_until(client, function(frame) frame$type %in% c("HEADERS", "RST_STREAM", "GOAWAY"))
  expect_true(client$closed || frame$type != "HEADERS" || h2_status(frame) == 431L)
})
