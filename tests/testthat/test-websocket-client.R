# dr_ws_connect() against servers of this package, in another process, and against what is no server.

# What happens on a connection: a function that waits until something is so.
listener <- function() {
  seen <- new.env()
  seen$opened <- list()
  seen$messages <- list()
  seen$closed <- list()
  list(
    seen = seen,
    on_open = function(client, protocol) seen$opened <- c(seen$opened, list(protocol)),
    on_message = function(msg, binary) seen$messages <- c(seen$messages, list(list(msg, binary))),
    on_close = function(reason, code, text, again) {
      seen$closed <- c(seen$closed, list(list(reason = reason, code = code, text = text, again = again)))
    }
  )
}

connect_to <- function(server, path, ears = listener(), ...) {
  url <- sprintf("ws://127.0.0.1:%d%s", server$port, path)
  client <- dr_ws_connect(url, ears$on_message, ears$on_open, ears$on_close, ...)
  list(client = client, seen = ears$seen)
}

local_sockets <- function(frame = parent.frame()) {
  withr::defer(dr_ws_shutdown(), envir = frame)
  local_server({
    app <- dr_app()
    dr_ws(app, "/echo", function(conn, msg, binary) dr_ws_send(conn, msg, binary = binary),
      on_connect = function(conn) {
        if (identical(dr_header(conn$request, "x-refuse"), "yes")) return(dr_text("no", 403L))
        token <- dr_header(conn$request, "authorization")
        if (!is.null(token)) dr_ws_send(conn, token)
      }, protocols = c("v1", "v2"), deflate = TRUE, max_message = "8MB"
    )
    dr_ws(app, "/leave", function(conn, msg) dr_ws_close(conn, 4000L, "as you wish"))
    dr_get(app, "/text", function(req) "text")
  }, frame = frame)
}

test_that("messages of all kinds go and come, in order", {
  server <- local_sockets()
  for (deflate in c(FALSE, TRUE)) {
    one <- connect_to(server, "/echo", protocols = c("v3", "v2"), deflate = deflate)
    expect_s3_class(one$client, "dr_ws_client")
    # before it is open
    sent <- list("hello", "h\u00e9\u20ac\U1F600", "", as.raw(0:255), raw(), strrep("long ", 1e5), as.raw(rep(7, 3e6)))
    for (msg in sent) expect_true(dr_ws_client_send(one$client, msg))
    expect_true(idle_until(function() length(one$seen$messages) == length(sent)))
    expect_identical(one$seen$opened, list("v2"))
    expect_identical(lapply(one$seen$messages, `[[`, 1L), sent)
    expect_identical(vapply(one$seen$messages, `[[`, NA, 2L), vapply(sent, is.raw, NA))
    expect_true(dr_ws_client_close(one$client))
    expect_true(idle_until(function() length(one$seen$closed) == 1L))
    expect_identical(one$seen$closed[[1L]], list(reason = "closed", code = 1000L, text = "", again = NULL))
    expect_false(dr_ws_client_send(one$client, "more"))
    expect_false(dr_ws_client_close(one$client))
  }
})

test_that("a server's refusal, its close and a text with a NUL are told", {
  server <- local_sockets()
  refused <- connect_to(server, "/echo", headers = c(`X-Refuse` = "yes"))
  expect_true(idle_until(function() length(refused$seen$closed) == 1L))
  expect_identical(
    refused$seen$closed[[1L]],
    list(reason = "connect_failed", code = 403L, text = "the server answers 403 Forbidden", again = NULL)
  )
  expect_identical(refused$seen$opened, list())
  missing <- connect_to(server, "/text")
  expect_true(idle_until(function() length(missing$seen$closed) == 1L))
  expect_identical(missing$seen$closed[[1L]]$reason, "connect_failed")
  left <- connect_to(server, "/leave")
  dr_ws_client_send(left$client, "x")
  expect_true(idle_until(function() length(left$seen$closed) == 1L))
  expect_identical(left$seen$closed[[1L]][1:3], list(reason = "closed", code = 4000L, text = "as you wish"))
  allowed <- connect_to(server, "/echo", headers = c(Authorization = "Bearer key"))
  dr_ws_client_send(allowed$client, as.raw(c(0x61, 0, 0x62)), binary = FALSE)
  expect_true(idle_until(function() length(allowed$seen$messages) == 2L))
  expect_identical(allowed$seen$messages[[1L]], list("Bearer key", FALSE))
  expect_identical(allowed$seen$messages[[2L]], list(as.raw(c(0x61, 0, 0x62)), FALSE))
  server$process$kill()
  nobody <- connect_to(server, "/")
  expect_true(idle_until(function() length(nobody$seen$closed) == 1L))
  expect_identical(nobody$seen$closed[[1L]]$code, 0L)
})

test_that("handlers may take fewer arguments, and one that fails is a warning", {
  server <- local_sockets()
  said <- NULL
  url <- sprintf("ws://127.0.0.1:%d/echo", server$port)
  client <- dr_ws_connect(url, function(msg) {
    if (msg == "fail") stop("on purpose")
    said <<- msg
  }, on_open = function() said <<- "open")
  expect_true(idle_until(function() identical(said, "open")))
  dr_ws_client_send(client, "fail")
  dr_ws_client_send(client, "after")
  # where nobody could catch it
  warned <- capture.output(invisible(idle_until(function() identical(said, "after"))), type = "message")
  expect_match(paste(warned, collapse = " "), "a function of dr_ws_connect\\(\\) failed: on purpose call=fn\\(msg\\)")
  expect_identical(said, "after")
})

