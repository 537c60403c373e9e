# WebSockets of apps of httpuv (onWSOpen), in every way of starting: what their functions are given and can do, and
# which connections end with a worker.

httpuv_app <- file.path(here, "httpuv-sockets-app.R")

test_every_worker("functions that onWSOpen leaves get messages in order, text and bytes", function(start) {
  server <- start(httpuv_app)
  client <- ws(server, "/echo")
  for (x in list("hello", "", "h\u00e9\u20ac", strrep("x", 70000))) {
    expect(identical(ws_ask(client, x), x), "another message came back")
  }
  for (x in list(as.raw(0:255), raw(), raw(2e5))) expect(identical(ws_ask(client, x), rev(x)), "other bytes came back")
  expect(ws_leave(client, 1000, "bye") == 1000, "another code")
  expect(noted_line(server, "^closed /echo 7 TRUE$"), "it was not told: ", toString(notes(server)))
  client <- ws(server, "/count")
  ws_send(client, c("a", "b"))
  ws_send(client, as.raw(1:2))
  got <- lapply(1:6, function(i) ws_next(client))
  pid <- sub(" .*", "", got[[2L]])
  wanted <- list("a", paste(pid, "1 character FALSE"), "b", paste(pid, "2 character FALSE"), as.raw(2:1),
    paste(pid, "3 raw TRUE"))
  expect(identical(got, wanted), "other answers: ", toString(got))
  close(client$con)
  expect(noted_line(server, "^closed /count 3 TRUE$"), "the loss was not told: ", toString(notes(server)))
  expect(sum(grepl("^closed", notes(server))) == 2L, "it was told twice: ", toString(notes(server)))
})

test_every_worker("the request is what httpuv gives, and the rest of the app goes on", function(start) {
  server <- start(httpuv_app)
  asked <- "GET||/asked|?a=%20b|one|websocket|WebSocket"
  expect(identical(ws_next(ws(server, "/asked?a=%20b", "X-One: one")), asked), "another request")
  expect(ask(server, "/echo")$body == "a page at /echo", "no page")
  expect(ws_ask(ws(server, "/"), "x") == "x", "nothing at the root")
  refused <- ws_open(server, "/echo", "X-Key: wrong")
  expect(refused$status == 401L, "onHeaders was not asked: ", refused$status)
  # as for WebSockets of drover's own
  other <- c("Origin: https://evil.example", "Cookie: a=1")
  expect(ws_open(server, "/echo", other)$status == 403L, "a page of another site has one")
  expect(ws_open(server, "/echo", other[[1L]])$status == 101L, "without cookies it has none")
  long <- ws(server, "/echo")
  ws_send(long, strrep("x", 1024^2 + 1))
  expect(ws_code(long) == 1009, "a long message")
})

# The same app on httpuv itself.
serve_by_httpuv <- function() {
  file <- tempfile("httpuv-", fileext = ".R")
  writeLines(c(
    sprintf("app <- source(%s)$value", deparse(httpuv_app)),
    "port <- httpuv::randomPort()",
    "invisible(httpuv::startServer('127.0.0.1', port, app, quiet = TRUE))",
    # as those of drover that are waited for
    "cat('drover listening on http://127.0.0.1:', port, '\\n', sep = '')",
    "repeat httpuv::service(100)"
  ), file)
  launch(c(file.path(R.home("bin"), "Rscript"), "--vanilla", file))
}

# What its clients see: the answers to messages on a connection, until it is closed.
talks <- function(server) {
  talk <- function(path, ..., headers = character()) {
    client <- ws_open(server, path, headers)
    if (!identical(client$status, 101L)) return(client$status)
    lapply(list(...), function(message) {
      if (!is.null(message)) ws_send(client, message)
      ws_next(client)
    })
  }
  list(
    talk("/asked?a=%20b", NULL, headers = "X-One: one"), talk("/echo", headers = "X-Key: wrong"),
    talk("/echo", "x", "", as.raw(1:3), raw(), "\u00e9"), talk("/count", "a", NULL)[1L],
    talk("/does", "number", "several", "later", "promise"), talk("/does", "close", NULL), talk("/shut", NULL),
    talk("/torn", NULL), talk("/does", "fail")
  )
}

