# WebSockets, in every way of starting: what handlers are told and can do, and what neither clients nor dying workers
# can take from others.

sockets_app <- file.path(here, "websockets-app.R")

test_every_worker("messages are answered in order, text and bytes", function(start) {
  server <- start(sockets_app)
  client <- ws(server, "/echo")
  sent <- list("hello", "", "h\u00e9\u20ac", as.raw(0:255), raw(), strrep("x", 70000), raw(2e5))
  for (x in sent) ws_send(client, x)
  for (x in sent) {
    got <- ws_next(client)
    expect(identical(got, x), "another message of ", length(x), " came back")
  }
  expect(ws_leave(client, 1000, "bye") == 1000, "another code")
  # a page and a WebSocket at the same path
  expect(ask(server, "/page")$body == "a page", "no page")
  expect(ws_ask(ws(server, "/page"), "?") == "a socket", "no socket")
  only <- ask(server, "/echo")
  expect(only$status == "426" && field(only, "upgrade") == "websocket", "only a WebSocket: ", only$status)
  expect(ask(server, "/nothing")$status == "404", "nothing is there")
  expect(ws_open(server, "/nothing")$status == 404L, "no WebSocket is there")
})

test_every_worker("a connection has a state, params and the request that it began with", function(start) {
  server <- start(sockets_app)
  protocol <- "Sec-WebSocket-Protocol: v1, v2"
  client <- ws(server, "/state/a%20b/7", c("Cookie: name=Ann", protocol))
  expect(client$fields[["sec-websocket-protocol"]] == "v2", "another protocol")
  expect(grepl("seen=yes", client$fields[["set-cookie"]]), "what middleware adds is not there")
  expect(ws_next(client) == "before the first message", "what was sent at first has not come")
  for (n in 8:10) {
    got <- json(ws_ask(client, "x"))
    expect(got$state$n == n && got$state$name == "Ann" && got$state$protocol == "v2" && got$kind == "a b",
      "another state: ", toString(got))
  }
  expect(got$state$addr == "127.0.0.1", "another address")
  ws_leave(client, 4005, "h\u00e9")
  expect(noted_line(server, "^closed a b 10 4005 h"), "the close was not told: ", notes(server))
  lost <- ws(server, "/state/lost/1")
  expect(length(json(ws_ask({ ws_next(lost); lost }, "forget"))$state) == 0L, "the state is not forgotten")
  close(lost$con)
  expect(noted_line(server, "^closed lost 1006"), "the loss was not told: ", notes(server))
  for (query in c("?refuse=yes", "?fail=yes")) {
    answer <- ws_open(server, paste0("/state/x/1", query))
    expect(answer$status == c(403L, 500L)[[1L + (query == "?fail=yes")]], query, ": ", answer$status)
  }
  expect(ws_open(server, "/echo", "X-Key: wrong")$status == 401L, "middleware was not asked")
  expect(ws_open(server, "/state/x/no")$status == 404L, "a param of another type")
})

test_every_worker("a page of another site gets no WebSocket with the cookies of this one", function(start) {
  server <- start(sockets_app)
  other <- "Origin: https://evil.example"
  expect(ws_open(server, "/echo", c(other, "Cookie: a=1"))$status == 403L, "it has one")
  expect(ws_open(server, "/echo", other)$status == 101L, "without cookies it has none")
  own <- paste0("Origin: http://127.0.0.1:", server$port)
  expect(ws_open(server, "/echo", c(own, "Cookie: a=1"))$status == 101L, "its own page has none")
  expect(ws_open(server, "/echo", c(other, "Authorization: Basic YTpi"))$status == 403L, "it has one with a password")
  expect(ws_open(server, "/echo", c(own, other))$status == 400L, "with two origins it has one")
  expect(ws_open(server, "/own", other)$status == 403L, "it is not among the origins")
  expect(ws_open(server, "/own", own)$status == 403L, "any name that leads to the server is among the origins")
  expect(ws_open(server, "/own", c("Origin: https://app.example.com", "Cookie: a=1"))$status == 101L, "it is")
})

test_every_worker("handlers get what they name", function(start) {
  server <- start(write_app(c(
    "app <- dr_app()", "dr_ws(app, '/named', function(msg, conn) dr_ws_send(conn, toupper(msg)))",
    "dr_ws(app, '/own', function(a, b) dr_ws_send(a, paste('own', b)))", "app"
  )))
  expect(identical(ws_ask(ws(server, "/named"), "hello"), "HELLO"), "not by name")
  expect(identical(ws_ask(ws(server, "/own"), "hello"), "own hello"), "not from the left")
})