test_that("handlers get what they name, in any order", {
  server <- local_sockets()
  said <- list()
  url <- sprintf("ws://127.0.0.1:%d/echo", server$port)
  client <- dr_ws_connect(url, function(conn, msg) said <<- list(conn, msg), on_open = function(protocol, client) {
    dr_ws_client_send(client, "hello")
  })
  expect_true(idle_until(function() length(said) == 2L))
  expect_identical(said[[1L]], client)
  expect_match(said[[2L]], "hello")
})

test_that("it connects again when the server is back, and not when it was closed here", {
  withr::defer(dr_ws_shutdown())
  serve <- function(port) {
    app <- dr_app()
    dr_ws(app, "/", function(conn, msg) dr_ws_send(conn, paste("got", msg)))
    suppressMessages(dr_serve(app, port = port, block = FALSE, log = "none"))
    as.integer(sub(".*:", "", dr_url()))
  }
  withr::defer(if (dr_running()) dr_stop())
  port <- serve(0L)
  one <- connect_to(list(port = port), "/", reconnect = c(0.05, 0.2))
  expect_true(idle_until(function() length(one$seen$opened) == 1L))
  dr_stop()
  expect_true(idle_until(function() length(one$seen$closed) >= 2L))
  expect_identical(one$seen$closed[[1L]]$code, 1001L)
  expect_gt(one$seen$closed[[1L]]$again, 0)
  expect_identical(one$seen$closed[[2L]]$reason, "connect_failed")
  expect_true(dr_ws_client_send(one$client, "meanwhile"))
  serve(port)
  expect_true(idle_until(function() length(one$seen$messages) == 1L))
  expect_identical(one$seen$messages[[1L]][[1L]], "got meanwhile")
  before <- length(one$seen$closed)
  dr_ws_client_close(one$client, 4001L, "bye")
  expect_true(idle_until(function() length(one$seen$closed) == before + 1L))
  expect_null(one$seen$closed[[before + 1L]]$again)
})

test_that("dr_ws_shutdown() ends all, and a later connect works", {
  server <- local_sockets()
  all <- lapply(1:3, function(i) connect_to(server, "/echo"))
  expect_true(idle_until(function() all(lengths(lapply(all, function(one) one$seen$opened)) == 1L)))
  dr_ws_shutdown()
  expect_false(dr_ws_client_send(all[[1L]]$client, "x"))
  again <- connect_to(server, "/echo")
  dr_ws_client_send(again$client, "back")
  expect_true(idle_until(function() length(again$seen$messages) == 1L))
  # a fork has nothing of it, and does its parent's no harm
  skip_on_os("windows")
  job <- parallel::mcparallel({
    c(dr_ws_client_send(again$client, "from a child"), dr_ws_client_close(again$client))
  })
  expect_identical(unname(parallel::mccollect(job)), list(c(FALSE, FALSE)))
  dr_ws_client_send(again$client, "still")
  expect_true(idle_until(function() length(again$seen$messages) == 2L))
  expect_identical(again$seen$messages[[2L]][[1L]], "still")
})

test_that("arguments that are wrong are named", {
  ok <- function(msg) NULL
  wrong <- function(...) tryCatch(dr_ws_connect(...), drover_error_argument = function(error) conditionMessage(error))
  expect_match(wrong(1, ok), "`url` must be a single string")
  expect_match(wrong("http://a/", ok), "`url` must be a URL such as \"ws://")
  expect_match(wrong("ws://u:p@a/", ok), "without a password")
  expect_match(wrong("ws://a/", "f"), "`on_message` must be a function")
  expect_match(wrong("ws://a/", function(a, b, c, d) 1), "function of msg, binary, client, or of some of these")
  expect_match(wrong("ws://a/", function(binary, x) 1), "`on_message` must be a function of msg, binary, client")
  expect_match(wrong("ws://a/", ok, on_open = function(protocol, x) 1), "`on_open` must be a function of client, protocol")
  expect_match(wrong("ws://a/", ok, headers = "x"), "named character vector")
  expect_match(wrong("ws://a/", ok, headers = c(Host = "x")), "which is set by dr_ws_connect")
  expect_match(wrong("ws://a/", ok, headers = c(X = "a\nb")), "`headers` must be text without control")
  expect_match(wrong("ws://a/", ok, protocols = "a b"), "`protocols`")
  expect_match(wrong("ws://a/", ok, reconnect = 3), "`reconnect`")
  expect_match(wrong("ws://a/", ok, timeout = 0), "`timeout`")
  expect_match(wrong("ws://a/", ok, ca = "/no/such/file"), "`ca` must be a file with certificates")
  expect_match(wrong("ws://a/", ok, ping = 1), "ping")
  client <- structure(99, class = "dr_ws_client")
  expect_false(dr_ws_client_send(client, "nobody"))
  expect_error(dr_ws_client_send(1, "x"), "`client` must be what", class = "drover_error_argument")
  expect_error(dr_ws_client_send(client, list(1)), "`msg` must be", class = "drover_error_argument")
  expect_error(dr_ws_client_send(client, as.raw(0xff), binary = FALSE), "UTF-8", class = "drover_error_argument")
  expect_error(dr_ws_client_close(client, 99L), "`code` must be", class = "drover_error_argument")
})