test("clients see what they see on httpuv", function() {
  if (!requireNamespace("httpuv", quietly = TRUE)) skip("httpuv is not installed")
  theirs <- serve_by_httpuv()
  expect(!is.null(theirs$url), "httpuv does not listen")
  expected <- talks(theirs)
  got <- talks(serve(httpuv_app))
  for (i in seq_along(expected)) {
    expect(identical(got[[i]], expected[[i]]), deparse1(got[[i]]), ", and on httpuv ", deparse1(expected[[i]]))
  }
})

test("a message may be as long as a body, and no longer", function() {
  server <- serve(httpuv_app, max_body = "4MB", workers = 1)
  client <- ws(server, "/echo")
  long <- strrep("x", 3e6)
  expect(identical(ws_ask(client, long), long), "it did not come back")
  ws_send(client, strrep("x", 4 * 1024^2 + 1))
  expect(ws_code(client) == 1009, "a longer one")
})

test_every_worker("an app closes a connection, and what it sends after that is dropped", function(start) {
  server <- start(httpuv_app)
  client <- ws(server, "/does")
  ws_send(client, c("close", "pid"))
  expect(ws_next(client) == "last", "what was sent before the close has not come")
  expect(identical(ws_next(client), list(code = 4001, reason = "enough")), "another close")
  expect(noted_line(server, "^closed /does 1 TRUE$"), "it was told otherwise: ", toString(notes(server)))
  expect(identical(ws_next(ws(server, "/shut")), list(code = 4002, reason = "not now")), "another close at once")
  client <- ws(server, "/does")
  ws_send(client, "odd")
  odd <- ws_next(client)
  expect(odd$code == 1001 && nchar(odd$reason, "bytes") == 122L, "another close: ", toString(odd))
  expect(logged(server, "cannot be closed with code 1005"), "not logged")
})

test_every_worker("what is sent by timers, promises, and as httpuv has it, goes out", function(start) {
  server <- start(httpuv_app)
  client <- ws(server, "/does")
  expect(identical(ws_ask(client, "later"), "later"), "a timer")
  expect(identical(ws_ask(client, "promise"), "kept"), "a promise")
  expect(identical(ws_ask(client, "number"), "1.5"), "a number")
  expect(identical(ws_ask(client, "several"), "first"), "several strings")
  expect(logged(server, "only the first goes out"), "not logged")
  ws_send(client, "stand gate")
  expect(identical(ws_next(client), "begun"), "it is kept until the function returns")
  open_gate(server, "gate")
  expect(identical(ws_next(client), "done"), "it does not go on")
})

test_every_worker("an error closes its connection, and no other", function(start) {
  server <- start(httpuv_app)
  other <- ws(server, "/echo")
  expect(identical(ws_next(ws(server, "/torn")), list(code = 1011, reason = "Error in onWSOpen")), "no close")
  expect(logged(server, "/torn onWSOpen failed: no opening") && noted_line(server, "^torn$"), "not logged")
  for (what in c("fail", "jump", "none")) {
    client <- ws(server, "/does")
    ws_send(client, c("pid", what))
    expect(grepl("^[0-9]+$", ws_next(client)), "no pid")
    expect(identical(ws_next(client), list(code = 1011, reason = "Error executing onWSMessage")), what, ": no close")
  }
  expect(logged(server, "MESSAGE /does 500 it failed"), "not logged")
  expect(noted_line(server, "^closed /does 2 TRUE$"), "it was not told: ", toString(notes(server)))
  expect(ws_leave(ws(server, "/sour")) == 1000 && logged(server, "CLOSE /sour 500 in onClose"), "onClose")
  expect(ws_ask(other, "x") == "x" && ask(server, "/pid")$status == "200", "others have ended")
})

test_every_worker("a client that does not read is given up, and others are not", function(start) {
  server <- start(httpuv_app)
  other <- ws(server, "/echo")
  client <- ws(server, "/does")
  ws_send(client, rep("flood", 20))
  expect(noted_line(server, "^closed /does"), "it is kept: ", toString(notes(server)))
  expect(ws_code(client) %in% c(1013, 1006), "another code")
  expect(ws_ask(other, "x") == "x", "another one has ended")
})

test_every_worker("two hundred connections at once, and pages beside them", function(start) {
  if (!nzchar(Sys.which("python3"))) skip("there is no python3")
  server <- start(httpuv_app)
  client <- processx::process$new(
    "python3", c(file.path(here, "many-sockets.py"), server$port, "/echo", 200L, 20L), stdout = "|", stderr = "2>&1"
  )
  expect(ask(server, "/pid")$status == "200", "no page beside them")
  expect(within(function() !client$is_alive()), "they do not come to an end")
  expect(identical(client$read_all_output_lines(), "4000"), "they were not all answered")
  told <- function() sum(notes(server) == "closed /echo 20 TRUE")
  expect(within(function() told() == 200L), "closed were ", told())
})