test_every_worker("a connection is a number, which is a key", function(start) {
  server <- start(write_app(c(
    "app <- dr_app()", "key <- function(conn) as.character(unclass(conn))", "kept <- new.env()",
    "dr_ws(app, '/keys',", "  on_connect = function(conn) {", "    conn$state <- key(conn)",
    "    kept[[key(conn)]] <- conn", "  },", "  on_message = function(conn, msg) {",
    "    dr_ws_send(c(conn), list(unclass(conn), key = key(conn), state = conn$state, id = conn$id))", "  },",
    "  on_close = function(conn) rm(list = intersect(key(conn), ls(kept)), envir = kept)", ")", "app"
  )))
  client <- ws(server, "/keys")
  first <- json(ws_ask(client, "a"))
  expect(identical(json(ws_ask(client, "b")), first), "it changes")
  expect(first$key == first$id && first$state == first$id && first[[1L]] == first$id, "another key: ", toString(first))
  other <- json(ws_ask(ws(server, "/keys"), "a"))
  expect(other$key != first$key, "two connections have one key")
})

test("a request for a WebSocket has no body, be it empty", function() {
  server <- serve(sockets_app)
  wants <- c("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
  wants <- as.vector(rbind("-H", c(wants, "Transfer-Encoding: chunked")))
  answer <- do.call(ask, c(list(server, "/echo", "-X", "GET", "-T", "/dev/null"), as.list(wants)))
  expect(answer$status == "400", "its status is ", answer$status)
})

test_every_worker("rooms are the server's, and can be read and sent to from any handler", function(start) {
  server <- start(sockets_app)
  a <- ws(server, "/room/x?name=Ann")
  b <- ws(server, "/room/x?name=B%20%C3%A9")
  other <- ws(server, "/room/y?name=Cem")
  who <- json(ws_ask(a, "who"))
  expect(identical(who$name, c("Ann", "B \u00e9")) && all(diff(who$id) > 0), "others are there: ", toString(who))
  ws_send(b, "hello")
  got <- list(ws_next(a), ws_next(b), ws_next(b))
  expect(got[[1L]] == "hello" && "hello" %in% got[2:3] && "{\"told\":2}" %in% got[2:3], "not told: ", toString(got))
  ws_send(a, "others")
  expect(ws_next(b) == "others" && ws_ask(a, "who") != "others", "except")
  expect(ask(server, "/tell/x", "-H", "Content-Type: text/plain", "-d", "from afar")$body == "{\"told\":2}", "afar")
  expect(ws_next(a) == "from afar" && ws_next(b) == "from afar", "it did not come")
  rooms <- json(ask(server, "/rooms")$body)
  expect(identical(rooms$room, c("x", "y")) && identical(rooms$members, 2:1), "other rooms: ", toString(rooms))
  ws_send(a, "leave")
  expect(within(function() nrow(json(ask(server, "/members/x")$body)) == 1L), "who has left is still there")
  close(other$con)
  expect(within(function() ask(server, "/members/y")$body == "[]"), "who has gone is still in the room")
  expect(json(ask(server, "/members/x")$body)$name == "B \u00e9", "who has left is still in the room")
  expect(json(ask(server, "/tell/none", "-H", "Content-Type: text/plain", "-d", "x")$body)$told == 0L, "nobody")
})

test_every_worker("names that were built to collide in R's strings are refused to those who chose them", function(start) {
  server <- start(sockets_app)
  # of each pair of letters one or the other: they have the same hash in R
  names <- do.call(paste0, expand.grid(rep(list(c("Ab", "BA")), 6)))
  clients <- lapply(names[1:33], function(name) {
    client <- ws(server, paste0("/room/x?name=", name))
    ws_send(client, "who")
    client
  })
  for (client in clients[1:32]) expect(is.character(ws_next(client)), "it is not in the room")
  expect(ws_code(clients[[33]]) == 1008, "one more is")
  expect(!is.null(ws_ask(ws(server, "/room/x?name=Ann"), "who")), "nobody can join")
  expect(within(function() setequal(json(ask(server, "/members/x")$body)$name, c(names[1:32], "Ann"))), "other members")
})

test_every_worker("an error is logged, and the connection goes on", function(start) {
  server <- start(sockets_app)
  client <- ws(server, "/does")
  ws_send(client, "fail")
  ws_send(client, "stream")
  expect(logged(server, "MESSAGE /does 500 it failed"), "it was not logged")
  expect(ws_ask(client, "hello") == "no character", "the connection has ended")
  expect(ws_ask(client, as.raw(1:3)) == "no raw", "bytes are none")
  wrong <- json(ws_ask(client, "wrong"))
  parts <- c("`conn` must be a connection", "`msg` must be a single string", "`msg` must be", "UTF-8", "`room` must be",
    "`code` must be", "`msg` must be")
  for (i in seq_along(parts)) expect(grepl(parts[[i]], wrong[[i]], fixed = TRUE), "another error: ", wrong[[i]])
  ws_send(client, "gone")
  expect(ws_ask(client, "json") == "{\"a\":1,\"b\":[\"x\",\"y\"]}", "a list is no JSON")
  expect(identical(ws_ask(client, "raw"), as.raw(0:255)), "raw")
  expect(identical(ws_ask(client, "bytes"), charToRaw("text")), "a string as bytes")
  much <- ws(server, "/state/much/1")
  ws_next(much)
  ws_send(much, "much")
  expect(is.character(ws_next(much)) && logged(server, "conn\\$state takes .* bytes"), "a large state is kept")
  expect(json(ws_ask(much, "x"))$state$n == 2L, "the state before it is lost")
})

test_every_worker("a message that is sent while a handler runs is not kept until it ends", function(start) {
  server <- start(sockets_app)
  client <- ws(server, "/patient")
  # many quick ones first: their messages are told along with their replies
  for (i in 1:300) ws_ask(client, "x")
  ws_send(client, "stand gate")
  expect(identical(ws_next(client), "begun"), "it has not come")
  expect(is.null(ws_next(client, 0.1)), "the handler has not waited")
  open_gate(server, "gate")
  expect(ws_next(client) == "done", "the handler does not go on")
})

test_every_worker("the messages of a connection wait for a promise, others do not", function(start) {
  server <- start(sockets_app)
  client <- ws(server, "/patient")
  other <- ws(server, "/patient")
  ws_send(client, c("later", "pid"))
  expect(marked(server, "later"), "it is not begun")
  pid <- ws_ask(other, "pid")
  expect(identical(pid, ask(server, "/pid")$body), "the worker is not free")
  expect(is.null(ws_next(client, 0.1)), "a message has not waited for the promise before it")
  open_gate(server, "later")
  expect(ws_next(client) == "later" && ws_next(client) == pid, "another order")
})

test_every_worker("connections end with a code that says why", function(start) {
  server <- start(sockets_app)
  client <- ws(server, "/does")
  ws_send(client, "close")
  expect(ws_next(client) == "last", "what was sent before the close has not come")
  expect(identical(ws_next(client), list(code = 4001, reason = "enough")), "another close")
  expect(noted_line(server, "^left 4001"), "it was not told")
  client <- ws(server, "/does")
  ws_send(client, strrep("x", 10241))
  expect(ws_code(client) == 1009, "a long message")
  client <- ws(server, "/does")
  writeBin(frame_bytes(opcodes[["text"]], as.raw(255)), client$con)
  expect(ws_code(client) == 1007, "a text that is none")
  client <- ws(server, "/does")
  writeBin(frame_bytes(opcodes[["text"]], charToRaw("x"), masked = FALSE), client$con)
  expect(ws_code(client) == 1002, "without a mask")
  expect(ws_leave(ws(server, "/does"), 4444) == 4444 && logged(server, "CLOSE /does 500 in on_close"), "on_close")
  held <- list(ws(server, "/few"), ws(server, "/few"))
  expect(ws_code(ws(server, "/few")) == 1013, "one too many")
  ws_leave(held[[1L]])
  expect(within(function() identical(ws_ask(ws(server, "/few"), "x"), "x")), "there is no place again")
  expect(ws_code(ws(server, "/idle")) == 1001, "an idle one")
  short <- ws(server, "/short")
  expect(ws_code(short) == 1001, "one that has had its time")
})

test_every_worker("a client that has gone without a word is found out, one that answers is kept", function(start) {
  server <- start(sockets_app)
  mute <- ws(server, "/pings")
  mute$answers <- FALSE
  expect(ws_code(mute) == 1006, "it is kept")
  expect(noted_line(server, "^pinged 1006"), "it was not told")
  client <- ws(server, "/pings")
  is_told_of <- NULL
  within(function() {
    is_told_of <<- ws_next(client, 0.1)
    !is.null(is_told_of) || client$pings >= 2
  })
  expect(is.null(is_told_of) && client$pings >= 2, "who answers was given up")
  expect(ws_ask(client, "x") == "x", "who answers was given up")
})

test("a client that is not heard, as its messages wait for a handler, is not taken for one that has gone", function() {
  server <- serve(sockets_app, workers = 2)
  client <- ws(server, "/held")
  # the server reads so many ahead, and no more
  ws_send(client, c("stand gate", rep("pid", 100L)))
  expect(identical(ws_next(client), "begun"), "it is not begun")
  mute <- ws(server, "/held")
  mute$answers <- FALSE
  expect(ws_code(mute) == 1006, "one that has gone is kept")
  open_gate(server, "gate")
  expect(identical(ws_next(client), "done"), "it was given up")
  for (n in 1:100) expect(grepl("^[0-9]+$", ws_next(client)), "message ", n, " has no answer")
})

test_every_worker("a client that does not read is given up, in bounded memory", function(start) {
  server <- start(sockets_app)
  pids <- c(server$pid, as.integer(ask(server, "/pid")$body))
  client <- ws(server, "/does")
  ask(server, "/pid")
  used <- sapply(pids, resident)
  # at once: it may be given up for the first of them
  ws_send(client, rep("flood", 20))
  expect(noted_line(server, "^left 1013"), "it is kept: ", notes(server))
  grown <- sapply(pids, resident) - used
  expect(all(grown < 40e6), "server and worker grew by ", toString(grown), " bytes")
  expect(ws_code(client) %in% c(1013, 1006), "another code")
  expect(ask(server, "/pid")$status == "200", "the server is gone")
})

test("clients that do not read are given up, those first that hold most, before all hold too much", function() {
  server <- serve(sockets_app, workers = 1)
  reader <- ws(server, "/wide")
  clients <- lapply(1:60, function(i) ws(server, "/wide"))
  ask(server, "/pid")
  used <- resident(server$pid)
  for (client in clients) ws_send(client, c("much", "much"))
  expect(noted_line(server, "^left 1013"), "nobody is given up")
  for (client in clients) expect(identical(ws_ask(reader, "x"), "x"), "who reads was given up")
  expect(resident(server$pid) - used < 80e6, "it grew by ", resident(server$pid) - used, " bytes")
  expect(length(notes(server)) < 60L, "all are given up")
})

test_every_worker("the end of the server is told to all, and their handlers hear of it", function(start) {
  server <- start(sockets_app)
  clients <- lapply(1:20, function(i) ws(server, "/does"))
  send_signal(server$pid, tools::SIGTERM)
  codes <- lapply(clients, ws_code)
  expect(all(codes == 1001), "codes: ", toString(codes))
  expect(within(function() !server$process$is_alive()), "it does not end")
  expect(sum(grepl("^left 1001", notes(server))) == 20L, "handlers were told of ", length(notes(server)))
})

test("a worker that dies takes the message that it had, and nothing else", function() {
  server <- serve(sockets_app, workers = 2)
  clients <- lapply(1:10, function(i) ws(server, "/state/k/0"))
  lapply(clients, ws_next)
  victim <- ws(server, "/does")
  ws_send(victim, "quit")
  expect(ws_code(victim) == 1011, "another code")
  expect(noted_line(server, "^left 1011"), "its handler did not hear of it")
  for (n in 1:3) for (client in clients) expect(json(ws_ask(client, "x"))$state$n == n, "a state is lost")
  for (pid in unique(replicate(20, ask(server, "/pid")$body))) tools::pskill(as.integer(pid), 9L)
  for (client in clients) expect(json(ws_ask(client, "x"))$state$n == 4L, "a state is lost with all workers")
  about <- grep("MESSAGE /does", server$log(), value = TRUE)
  expect(length(about) == 1L && grepl("the worker ended before it was done", about), "the log: ", toString(about))
})

test("nothing that C holds is collected, however often R collects", function() {
  # R is a hundred times slower then
  may_take(200)
  long <- patience(60)
  server <- serve(sockets_app, workers = 1, timeout = 0)
  expect(ask(server, "/torture")$body == "set", "it was not set")
  client <- ws(server, "/echo")
  for (x in list("hello", "", as.raw(0:255), strrep("x", 5000))) {
    expect(identical(ws_ask(client, x, long), x), "another echo")
  }
  expect(ws_leave(client) == 1000, "no close")
  client <- ws(server, "/state/k/1", "Cookie: name=Ann")
  expect(ws_next(client, long) == "before the first message", "nothing at first")
  for (n in 2:4) expect(json(ws_ask(client, "x", long))$state$n == n, "another state")
  ws_leave(client, 4001, "why")
  expect(noted_line(server, "^closed k 4 4001 why"), "the close was not told")
  room <- ws(server, "/room/r?name=Ann")
  expect(json(ws_ask(room, "who", long))$name == "Ann", "nobody is there")
  ws_send(room, "all")
  told <- sort(c(ws_next(room, long), ws_next(room, long)))
  expect(identical(told, sort(c("all", "{\"told\":1}"))), "it was not told")
  does <- ws(server, "/patient")
  expect(ws_ask(does, "json", long) == "{\"a\":1,\"b\":[\"x\",\"y\"]}", "no JSON")
  expect(grepl("`conn` must be", ws_ask(does, "wrong", long)), "no errors")
})

test_every_worker("long messages of several clients are all handled, one behind the other", function(start) {
  server <- start(sockets_app)
  clients <- lapply(1:4, function(i) ws(server, "/size"))
  # each is longer than what the queue hands a worker in one piece
  for (client in clients) ws_send(client, rep(strrep("x", 300000L), 5L))
  for (client in clients) for (n in 1:5) expect(identical(ws_next(client), "300000"), "message ", n, " has no answer")
  expect(ask(server, "/page")$body == "a page", "it does not go on")
})

# How many connections to a server are open, from its side.
connections_to <- function(server) {
  open <- sprintf("^ *[0-9]+: [0-9A-F]{8}:%04X [0-9A-F]{8}:[0-9A-F]{4} (01|08) ", server$port)
  sum(grepl(open, readLines("/proc/net/tcp")))
}

test_every_worker("messages of clients that have gone are not handled, and their handlers hear of the close", function(start) {
  server <- start(sockets_app)
  gone <- lapply(1:30, function(i) ws(server, "/does"))
  client <- ws(server, "/patient")
  ws_send(client, "stand gate")
  expect(identical(ws_next(client), "begun"), "it is not begun")
  for (one in gone) ws_send(one, rep("note", 3L))
  # without a word
  for (one in gone) close(one$con)
  expect(within(function() connections_to(server) == 1L), "they are not found out")
  open_gate(server, "gate")
  expect(identical(ws_next(client), "done"), "the handler does not go on")
  expect(within(function() length(notes(server)) == 30L), "other notes: ", length(notes(server)))
  expect(all(notes(server) == "left 1006"), "handled: ", toString(unique(notes(server))))
  expect(ws_ask(client, "x") == "no character", "it does not go on")
})

test_every_worker("messages wait in the queue, and where that is full in their connections", function(start) {
  server <- start(sockets_app, max_queue = 3L)
  clients <- lapply(1:20, function(i) ws(server, "/patient"))
  holder <- ws(server, "/patient")
  ws_send(holder, "stand gate")
  expect(identical(ws_next(holder), "begun"), "it is not begun")
  for (client in clients) ws_send(client, c("x", "json"))
  expect(within(function() ask(server, "/page", "--max-time", "0.5")$status == "503"), "the queue is never full")
  open_gate(server, "gate")
  for (client in clients) {
    expect(identical(ws_next(client), "no character") && grepl("^\\{", ws_next(client)), "a message has no answer")
  }
  expect(ask(server, "/page")$body == "a page", "it does not go on")
})

test("messages of many connections are handled by all workers, each in order", function() {
  server <- serve(sockets_app, workers = 2, express = FALSE)
  clients <- lapply(1:8, function(i) ws(server, "/state/k/0"))
  lapply(clients, ws_next)
  for (n in 1:25) for (client in clients) ws_send(client, "slow")
  pids <- integer()
  for (client in clients) {
    got <- lapply(1:25, function(n) json(ws_next(client)))
    expect(identical(vapply(got, function(one) one$state$n, 1L), 1:25), "another order")
    pids <- c(pids, vapply(got, `[[`, 1L, "pid"))
  }
  expect(length(unique(pids)) == 2L, "handled by ", length(unique(pids)), " workers")
})

test("connections outlive a reload, and have the handlers of the new app then", function() {
  app <- write_app(c(
    "app <- dr_app()",
    "dr_ws(app, '/v', on_connect = function(conn) conn$state <- 5,",
    "  on_message = function(conn, msg) dr_ws_send(conn, paste('one', conn$state)))",
    "dr_ws(app, '/old', on_message = function(conn, msg) dr_ws_send(conn, 'old'))",
    "app"
  ))
  server <- serve(app, workers = 2)
  clients <- lapply(1:100, function(i) ws(server, "/v"))
  old <- ws(server, "/old")
  expect(ws_ask(clients[[1L]], "x") == "one 5" && ws_ask(old, "x") == "old", "another answer")
  lines <- readLines(app)
  writeLines(sub("'one'", "'two'", lines[!grepl("/old", lines)]), app)
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "reloaded"), "it was not reloaded")
  expect(within(function() ws_ask(clients[[1L]], "x") == "two 5"), "still the old handlers")
  for (client in clients) expect(ws_ask(client, "x") == "two 5", "a connection is lost")
  ws_send(old, "x")
  expect(ws_code(old) == 1012, "a path that has gone")
}, ways = 1:2)