test_every_worker("the end of the server is told to clients and functions", function(start) {
  server <- start(httpuv_app)
  clients <- lapply(1:10, function(i) ws(server, "/echo"))
  send_signal(server$pid, tools::SIGTERM)
  codes <- lapply(clients, ws_code)
  expect(all(codes == 1001), "codes: ", toString(codes))
  expect(within(function() !server$process$is_alive()), "it does not end")
  expect(sum(notes(server) == "closed /echo 0 TRUE") == 10L, "told were ", length(notes(server)))
})

# As many clients of each of two workers: list(clients, pids, opened). One after the other, workers take turns; one that
# a busy machine holds up is passed over meanwhile: then others are `opened`, and those before them closed.
spread <- function(server, n = 2L, path = "/does", pid_of = function(client) ws_ask(client, "pid")) {
  clients <- pids <- NULL
  opened <- 0L
  are_spread <- within(function() {
    for (client in clients) close(client$con)
    clients <<- lapply(seq_len(2L * n), function(i) ws(server, path))
    opened <<- opened + length(clients)
    pids <<- vapply(clients, pid_of, "")
    identical(sort(as.vector(table(pids))), c(n, n))
  })
  expect(are_spread, "they are not spread: ", toString(pids))
  list(clients = clients, pids = pids, opened = opened)
}

test("a connection is of one worker, where its functions keep what they like", function() {
  server <- serve(httpuv_app, workers = 2)
  count <- function(client) {
    ws_ask(client, "x")
    ws_next(client)
  }
  pid_of <- function(answer) sub(" .*", "", answer)
  all <- spread(server, 3L, "/count", function(client) pid_of(count(client)))
  answers <- function() vapply(all$clients, count, "")
  answers()
  got <- answers()
  expect(all(sub("^[0-9]+ ", "", got) == "3 character FALSE"), "other counts: ", toString(got))
  expect(identical(pid_of(got), all$pids), "they have moved: ", toString(got))
})

test("a worker that dies takes its own connections, and their clients come back", function() {
  server <- serve(httpuv_app, workers = 2)
  all <- spread(server, 3L)
  of_it <- all$pids == all$pids[[1L]]
  tools::pskill(as.integer(all$pids[[1L]]), 9L)
  for (client in all$clients[of_it]) expect(identical(ws_next(client)$code, 1012), "another code")
  for (client in all$clients[!of_it]) expect(ws_ask(client, "pid") == all$pids[!of_it][[1L]], "it has ended")
  expect(within(function() !identical(ws_ask(ws(server, "/does"), "pid"), all$pids[!of_it][[1L]])), "no new worker")
  expect(!any(all$pids[[1L]] == vapply(1:4, function(i) ws_ask(ws(server, "/does"), "pid"), "")), "the dead one")
})

test("a reload ends connections with a code to come back, and functions hear of it", function() {
  server <- serve(httpuv_app, workers = 2)
  all <- spread(server)
  # one that is busy comes to its end before
  busy <- all$clients[[1L]]
  ws_send(busy, "stand gate")
  expect(identical(ws_next(busy), "begun"), "it is not begun")
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "reloaded"), "it was not reloaded")
  open_gate(server, "gate")
  expect(identical(ws_next(busy), "done"), "its message is lost")
  for (client in all$clients) expect(identical(ws_next(client)$code, 1012), "another code")
  expect(within(function() sum(grepl("^closed /does", notes(server))) == all$opened), "told: ", toString(notes(server)))
  expect(!ws_ask(ws(server, "/does"), "pid") %in% all$pids, "an old worker has it")
})

test("another app in a session ends connections likewise", function() {
  server <- serve_session("serve(workers = 1L)", httpuv_app)
  clients <- lapply(1:3, function(i) ws(server, "/echo"))
  expect(ask(server, "/again")$body == "soon", "no answer")
  for (client in clients) expect(identical(ws_next(client)$code, 1012), "another code")
  expect(within(function() sum(notes(server) == "closed /echo 0 TRUE") == 3L), "told: ", toString(notes(server)))
  expect(ws_ask(ws(server, "/echo"), "x") == "x", "no new connection")
})

test("a busy worker holds up its own connections only, and their time begins when it is free", function() {
  server <- serve(httpuv_app, workers = 2, timeout = 3)
  all <- spread(server)
  first <- which(all$pids == all$pids[[1L]])
  own <- all$clients[first]
  other <- all$clients[-first][[1L]]
  # one waits behind the other, and together they take longer than one may
  for (client in own) ws_send(client, "slow")
  expect(ws_ask(other, "pid") == all$pids[-first][[1L]], "another worker's waits")
  expect(ws_ask(ws(server, "/does"), "pid") == all$pids[-first][[1L]], "a new one waits")
  for (client in own) expect(identical(ws_next(client), "slow"), "its time was over before it began")
  for (client in own) expect(ws_ask(client, "pid") == all$pids[[1L]], "it was replaced")
})

test("a function that takes too long closes its connection with 1011, those beside it have to come back", function() {
  server <- serve(httpuv_app, workers = 2, timeout = 1)
  all <- spread(server)
  own <- all$clients[all$pids == all$pids[[1L]]]
  ws_send(own[[1L]], "stand never")
  expect(identical(ws_next(own[[1L]]), "begun"), "it is not begun")
  expect(identical(ws_next(own[[1L]])$code, 1011), "another code")
  expect(identical(ws_next(own[[2L]])$code, 1012), "another code beside it")
  for (client in all$clients[all$pids != all$pids[[1L]]]) expect(is.character(ws_ask(client, "pid")), "it has ended")
  expect(is.character(ws_ask(ws(server, "/does"), "pid")), "nobody is there any more")
})

test("pages have their turn beside connections that are never quiet", function() {
  server <- serve(httpuv_app, workers = 1)
  clients <- lapply(1:30, function(i) ws(server, "/does"))
  ws_send(clients[[1L]], "stand gate")
  expect(identical(ws_next(clients[[1L]]), "begun"), "it is not begun")
  # two minutes of work for it, half of them there
  for (client in clients) ws_send(client, rep("slow", 2))
  page <- ask_later(server, "/pid")
  open_gate(server, "gate")
  expect(page()$status == "200", "no page")
  # those that came before it had no more than a few turns
  came <- sum(vapply(clients[-1L], function(client) identical(ws_next(client, 0.02), "slow"), NA))
  expect(came < 10L, "the page came after ", came, " messages")
})

test("workers with connections are not retired for want of requests", function() {
  server <- serve(httpuv_app, workers = "1-2", check_unused = 0.2, max_age = 0.3)
  client <- ws(server, "/does")
  pid <- ws_ask(client, "pid")
  ws_send(client, "stand gate")
  expect(identical(ws_next(client), "begun"), "it is not begun")
  # the other worker is started for this one
  second <- ws(server, "/does")
  expect(ws_ask(second, "pid") != pid, "one worker has both")
  open_gate(server, "gate")
  expect(identical(ws_next(client), "done"), "it does not go on")
  third <- never(function() !is.null(ws_next(second, 0.05)) || !is.null(ws_next(client, 0.05)), 2)
  expect(third, "it has ended")
  ws_leave(client)
  ws_leave(second)
  expect(logged(server, "is retired: not needed"), "none is retired when they have gone")
})

test("clients that vanish at any time leave nothing behind", function() {
  server <- serve(httpuv_app, workers = 2)
  set.seed(5)
  for (i in 1:120) {
    con <- socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE, timeout = 60)
    bytes <- c(charToRaw(paste0(
      "GET /brief HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n",
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )), frame_bytes(1L, charToRaw("x")))
    # every other handshake is whole, with a part of a message, or all of it
    size <- if (i %% 2) length(bytes) - sample(0:7, 1) else sample(length(bytes), 1)
    writeBin(bytes[seq_len(size)], con)
    if (i %% 3 == 0) let_pass(0.005)
    close(con)
  }
  expect(ws_leave(ws(server, "/echo")) == 1000, "nobody is there any more")
  count <- function(pattern) sum(grepl(pattern, notes(server)))
  expect(count("^opened") > 40L, "few were opened: ", count("^opened"))
  # also those that had gone before they were told that they are open
  told <- function() count("^closed /brief") == count("^opened")
  expect(within(told), count("^opened"), " were opened, and ", count("^closed /brief"), " closed")
  expect(!any(grepl("WARN|ERROR", server$log())), "the log: ", toString(grep("WARN|ERROR", server$log(), value = TRUE)))
})