test("a handler that takes too long ends its connection, and its worker is free again", function() {
  server <- serve(sockets_app, workers = 1, kill_after = 600)
  client <- ws(server, "/does")
  ws_send(client, "stand gate")
  expect(ws_next(client) == "begun" && ws_code(client) == 1011, "another code")
  expect(logged(server, "MESSAGE /does .*took too long"), "it was not logged")
  expect(ws_ask(ws(server, "/does"), "hello") == "no character", "the worker is not free")
})

test("clients that vanish at any time leave nothing", function() {
  server <- serve(sockets_app, workers = 2)
  frame <- frame_bytes(opcodes[["text"]], charToRaw(strrep("x", 1000)))
  for (round in 1:300) {
    client <- ws_open(server, "/room/x?name=N")
    if (round %% 3 == 0) writeBin(frame[seq_len(round)], client$con)
    if (round %% 3 == 1) ws_send(client, "hello")
    close(client$con)
  }
  open_sockets <<- list()
  expect(within(function() ask(server, "/rooms")$body == "[]"), "rooms are left: ", ask(server, "/rooms")$body)
  open_files <- function() length(list.files(file.path("/proc", server$pid, "fd")))
  expect(within(function() open_files() < 60L), "descriptors are left: ", open_files())
  expect(ws_ask(ws(server, "/echo"), "x") == "x", "it does not go on")
})

test("a session that serves sends from its console, whoever runs the handlers", function() {
  for (workers in 1:2) {
    server <- serve_session(c(
      "serve <- function() dr_serve(app, port = 0L, workers = WORKERS, block = FALSE)",
      "serve()",
      "until <- Sys.time() + 120",
      "while (Sys.time() < until) {",
      "  later::run_now(0.1)",
      "  if (nrow(dr_ws_members('x')) == 2L) break",
      "}",
      "told <- dr_ws_broadcast('x', 'from the console')",
      "first <- dr_ws_members('x')$id[[1L]]",
      "dr_ws_send(first, paste('told', told))",
      "dr_ws_close(first, 4002)",
      "while (Sys.time() < until && nrow(dr_ws_members('x'))) later::run_now(0.1)",
      "dr_stop()",
      "tryCatch(dr_ws_send(1, 'x'), drover_error_state = function(e) cat(conditionMessage(e), '\\n'))"
    ) |> gsub(pattern = "WORKERS", replacement = workers, fixed = TRUE), sockets_app)
    a <- ws(server, "/room/x?name=A")
    b <- ws(server, "/room/x?name=B")
    expect(ws_next(a) == "from the console" && ws_next(b) == "from the console", "it did not come")
    expect(ws_next(a) == "told 2" && identical(ws_next(a)$code, 4002), "the first one was not sent to")
    ws_leave(b)
    expect(logged(server, "no server runs in this session"), "no error without a server")
    expect(within(function() !server$process$is_alive()), "it goes on")
  }
})
